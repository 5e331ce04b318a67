#pragma once
// Derivatives: the value of a function of a parameter structure together with its gradients, in the same structure.
#include <tuple>

#include <mtf/create.hpp>
#include <mtf/params.hpp>

namespace mtf {

/// The gradient of a tensor of type Tensor, cut like it. It may be partial: which sums are not taken yet depends on all
/// uses of the tensor together, so it is known when the program runs. Completing is left to who needs it.
template <tensor_type Tensor>
class gradient {
 public:
  using tensor_type = Tensor;
  using backend_type = typename Tensor::backend_type;
  using element_type = typename Tensor::element_type;

  /// Zero.
  gradient() = default;
  gradient(backend_type& b, detail::cotangent<backend_type> g) : backend_(&b), g_(std::move(g)) {}

  /// The axes over which the ranks hold terms of a sum.
  [[nodiscard]] axis_mask partial_axes() const { return g_.partial; }
  [[nodiscard]] bool is_zero() const { return !g_.memory; }
  /// The gradient as a tensor: one all-reduce over the partial axes. Called again, it costs nothing.
  [[nodiscard]] Tensor complete() const {
    if (is_zero()) return zeros<Tensor>(*backend_);
    return Tensor(detail::value<backend_type, element_type>(
        detail::completed<element_type>(Tensor::spec, g_.partial, g_.memory)));
  }

 private:
  backend_type* backend_ = nullptr;
  detail::cotangent<backend_type> g_;
};

namespace detail {

template <class X>
inline constexpr bool is_scalar_tensor = false;
template <class T, class L, class P, class B>
inline constexpr bool is_scalar_tensor<tensor<T, shape<>, L, P, B>> = true;

template <template <class...> class Tensor>
struct gradient_of {
  template <class... D>
  using tensor = gradient<Tensor<D...>>;
};

template <class Params>
struct gradients_of;
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct gradients_of<Structure<Tensor>> {
  using type = Structure<gradient_of<Tensor>::template tensor>;
};

}  // namespace detail

/// The type of the gradients of a parameter structure.
template <class Params>
using gradients_t = typename detail::gradients_of<Params>::type;

/// The result of a function made by `value_and_grad`.
template <class Value, class Gradients>
struct value_and_gradients {
  Value value;
  Gradients gradients;
};

/// A function that calls f(params, args...), which returns a scalar tensor, and returns its value, complete, with the
/// gradients for every tensor of `params`. Reverse mode: the operations on parameters are recorded and run backwards,
/// each freeing what it kept. Gradients are not completed. Refused: a value that is not a scalar tensor.
template <class F>
auto value_and_grad(F f) {
  return [f]<class Params, class... Args>(Params const& params, Args const&... args) {
    using raw = std::remove_cvref_t<decltype(f(params, args...))>;
    if constexpr (std::is_same_v<raw, refused>) {
      return value_and_gradients<refused, refused>{};
    } else if constexpr (!detail::is_scalar_tensor<raw>) {
      detail::require<error_loss_is_not_scalar<raw>>{};
      return value_and_gradients<refused, refused>{};
    } else {
      using backend_type = typename raw::backend_type;
      using T = typename raw::element_type;
      backend_type* backend = nullptr;
      for_each_tensor([&](auto, auto const& p) { backend = &p.backend(); }, params);
      detail::tape<backend_type> tape(*backend);

      Params tracked = params;
      gradients_t<Params> gradients;
      for_each_tensor(
          [&](auto, auto& p) {
            using X = std::remove_cvref_t<decltype(p)>;
            p = X(detail::value<backend_type, typename X::element_type>(
                p.value().memory,
                detail::ref(new detail::gradient_slot<backend_type, typename X::element_type>(tape, X::spec))));
          },
          tracked);
      auto const value = complete(f(std::as_const(tracked), args...));
      if (value.value().slot) {
        auto seed = detail::make_buffer<T>(*backend, 1);
        backend->fill(detail::data_of<T>(seed), 1, T(1));
        value.value().slot->add({std::move(seed), 0});
        tape.run();
      }
      for_each_tensor(
          [&](auto, auto& p, auto& g) {
            g = std::remove_cvref_t<decltype(g)>(*backend, p.value().slot->take());
          },
          tracked, gradients);
      using result = value_and_gradients<std::remove_cvref_t<decltype(value)>, gradients_t<Params>>;
      return result{stop_gradient(value), std::move(gradients)};
    }
  };
}

}  // namespace mtf
