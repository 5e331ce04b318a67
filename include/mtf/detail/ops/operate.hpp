#pragma once
// From types to values and back: the way by which every operation is called.
#include <type_traits>

#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/ops/operands.hpp>
#include <mtf/detail/ops/operation.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// Calls an operation on operands. `Of` says
///   verdict<X...>()      on the descriptions of the operands: ok, or what is refused
///   operator()(x...)     the operation, on operands that are not refused
/// One mistake gives one error: what was refused before is handed on in silence.
template <class Of, class... X>
constexpr auto operate(Of const& of, X const&... x) {
  if constexpr (any_refused<X...>) {
    return refused{};
  } else {
    using verdict = decltype(Of::template verdict<typename X::description...>());
    if constexpr (!verdict::value) {
      require<verdict, Of>{};
      return refused{};
    } else {
      return of(x...);
    }
  }
}

/// What a rule says of operands of these types. `Rule` says derive(mesh, sharding...).
template <class Rule, class... X>
inline constexpr auto work_of = Rule::derive(first_t<X...>::mesh, X::spec...);

/// The result of an operation on values as a tensor: of a type that is said,
template <class Description, class Operation, class... X>
constexpr auto run_as(Operation const& o, X const&... x) {
  using out = typename Description::template on<typename first_t<X...>::backend_type>;
  return out(run<typename Description::element_type>(o, x.value()...));
}
/// or of that which a sharding is in types: `Rule::out`,
template <class T, class Rule, class... X>
using description_by = typename result_description<T, Rule, dims_of<X...>, X...>::type;
/// or where the rule says that the result lies.
template <class Rule, class... X>
struct out_of {
  static constexpr sharding out = work_of<Rule, X...>.out;
};
template <class T, class Rule, class... X>
using description_of = description_by<T, out_of<Rule, X...>, X...>;

/// The same tensor as X but for its shape, and its partial axes as a sharding says.
template <class X, class Shape, axis_mask Partial = X::spec.partial>
using reshaped =
    described<typename X::element_type, Shape, typename X::layout_type, partial_of<typename X::mesh_type, Partial>>;

}  // namespace mtf::detail
