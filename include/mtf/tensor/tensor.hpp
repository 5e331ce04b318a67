#pragma once
// Tensors: global logical arrays whose type says how they are cut.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tensor/typed.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/backend/trace.hpp>

namespace mtf {

template <class T, class Shape, class Layout, class Partial = partial<>, class Backend = trace>
class tensor;

namespace detail {

/// Not constexpr: a plan of such a program ends here. `what`: the tensor in the user's words.
[[noreturn]] inline void has_no_value(std::string const& what, sharding const& tensor) {
  std::string dims;
  for (int d = 0; d < tensor.rank; ++d) dims += (d == 0 ? "" : ", ") + std::string(tensor[d].name);
  throw user_error(what + " [" + dims +
                   "] has no value: it was declared and never filled; fill it by mtf::zeros, mtf::from_global, a random "
                   "initialization or the result of an operation");
}

/// What a tensor's type says, but for its backend. Rules are asked of descriptions: a program that is planned, and runs on
/// one backend or two, computes each once.
template <class T, class Shape, class Layout, class Partial>
struct described {
  using description = described;
  using element_type = T;
  using shape_type = Shape;
  using layout_type = Layout;
  using partial_type = Partial;
  using mesh_type = typename Layout::mesh_type;
  static constexpr mesh_shape mesh = mesh_type::shape();
  static constexpr sharding spec = sharding_of<Shape, Layout, Partial>;
  /// The number of elements of one rank's shard.
  static constexpr std::int64_t local_size = spec.local_size(mesh);
  template <class Backend>
  using on = tensor<T, Shape, Layout, Partial, Backend>;
};

}  // namespace detail

/// A global array over the dimensions of `Shape`, cut over the mesh as `Layout` says; each rank holds its shard, dense and
/// row-major. Over the axes of `Partial` each rank holds one term of a sum that is not taken yet. Copies share memory and
/// are cheap, and are values: memory that someone else holds too is never written. Refused: a layout that is not injective
/// on the shape.
template <class T, class Shape, class Layout, class Partial, class Backend>
class tensor : public detail::described<T, Shape, Layout, Partial> {
 public:
  using checked = detail::checked_t<tensor_verdict_t<Shape, Layout, Partial>>;
  using backend_type = Backend;
  using detail::described<T, Shape, Layout, Partial>::spec;
  using detail::described<T, Shape, Layout, Partial>::local_size;

  /// Holds nothing yet.
  constexpr tensor() = default;
  constexpr explicit tensor(detail::value<Backend, T> const& v) : value_(v) {
    if constexpr (!Backend::holds_data) backend().saw(spec);
  }

  /// For operations. A tensor that was never given a value is a user_error.
  [[nodiscard]] constexpr detail::value<Backend, T> const& value() const {
    if (empty()) detail::has_no_value("a tensor", spec);
    return value_;
  }
  [[nodiscard]] constexpr Backend& backend() const { return value().backend(); }
  [[nodiscard]] constexpr bool empty() const { return !value_.memory; }

  /// The rank's shard, copied to the host.
  [[nodiscard]] std::vector<T> local() const
    requires(!std::is_same_v<T, bool>)
  {
    std::vector<T> out(static_cast<std::size_t>(local_size));
    backend().to_host(out.data(), value_.data(), out.size() * sizeof(T));
    return out;
  }

