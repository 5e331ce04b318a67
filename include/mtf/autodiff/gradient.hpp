#pragma once
// The gradient of a tensor, and sums of the gradients of several batches.
#include <type_traits>
#include <utility>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/refused.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/tape/completion.hpp>
#include <mtf/detail/tape/contributions.hpp>
#include <mtf/detail/tape/cotangent.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

namespace detail {

/// A tensor's type when it is no longer partial.
template <class X>
using whole_t = decltype(complete(std::declval<X const&>()));

}  // namespace detail

/// The gradient of a tensor of type Tensor, split like it. It may be partial; over which axes depends on all uses of
/// the tensor together, so it is known when the program runs. complete() and part() reduce it. An optimizer whose state
/// is split further (`Split`, a state_split_over) needs on each rank only that rank's part.
template <tensor_type Tensor>
class gradient {
 public:
  /// The tensor of which it is the gradient, and whose shape it has.
  using tensor_type = Tensor;
  /// What holds it.
  using backend_type = typename Tensor::backend_type;
  /// The tensor's.
  using element_type = typename Tensor::element_type;

  /// Zero.
  constexpr gradient() = default;
  constexpr gradient(backend_type& b, detail::tensor_place<Tensor> const& place,
                     detail::cotangent<backend_type> const& g)
      : backend_(&b), place_(place), g_(g) {}

  /// A tensor as a gradient, such as what a function made of that of `complete()`: of a partial one the sum, by one
  /// all-reduce.
  template <mtf::tensor_type X>
    requires std::is_same_v<detail::whole_t<X>, Tensor>
  constexpr explicit gradient(X const& x) : backend_(&x.backend()) {
    auto const whole = mtf::complete(x);
    place_ = detail::place_of(whole);
    g_ = {whole.value().memory, 0};
  }

  /// Its sharding.
  [[nodiscard]] constexpr detail::tensor_place<Tensor> const& place() const { return place_; }
  /// What holds it; null: it was never given a value.
  [[nodiscard]] constexpr backend_type* backend() const { return backend_; }
  /// Starts reducing it: after `all.finish()`, part<Split>() costs nothing. `parameter`: whose gradient it is.
  template <class Split = state_split_over<>>
  constexpr void complete_with(detail::completion<backend_type>& all, parameter_path const& parameter) const {
    if (g_.memory) all.template add<element_type>(g_, place_.spec(), detail::state_axes<Split>(place_), parameter);
  }

  /// The axes over which it is partial; 0 if it is reduced already.
  [[nodiscard]] constexpr axis_mask partial_axes() const {
    return g_.memory && g_.memory->sum.is_over(g_.partial) ? 0 : g_.partial;
  }
  /// Nothing flowed there: the function did not use the tensor, or its result did not depend on it.
  [[nodiscard]] constexpr bool is_zero() const { return !g_.memory; }
  /// The gradient as a tensor: one all-reduce over the partial axes. Called again, it costs nothing. If an optimizer
  /// has reduced its parts already: one all-gather of them.
  [[nodiscard]] constexpr Tensor complete() const { return part<state_split_over<>>(); }
  /// The gradient as a tensor that is split like the state of a parameter: one reduce-scatter.
  template <class Split>
  [[nodiscard]] constexpr state_part_t<Tensor, Split> part() const {
    if (backend_ == nullptr) detail::has_no_value("a gradient", Tensor::description::spec);
    backend::operation<backend_type> const here(*backend_, "gradient", place_.spec());
    auto const place = detail::state_place<Split>(*backend_, place_);
    if (is_zero()) return detail::filled(*backend_, place, 0);
    return place.tensor(detail::value<backend_type, element_type>(
        detail::completed<element_type>(place_.spec(), g_.partial, g_.memory, detail::state_axes<Split>(place_))));
  }

  /// For value_and_grad: what it adds to a sum of gradients, its terms, or their sum if that is known. (Where an
  /// optimizer has its parts already, these are gathered.)
  [[nodiscard]] constexpr detail::cotangent<backend_type> addend() const {
    if (is_zero() || !g_.memory->sum.is_over(g_.partial)) return g_;
    backend::operation<backend_type> const here(*backend_, "gradient", place_.spec());
    return {detail::completed<element_type>(place_.spec(), g_.partial, g_.memory), 0};
  }
  friend constexpr gradient operator+(gradient const& x, gradient const& y) {
    auto sum = x;
    sum += y;
    return sum;
  }
  template <math::plain_number N>
  friend constexpr gradient operator*(gradient const& x, N factor) {
    auto product = x;
    product *= static_cast<double>(factor);
    return product;
  }
  template <math::plain_number N>
  friend constexpr gradient operator*(N factor, gradient const& x) {
    return x * factor;
  }
  // Refused: a gradient in a tensor's place.
  template <mtf::tensor_type X>
  friend constexpr X& operator+=(X& x, gradient const&) {
    detail::gradient_is_no_tensor<gradient>();
    return x;
  }
  template <mtf::tensor_type X>
  friend constexpr X& operator-=(X& x, gradient const&) {
    detail::gradient_is_no_tensor<gradient>();
    return x;
  }
  template <class T>
    requires std::is_same_v<T, Tensor>
  constexpr operator T() const {  // NOLINT: implicit by purpose
    return detail::gradient_is_no_tensor<gradient>();
  }
  /// Refused: the rank may have one term of it alone. complete() gives the tensor.
  template <class G = gradient>
  constexpr auto local() const {
    return detail::gradient_is_no_tensor<G>();
  }
  /// The same as addend(); afterwards it is zero.
  constexpr detail::cotangent<backend_type> take() {
    auto all = addend();
    g_ = {};
    return all;
  }

