#pragma once
// What operations ask of their operands, as verdicts.
#include <cstddef>
#include <type_traits>

#include <mtf/core/element.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/sharding/operand_rule.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

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

template <class... X>
constexpr auto same_element_in(list<X...> const*) {
  if constexpr (sizeof...(X) < 2)
    return ok{};
  else
    return same_element_verdict<X...>();
}
/// Only the operands of floating types must have one element type: an elementwise operation may take integers or bools
/// beside them.
template <class... X>
auto same_floating_verdict() {
  using floating = concat_t<list<>, std::conditional_t<is_floating<typename X::element_type>, list<X>, list<>>...>;
  return same_element_in(static_cast<floating const*>(nullptr));
}

/// What a call that is made of others names as its operands_rule: these say what is wrong.
struct said_by_parts {
  static constexpr finding wrong(auto const&...) { return {}; }
};

/// The verdict that says what is wrong with operands of the descriptions X.
template <class Of, class... X>
auto operands_verdict() {
  constexpr finding f = wrong_with<Of>(X::spec...);
  if constexpr (f.what == finding::kind::none) {
    return ok{};
  } else {
    using Mesh = typename first_t<X...>::mesh_type;
    using Xi = nth<static_cast<std::size_t>(f.i), X...>;
    using Xj = nth<static_cast<std::size_t>(f.j), X...>;
    if constexpr (f.what == finding::kind::too_many_dims) {
      return error_too_many_dims<max_dims, typename X::shape_type...>{};
    } else if constexpr (f.what == finding::kind::outer_product) {
      return error_no_shared_dim<typename Xi::shape_type, typename Xj::shape_type>{};
    } else {
      using Di = typename Xi::shape_type::template at<static_cast<std::size_t>(f.di)>;
      using Dj = typename Xj::shape_type::template at<static_cast<std::size_t>(f.dj)>;
      if constexpr (f.what == finding::kind::extents)
        return error_one_name_two_extents<Di, Dj>{};
      else if constexpr (f.what == finding::kind::splits)
        return error_split_differently<Di, typename Xi::layout_type, typename Xj::layout_type>{};
      else
        return error_two_dims_on_one_axis<Di, Dj, typename Mesh::template at<static_cast<std::size_t>(f.axis)>>{};
    }
  }
}

template <class... X>
using same_element_t = decltype(same_element_verdict<typename X::description...>());

/// The verdict for an operation that means nothing on integers and bools.
template <class... X>
using floating_t = first_failed_t<
    std::conditional_t<is_floating<typename X::element_type>, ok, error_element_type<typename X::element_type>>...>;

/// The verdict on one dimension that an operation names: it must be one of the tensor's, with the same extent.
template <class Shape, class D>
auto named_dim_verdict() {
  constexpr int at = Shape::find(D::id);
  if constexpr (at < 0) {
    return error_no_such_dim<D, Shape>{};
  } else {
    using own = typename Shape::template at<static_cast<std::size_t>(at)>;
    return std::conditional_t<extent_in_type<own>() == extent_in_type<D>(), ok, error_one_name_two_extents<own, D>>{};
  }
}
/// The same for several dimensions.
template <class Shape, class... D>
using named_dims_t = first_failed_t<decltype(named_dim_verdict<Shape, D>())...>;

/// The type in which the elements of an operand are computed; int after a refusal.
template <class X>
struct compute_of {
  using type = int;
};
template <class X>
  requires tensor_type<X>
struct compute_of<X> {
  using type = compute_t<typename X::element_type>;
};
template <class X>
using compute_of_t = typename compute_of<X>::type;

}  // namespace mtf::detail