 private:
  detail::value<Backend, T> value_;
};

namespace detail {

template <class X>
inline constexpr bool is_tensor = false;
template <class T, class S, class L, class P, class B>
inline constexpr bool is_tensor<tensor<T, S, L, P, B>> = true;

}  // namespace detail

template <class X>
concept tensor_type = detail::is_tensor<X>;

/// What tensor operations take besides numbers: a tensor, or the trace of an earlier refusal.
template <class X>
concept operand = tensor_type<X> || std::is_same_v<X, refused>;

namespace detail {

/// The dimensions of all operands, with repetitions: where types for a result's dimensions are found.
template <class... X>
using dims_of = concat_t<typename X::shape_type...>;

template <class X, class...>
struct first_of {
  using type = X;
};
template <class... X>
using first_t = typename first_of<X...>::type;

/// The type of an operation's result: `Rule::out` in types, from the operands' descriptions.
template <class T, class Rule, class Dims, class... X>
struct result_description {
  using mesh = typename first_t<X...>::mesh_type;
  using shape = shape_of_rule<Dims, Rule>;
  using layout = typename result_layout<mesh, shape, Rule, typename X::layout_type...>::type;
  using type = described<T, shape, layout, partial_of<mesh, Rule::out.partial>>;
};
template <class T, class Rule, class... X>
using result_t = typename result_description<T, Rule, dims_of<typename X::description...>,
                                             typename X::description...>::type::template on<typename first_t<X...>::backend_type>;

template <class... X>
inline constexpr bool any_refused = (std::is_same_v<X, refused> || ...);

template <class X, class... Rest>
auto same_mesh_verdict() {
  if constexpr (sizeof...(Rest) == 0) {
    return ok{};
  } else {
    using Y = first_t<Rest...>;
    if constexpr (!std::is_same_v<typename X::mesh_type, typename Y::mesh_type>)
      return error_different_meshes<typename X::mesh_type, typename Y::mesh_type>{};
    else
      return same_mesh_verdict<Rest...>();
  }
}
template <class X, class... Rest>
auto same_element_verdict() {
  if constexpr (sizeof...(Rest) == 0) {
    return ok{};
  } else {
    using Y = first_t<Rest...>;
    if constexpr (!std::is_same_v<typename X::element_type, typename Y::element_type>)
      return error_element_types_differ<typename X::element_type, typename Y::element_type>{};
    else
      return same_element_verdict<Rest...>();
  }
}

/// Only the floating ones among the operands must have one element type: an elementwise operation may take numbers or
/// conditions beside them.
template <class... X>
constexpr auto same_element_in(list<X...> const*) {
  if constexpr (sizeof...(X) < 2)
    return ok{};
  else
    return same_element_verdict<X...>();
}
template <class... X>
auto same_floating_verdict() {
  using floating = concat_t<list<>, std::conditional_t<is_floating<typename X::element_type>, list<X>, list<>>...>;
  return same_element_in(static_cast<floating const*>(nullptr));
}

/// The verdict on what a rule found among its operands.
template <class Rule, class... X>
using operands_verdict_t = decltype(operands_verdict<Rule, typename first_t<X...>::mesh_type, typename X::description...>());
template <class... X>
using same_mesh_t = decltype(same_mesh_verdict<typename X::description...>());
template <class... X>
using same_element_t = decltype(same_element_verdict<typename X::description...>());

/// The first verdict that is not ok.
template <class... V>
struct first_failed {
  using type = ok;
};
template <class V, class... Rest>
struct first_failed<V, Rest...> : std::conditional<V::value, typename first_failed<Rest...>::type, V> {};
template <class... V>
using first_failed_t = typename first_failed<V...>::type;

struct none_fits {};
template <class F>
struct or_none_fits : F {
  using F::operator();
  none_fits operator()(...) const;
};
/// A call that does not compile, which the compiler says; once, as Clang passes over a function that it has refused before.
template <class F, class... Args>
struct call_fails : failed {};
template <class F, class... Args>
struct require<call_fails<F, Args...>> {
  using said = decltype(std::declval<or_none_fits<F> const&>()(std::declval<Args>()...));
};
template <class F, class... Args>
auto callable_verdict() {
  if constexpr (sizeof...(Args) > 0 && std::is_class_v<F> && !std::is_final_v<F>) {
    if constexpr (!std::is_invocable_v<or_none_fits<F> const&, Args...>)
      return call_fails<F, Args...>{};
    else if constexpr (std::is_same_v<std::invoke_result_t<or_none_fits<F> const&, Args...>, none_fits>)
      return error_not_callable<F, std::remove_cvref_t<Args>...>{};
    else
      return ok{};
  } else {
    return std::conditional_t<std::is_invocable_v<F const&, Args...>, ok, error_not_callable<F, std::remove_cvref_t<Args>...>>{};
  }
}
/// The verdict on calling f: error_not_callable where none of its call operators takes such arguments. is_invocable cannot
/// tell that from a function whose body does not compile.
template <class F, class... Args>
using callable_t = decltype(callable_verdict<F, Args...>());

/// Operands of an operation that means nothing on integers and conditions.
template <class... X>
using floating_t = first_failed_t<std::conditional_t<is_floating<typename X::element_type>, ok,
                                                     error_element_type<typename X::element_type>>...>;

/// The verdict on one dimension that an operation names: it must be one of the tensor's, with the same extent.
template <class Shape, class D>
auto named_dim_verdict() {
  constexpr int at = Shape::find(D::id);
  if constexpr (at < 0) {
    return error_no_such_dim<D, Shape>{};
  } else {
    using own = typename Shape::template at<static_cast<std::size_t>(at)>;
    return std::conditional_t<own::extent == D::extent, ok, error_one_name_two_extents<own, D>>{};
  }
}
/// The verdict on all of them.
template <class Shape, class... D>
struct named_dims : first_failed<decltype(named_dim_verdict<Shape, D>())...> {};
template <class Shape, class... D>
using named_dims_t = typename named_dims<Shape, D...>::type;

}  // namespace detail

/// A description of tensors of one element type, layout and backend: what a parameter structure takes as its template
/// argument, `mlp<mtf::place<float, where, backend>::tensor>`. A leading `under<Layout>` overrides the layout.
template <layout_type Layout>
struct under {};

namespace detail {
template <class T, class Layout, class Backend, class... D>
struct placed {
  using type = tensor<T, shape<D...>, Layout, partial<>, Backend>;
};
template <class T, class Layout, class Backend, class Other, class... D>
struct placed<T, Layout, Backend, under<Other>, D...> : placed<T, Other, Backend, D...> {};
}  // namespace detail

template <class T, layout_type Layout, class Backend = trace>
struct place {
  template <class... D>
  using tensor = typename detail::placed<T, Layout, Backend, D...>::type;
  /// The same place for another element type.
  template <class U>
  using rebound = place<U, Layout, Backend>;
};

/// The same structure template under another layout: `block<mtf::relaid<Tensor, upper>::template tensor>`.
template <template <class...> class Tensor, layout_type Layout>
struct relaid {
  template <class... D>
  using tensor = Tensor<under<Layout>, D...>;
};

}  // namespace mtf
