#pragma once
// Derivatives: the value of a function of a parameter structure together with its gradients, in the same structure.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/autodiff/as_computed.hpp>
#include <mtf/autodiff/gradient.hpp>
#include <mtf/autodiff/state_split.hpp>
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/model_types.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// When partial gradients are reduced: `later`, when the optimizer (or other code) needs them reduced; or `overlapped`,
/// each one while the backward pass computes the next.
enum class completed_gradients : std::uint8_t { later, overlapped };

namespace detail {

template <class X>
inline constexpr bool is_scalar_tensor = false;
template <class T, class L, class P, class B>
inline constexpr bool is_scalar_tensor<tensor<T, shape<>, L, P, B>> = true;

/// The verdict on what gradients are taken in: a structure of tensors, as a template.
template <class Params>
using parameters_verdict_t = std::conditional_t<is_structure<Params> || std::is_same_v<Params, refused>,
                                                fields_verdict_t<Params>, error_not_parameters<Params>>;

/// The verdict on a function whose gradients are taken in its first argument. Each is asked only if those before hold:
/// a function that is called with other arguments than it was written for may not compile.
template <class F, class Params, class... Args>
auto loss_verdict() {
  using computed = as_computed_t<Params>;
  if constexpr (!parameters_verdict_t<Params>::value) {
    return parameters_verdict_t<Params>{};
  } else if constexpr (!callable_t<F, computed const&, Args const&...>::value) {
    return callable_t<F, computed const&, Args const&...>{};
  } else {
    using value = std::remove_cvref_t<decltype(std::declval<F const&>()(std::declval<computed const&>(),
                                                                        std::declval<Args const&>()...))>;
    return std::conditional_t<is_scalar_tensor<value> || std::is_same_v<value, refused>, ok,
                              error_loss_is_not_scalar<value>>{};
  }
}
template <class F, class... Args>
using loss_verdict_t = decltype(loss_verdict<F, Args...>());

/// The backend that the tensors of a structure live on.
template <class Backend, class S>
constexpr Backend& backend_of(S& s) {
  Backend* b = nullptr;
  auto const find = [&](path const& name, auto const& x) {
    if (x.empty()) has_no_value("the parameter " + name.text(), std::remove_cvref_t<decltype(x)>::description::spec);
    if (b == nullptr) b = &x.backend();
  };
  walk(static_cast<void*>(nullptr), find, nullptr, s);
  return *b;
}

template <template <class...> class Tensor>
struct gradient_of {
  template <class... D>
  using tensor = gradient<Tensor<D...>>;
};

template <class Params>
struct gradients_of {
  using checked = checked_t<parameters_verdict_t<Params>>;
  using type = refused;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct gradients_of<Structure<Tensor>> {
  using type = Structure<gradient_of<Tensor>::template tensor>;
};

/// Where the gradient of a parameter is collected.
template <class X>
struct slot_of_tensor {
  gradient_slot<typename X::backend_type, typename X::element_type>* at = nullptr;
};
template <template <class...> class Tensor>
struct slot_of {
  template <class... D>
  using tensor = slot_of_tensor<Tensor<D...>>;
};
template <class Params>
struct slots_of;
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct slots_of<Structure<Tensor>> {
  using type = Structure<slot_of<Tensor>::template tensor>;
};

}  // namespace detail

/// The type of the gradients of a parameter structure. Their elements have the parameters' type, or what the
/// `precision` of these completes gradients in.
template <class Params>
using gradients_t = typename detail::gradients_of<typename detail::model_types<Params>::completed>::type;

/// The result of a function made by `value_and_grad`.
template <class Value, class Gradients>
struct value_and_gradients {
  Value value;
  Gradients gradients;
};

namespace detail {

/// Fills `value` and `gradients`. They are not returned: GCC 12 copies arrays of tensors without counting when it
/// evaluates a constant expression (it copies their bits), and a plan's figure of memory would be off.
template <class Split, class F, class Params, class Value, class Gradients, class... Args>
constexpr void differentiate(completed_gradients when, F const& f, Params const& params, Value& value,
                             Gradients& gradients, Args const&... args) {
  using backend_type = typename Value::backend_type;
  using T = typename Value::element_type;
  constexpr bool widens = !std::is_same_v<typename model_types<Params>::completed, as_computed_t<Params>>;
  backend_type& backend = backend_of<backend_type>(params);
  tape<backend_type> recorded(backend, when == completed_gradients::overlapped);
  ref<gradient_slot<backend_type, T>> result;
  typename slots_of<as_computed_t<Params>>::type slots;
  {
    as_computed_t<Params> tracked;
    walk_tensors(
        backend,
        [&](path const& name, auto const& p, auto& t, auto& s) {
          using U = typename std::remove_cvref_t<decltype(t)>::element_type;
          if (tape_of(p.value()) != nullptr) gradient_of_a_gradient();
          auto const computed = cast_call<U>{}(p);
          auto const place = place_of(computed);
          t = place.tensor(detail::value<backend_type, U>(
              computed.value().memory,
              recorded.template parameter<U>(place.spec(), state_axes<Split>(place), name.names(), widens)));
          s.at = t.value().slot.get();
        },
        params, tracked, slots);
    auto const found = complete(f(std::as_const(tracked), args...));
    value = stop_gradient(found);
    if (auto* const by = tape_of(found.value()); by == &recorded)
      result = found.value().slot;
    else if (by != nullptr)
      gradient_of_a_gradient();
    // In constant expressions nvcc 13.0 destroys only the first element of an array that is a member.
    if constexpr (!backend_type::holds_data)
      walk_tensors(backend, [](auto const&, auto& t) { t = std::remove_cvref_t<decltype(t)>(); }, tracked);
  }
  // From here on the nodes alone hold the parameters' slots.
  if (result) {
    auto seed = make_buffer<T>(backend, 1);
    {
      during<backend_type> const backward(backend, pass::backward);
      operation<backend_type> const here(backend, "gradient", place_of(value).spec());
      backend.run(primitives::fill<T>{data_of<T>(seed), 1, T(1)});
    }
    result->add({std::move(seed), 0});
    result = {};
    recorded.run();
  }
  std::size_t i = 0;
  walk_tensors(
      backend,
      [&](auto const&, auto const& p, auto const& s, auto& g) {
        using G = std::remove_cvref_t<decltype(g)>;
        g = G(backend, place_as<typename G::tensor_type>(place_of(p)), recorded.gradient(i++, s.at));
      },
      params, std::as_const(slots), gradients);
}

}  // namespace detail

/// A function that calls f(params, args...), which returns a scalar tensor, and returns its value, complete, with the
/// gradients for every tensor of `params`. If these have a `precision`, f gets copies of them in the type that it
/// computes in. Reverse mode: the operations on parameters are recorded and run backwards,
/// each freeing what it kept. `Split` is the optimizer's state_split_over: with completed_gradients::overlapped each
/// rank then gets only its part of a gradient. A parameter that was never given a value, and a function that is being
/// differentiated already (gradients of gradients are not computed), are a user_error. Refused: parameters that are no
/// structure of tensors, arguments that f does not take, a value that is not a scalar tensor.
template <class Split = state_split_over<>, class F>
constexpr auto value_and_grad(F f, completed_gradients when = completed_gradients::later) {
  return [f, when]<class Params, class... Args>(Params const& params, Args const&... args) {
    using verdict = detail::loss_verdict_t<F, Params, Args...>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return value_and_gradients<refused, refused>{};
    } else {
      using raw = std::remove_cvref_t<decltype(f(std::declval<as_computed_t<Params> const&>(), args...))>;
      if constexpr (std::is_same_v<raw, refused>) {
        return value_and_gradients<refused, refused>{};
      } else {
        value_and_gradients<decltype(complete(std::declval<raw const&>())), gradients_t<Params>> result;
        detail::differentiate<Split>(when, f, params, result.value, result.gradients, args...);
        return result;
      }
    }
  };
}

}  // namespace mtf
