#pragma once
// How every operation is called: from tensor types to values, and from the result's sharding back to a type.

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

/// Calls an operation on operands. `Of` says
///   verdict<X...>()      on the descriptions of the operands: ok, or what is refused
///   operator()(x...)     the operation, on operands that are not refused
///   check_call(sharding...)   what is wrong with operands whose layout is a value, if the rules that it runs by do not
///                             say it themselves; and `name`, for that error
/// One mistake gives one error: if an operand was refused before, the result is `refused`, without a second error.
template <class Of, class... X>
constexpr auto operate(Of const& of, X const&... x) {
  if constexpr (any_refused<X...>) {
    return refused{};
  } else if constexpr ((is_gradient<X> || ...)) {
    return gradient_is_no_tensor<X...>();
  } else {
    using verdict = decltype(Of::template verdict<typename X::description...>());
    if constexpr (!verdict::value) {
      require<verdict, Of>{};
      return refused{};
    } else {
      if constexpr (by_value<X...> && requires { Of::check_call(X::description::spec...); })
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
  if constexpr (by_value<X...>) {
    char const* by = nullptr;
    if constexpr (can_refuse<Rule, sizeof...(X)>) by = o.name();
    auto const& derived = derived_for<Rule>(by, x...);
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
