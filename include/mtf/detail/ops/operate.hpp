#pragma once
// How every operation is called: from tensor types to values, and from the result's sharding back to a type.
#include <type_traits>

#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/ops/derived.hpp>
#include <mtf/detail/ops/operands.hpp>
#include <mtf/detail/ops/operation.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// The rule by which a call's operands meet: one that it names, or itself. Void: it runs by several.
template <class Of, class... X>
constexpr auto operands_rule_of() {
  if constexpr (requires { typename Of::template operands_rule<X...>; })
    return std::type_identity<typename Of::template operands_rule<X...>>{};
  else if constexpr (derives_under_a_layout<Of> || requires { Of::derive(first_t<X...>::mesh, X::spec...); })
    return std::type_identity<Of>{};
  else
    return std::type_identity<void>{};
}
template <class Of, class... X>
using operands_rule_t = typename decltype(operands_rule_of<Of, X...>())::type;

/// Whether a call says what `operate` asks of it.
template <class Of, class... X>
constexpr bool is_call_on() {
  constexpr bool says = requires { Of::template verdict<X...>(); };
  static_assert(
      says,
      "mtf: the call of an operation says `template <class... X> static auto verdict()` of the descriptions of "
      "its operands, as many as it is called with: mtf::ok, or what is refused");
  return says;
}

/// What a call says of its operands' names and elements; then what all are asked: to lie on one mesh, and so that they
/// meet.
template <class Of, class... X>
auto call_verdict() {
  using own = decltype(Of::template verdict<X...>());
  using mesh = decltype(same_mesh_verdict<X...>());
  if constexpr (!own::value || sizeof...(X) < 2)
    return own{};
  else if constexpr (!mesh::value)
    return mesh{};
  else
    return operands_verdict<
        std::conditional_t<std::is_void_v<operands_rule_t<Of, X...>>, Of, operands_rule_t<Of, X...>>, X...>();
}

/// Calls an operation on operands. `Of` says
///   verdict<X...>()           on the descriptions of the operands: ok, or what is refused of their names and elements
///   operator()(x...)          the operation, on operands that are not refused
///   wrong(sharding...)        if it has one: what is wrong with how the operands lie. Else several must be split
///   alike,
///                             and no axis may split two of their dimensions (see wrong_with)
///   operands_rule<X...>       if it has one: the rule that says so in its place, and by which the operation runs; and
///   name                      if it has none: what that error calls it where layouts are values
/// One mistake gives one error: if an operand was refused before, the result is `refused`, without a second error.
template <class Of, class... X>
constexpr auto operate(Of const& of, X const&... x) {
  if constexpr (any_refused<X...>) {
    return refused{};
  } else if constexpr ((is_gradient<X> || ...)) {
    return gradient_is_no_tensor<X...>();
  } else if constexpr (!is_call_on<Of, typename X::description...>()) {
    return refused{};
  } else {
    using verdict = decltype(call_verdict<Of, typename X::description...>());
    if constexpr (!verdict::value) {
      require<verdict, Of>{};
      return refused{};
    } else {
      if constexpr (by_value<X...> && sizeof...(X) > 1)
        if constexpr (std::is_void_v<operands_rule_t<Of, typename X::description...>>)
          derived_for<checked_rule<Of>>(Of::name, x...);
      return of(x...);
    }
  }
}

/// Runs an operation, whose work `Rule` derives, on the operands' values. The result is a tensor of the type that
/// `Description` gives.
template <class Description, class Rule, class Operation, class... X>
constexpr auto run_as(Operation o, X const&... x) {
  using out = typename Description::template on<typename first_t<X...>::backend_type>;
  using R = typename Description::element_type;
  if constexpr (!is_rule_for<Rule, typename X::description...>() || !is_operation<Operation, R, X...>()) {
    return refused{};
  } else if constexpr (by_value<X...>) {
    o.work = &work_of<Rule, typename X::description...>;  // for its name, which may be in the work
    auto const& derived = derived_for<Rule>(o.name(), x...);
    o.work = &derived.work;
    if constexpr (!first_t<X...>::backend_type::holds_data)
      if (((x.where().layout == derived.out->layout) && ...))
        first_operand(x...).backend().works_under(derived.work.in, derived.out->spec, *derived.out->layout);
    return out(run<R>(o, x.value()...), *derived.out);
  } else {
    o.work = &work_of<Rule, typename X::description...>;
    return out(run<R>(o, x.value()...));
  }
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
