#pragma once
// How every operation is called: from tensor types to values, and from the result's sharding back to a type.
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/derived.hpp>
#include <mtf/detail/ops/operands.hpp>
#include <mtf/detail/ops/operation.hpp>
#include <mtf/detail/ops/passes.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// An operation does not take a dimension that has pads.
template <class Dim>
struct error_dim_is_padded : detail::failed {};

}  // namespace mtf

namespace mtf::detail {

template <class D, class... By>
struct require<error_dim_is_padded<D>, By...> {
  static_assert(never<D>, MTF_SENTENCE(MTF_SAYS_PADDED, D));
};

/// The rule by which a call's operands meet: one that it names, or itself. Void: it runs by several.
template <class Of, class... X>
constexpr auto operands_rule_of() {
  if constexpr (requires { typename Of::template operands_rule<X...>; })
    return std::type_identity<typename Of::template operands_rule<X...>>{};
  else if constexpr (derives_under_a_layout<Of> || adds_dims<Of> ||
                     requires { Of::derive(first_t<X...>::mesh, X::spec...); })
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

/// As operate, of a call with several results: refused, it returns as many.
template <std::size_t Results, class Of, class... X>
constexpr auto operate_for(Of const& of, X const&... x) {
  auto const made = operate(of, x...);
  if constexpr (std::is_same_v<decltype(made), refused const>)
    return std::tuple_cat(std::array<refused, Results>{});
  else
    return made;
}

template <class Of, class X>
struct using_up_call : Of {
  X* first;
  template <class... Rest>
  constexpr auto operator()(X const&, Rest const&... rest) const {
    return Of::operator()(std::move(*first), rest...);
  }
};
/// As operate, of a call that takes its first operand as it comes: an rvalue may be used up (see run_as).
template <class Of, class X, class... Rest>
constexpr auto operate_using_up(Of const& of, X&& x, Rest const&... rest) {
  if constexpr (std::is_lvalue_reference_v<X> || std::is_const_v<X> || !tensor_type<X>)
    return operate(of, x, rest...);
  else
    return operate(using_up_call<Of, X>{of, &x}, std::as_const(x), rest...);
}

/// The first dimension of these operands that has pads; void: there is none.
template <class... D>
auto padded_of(shape<D...> const*)
    -> concat_t<std::conditional_t<extent_in_type<D>() != stored_in_type<D>(), list<D>, list<>>...>;
template <class... X>
using first_padded_t = typename concat_t<decltype(padded_of(static_cast<typename X::shape_type const*>(nullptr)))...,
                                         list<void>>::template at<0>;

/// The work for these operands, as an operation wants it; where layouts are values also what was derived besides.
template <class Rule, class Operation, class... X>
constexpr auto const* derive_for(Operation& o, [[maybe_unused]] X const&... x) {
  o.work = &work_in_types<Rule, typename X::description...>;
  if constexpr (by_value<X...>) {
    auto const& derived = derived_for<Rule>(o.name(), x...);  // the name may be in the work
    o.work = &derived.work;
    if constexpr (!first_t<X...>::backend_type::holds_data)
      if (((x.where().layout == derived.out->layout) && ...))
        first_operand(x...).backend().works_under(derived.work.in, derived.out->spec, *derived.out->layout);
    return &derived;
  } else {
    return o.work;
  }
}

/// The I-th result of an operation as a tensor, with what was derived for it.
template <std::size_t I, class Description, class Backend, class T, class Derived>
constexpr auto tensor_of_result(value<Backend, T> const& v, [[maybe_unused]] Derived const& derived) {
  using X = typename Description::template on<Backend>;
  if constexpr (!by_value<X>)
    return X(v);
  else if constexpr (I == 0)
    return X(v, *derived.out);
  else
    return X(v, *derived.further[I - 1]);
}
/// The tensors of an operation's results: of the types that a description, or a list of them, gives.
template <class Description>
struct described_results {
  using elements = typename Description::element_type;
  template <class Value, class Derived>
  static constexpr auto tensors(Value const& v, Derived const& derived) {
    return tensor_of_result<0, Description>(v, derived);
  }
  static constexpr refused none() { return {}; }
};
template <class... Description>
struct described_results<list<Description...>> {
  using elements = list<typename Description::element_type...>;
  template <class Values, class Derived>
  static constexpr auto tensors(Values const& v, Derived const& derived) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::make_tuple(tensor_of_result<I, Description>(std::get<I>(v), derived)...);
    }(std::index_sequence_for<Description...>{});
  }
  static constexpr auto none() { return std::tuple_cat(std::array<refused, sizeof...(Description)>{}); }
};

/// Runs an operation, whose work `Rule` derives, on the operands' values. The result is a tensor of the type that
/// `Description` gives; of a list of descriptions, a tuple of tensors. If the operation says `uses_up`, an rvalue
/// `first` is used up.
template <class Description, class Rule, class Operation, class First, class... X>
constexpr auto run_as(Operation o, First&& first, X const&... x) {
  using results = described_results<Description>;
  using F = std::remove_cvref_t<First>;
  using R = typename results::elements;
  if constexpr (!is_rule_for<Rule, typename F::description, typename X::description...>() ||
                !is_operation<Operation, R, F, X...>()) {
    return results::none();
  } else if constexpr (!takes_pads<Rule> && !by_value<F, X...> &&
                       (F::description::spec.padded || ... || X::description::spec.padded)) {
    require<error_dim_is_padded<first_padded_t<typename F::description, typename X::description...>>, Rule>{};
    return results::none();
  } else {
    auto const& derived = *derive_for<Rule>(o, std::as_const(first), x...);
    if constexpr (std::is_lvalue_reference_v<First> || std::is_const_v<First> || !requires { Operation::uses_up; })
      return results::tensors(run<R>(o, first.value(), x.value()...), derived);
    else
      return results::tensors(run_using_up<R>(o, std::move(first).release(), x.value()...), derived);
  }
}
/// The description of a result with the sharding `Rule::out` and elements T.
template <class T, class Rule, class... X>
using description_by = typename result_description<T, Rule, dims_of<X...>, X...>::type;
/// A rule in the sense of `description_by`, from one that has `derive`: its result, or one of several.
template <class Rule, std::size_t I, class... X>
struct out_of {
  static constexpr sharding out = sharding_of_result<I>(work_in_types<Rule, X...>);
};
/// The description of a result with elements T and the sharding that `Rule::derive` says.
template <class T, class Rule, class... X>
using description_of = description_by<T, out_of<Rule, 0, X...>, X...>;

/// The description X with another shape, and with other partial axes if they are given.
template <class X, class Shape, axis_mask Partial = X::spec.partial>
using reshaped =
    described<typename X::element_type, Shape, typename X::layout_type, partial_of<typename X::mesh_type, Partial>>;

}  // namespace mtf::detail
