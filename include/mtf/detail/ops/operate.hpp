#pragma once
// How every operation is called: from tensor types to values, and from the result's sharding back to a type.

#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/ops/operands.hpp>
#include <mtf/detail/ops/operation.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// Calls an operation on operands. `Of` says
///   verdict<X...>()      on the descriptions of the operands: ok, or what is refused
///   operator()(x...)     the operation, on operands that are not refused
/// One mistake gives one error: if an operand was refused before, the result is `refused`, without a second error.
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

/// The work that `Rule::derive(mesh, sharding...)` derives for operands of these types: one static constant for each.
template <class Rule, class... X>
inline constexpr auto work_of = Rule::derive(first_t<X...>::mesh, X::spec...);

/// Runs an operation on the operands' values. The result is a tensor of the type that `Description` gives.
template <class Description, class Operation, class... X>
constexpr auto run_as(Operation const& o, X const&... x) {
  using out = typename Description::template on<typename first_t<X...>::backend_type>;
  return out(run<typename Description::element_type>(o, x.value()...));
}
/// The description of a result with the sharding `Rule::out` and elements T.
template <class T, class Rule, class... X>
using description_by = typename result_description<T, Rule, dims_of<X...>, X...>::type;
/// A rule in the sense of `description_by`, from one that has `derive`.
template <class Rule, class... X>
struct out_of {
  static constexpr sharding out = work_of<Rule, X...>.out;
};
/// The description of a result with elements T and the sharding that `Rule::derive` says.
template <class T, class Rule, class... X>
using description_of = description_by<T, out_of<Rule, X...>, X...>;

/// The description X with another shape, and with other partial axes if they are given.
template <class X, class Shape, axis_mask Partial = X::spec.partial>
using reshaped =
    described<typename X::element_type, Shape, typename X::layout_type, partial_of<typename X::mesh_type, Partial>>;

}  // namespace mtf::detail