  /// For plans: as detail::placeholder_of says. Nothing is sent for it.
  [[nodiscard]] constexpr gradient placeholder() const {
    gradient like_this(*this);
    if (is_zero()) return like_this;
    like_this.g_.memory = backend::make_buffer<element_type>(*backend_, 0);
    like_this.g_.memory->sum.is_in_place(g_.partial);
    return like_this;
  }

  /// Adds the gradient of the same tensor in another batch.
  constexpr gradient& operator+=(gradient const& other) {
    if (other.is_zero()) return *this;
    if (is_zero()) return *this = other;
    if (!(place_.spec() == other.place_.spec())) added_to_another();
    backend::operation<backend_type> const here(*backend_, "gradient", place_.spec());
    detail::contributions<backend_type, element_type> sum(*backend_, place_.spec());
    auto more = other.addend();  // first: `other` may be this one
    sum.add(take());
    sum.add(std::move(more));
    g_ = sum.together();
    return *this;
  }
  /// Multiplies it by a number.
  constexpr gradient& operator*=(double factor) {
    if (is_zero()) return *this;
    backend::operation<backend_type> const here(*backend_, "gradient", place_.spec());
    auto g = take();
    backend::index const n = place_.local_size();
    backend::loops<2> const flat{.ndim = 1, .extent = {n}, .stride = {backend::extents{1}, backend::extents{1}}};
    detail::buffer<backend_type> out;
    if (g.memory.unique())
      out = g.memory;
    else
      out = backend::make_buffer<element_type>(*backend_, n);
    using scale = functions::scale<compute_t<element_type>>;
    backend_->run(primitives::map_of(scale{static_cast<compute_t<element_type>>(factor)}, flat,
                                     backend::data_of<element_type>(out),
                                     static_cast<element_type const*>(backend::data_of<element_type>(g.memory))));
    g.memory = std::move(out);
    g.memory->sum.forget();
    g_ = std::move(g);
    return *this;
  }

 private:
  // Not constexpr: a plan of such a program ends here.
  [[noreturn]] static void added_to_another() {
    throw user_error("gradients are added whose tensors lie differently on the mesh: add those of the same parameters");
  }

  backend_type* backend_ = nullptr;
  [[no_unique_address]] detail::tensor_place<Tensor> place_{};
  detail::cotangent<backend_type> g_;
};

template <tensor_type X>
gradient(X const&) -> gradient<detail::whole_t<X>>;

namespace detail {

template <class Tensor>
inline constexpr bool is_gradient<gradient<Tensor>> = true;

/// Calls f(x, y...) for each gradient of a structure, and the same of others, if any of them is not zero.
template <class Backend, class F, class S, class... Rest>
constexpr void for_each_gradient(F const& f, S& s, Rest&... rest) {
  Backend* on = nullptr;
  auto const find = [&](path const&, auto const& x) {
    if (on == nullptr) on = x.backend();
  };
  (walk(static_cast<void*>(nullptr), find, nullptr, rest), ..., walk(static_cast<void*>(nullptr), find, nullptr, s));
  if (on != nullptr) walk_tensors(*on, [&](auto const&, auto&... x) { f(x...); }, s, rest...);
}

/// A structure of gradients has these tensors.
template <template <class...> class Tensor>
struct gradient_of {
  template <class... D>
  using tensor = gradient<Tensor<D...>>;
};

}  // namespace detail

/// x += y for each gradient of a structure of gradients, in their type: of many batches in bfloat16 `accumulated` keeps
/// more. (A function, as Clang looks for no operators of a structure
/// where its tensors come from.)
template <template <template <class...> class> class Structure, template <class...> class Tensor>
constexpr void add_gradients(Structure<Tensor>& x, Structure<Tensor> const& y) {
  detail::for_each_gradient<typename Tensor<>::backend_type>([](auto& a, auto const& b) { a += b; }, x, y);
}
/// x *= factor for each gradient of a structure of gradients.
template <template <template <class...> class> class Structure, template <class...> class Tensor>
constexpr void scale_gradients(Structure<Tensor>& x, double factor) {
  detail::for_each_gradient<typename Tensor<>::backend_type>([factor](auto& a) { a *= factor; }, x);
}

// After a refusal there is nothing to add.
template <class Y>
constexpr void add_gradients(refused const&, Y const&) {}
constexpr void scale_gradients(refused const&, double) {}

}  // namespace mtf
