#pragma once
// What the compiler refuses: one verdict type for each rule. A rule computes a verdict, `ok` or an error that carries
// the user's own names; concepts and tests ask it, and `detail::require` turns it into one compiler error with a
// sentence. docs/errors.md explains each with its cause and its remedy.
#include <cstdint>
#include <type_traits>

#include <mtf/core/refused.hpp>  // IWYU pragma: export
#include <mtf/detail/core/sentence.hpp>

namespace mtf {

/// Nothing is wrong.
struct ok {
  static constexpr bool value = true;
};

namespace detail {
struct failed {
  static constexpr bool value = false;
};
}  // namespace detail

/// Extents that would fit: the nearest below and above. 0: there is none below.
template <std::int64_t Below, std::int64_t Above>
struct nearest {};

/// A shape names a dimension twice.
template <class Dim>
struct error_dim_twice : detail::failed {};
/// A tensor, or the operands of one operation together, have more than max_dims dimensions.
template <int Most, class... Shapes>
struct error_too_many_dims : detail::failed {};
/// A mesh, or one split, names an axis twice.
template <class Axis>
struct error_axis_twice : detail::failed {};
/// A layout splits two dimensions of one tensor over one axis.
template <class Dim1, class Dim2, class Axis>
struct error_two_dims_on_one_axis : detail::failed {};
/// A tensor is partial over an axis that also splits one of its dimensions.
template <class Dim, class Axis>
struct error_dim_split_where_partial : detail::failed {};
/// The number of ranks over which a dimension is split does not divide its extent; `Fitting` is a `nearest`.
template <class Dim, std::int64_t Extent, int Processors, class Fitting>
struct error_not_divisible : detail::failed {};
/// A tensor, or a layout that is a type, has a dimension whose extent is given when the program runs.
template <class Dim>
struct error_extent_is_a_value : detail::failed {};
/// A layout splits a dimension over an axis that its mesh lacks, or has in another size.
template <class Dim, class Axis, class Mesh>
struct error_axis_not_in_mesh : detail::failed {};
/// A layout has two splits of one dimension.
template <class Dim>
struct error_two_rules_for_dim : detail::failed {};
/// One operation meets two dimensions of one name that differ in extent.
template <class Dim1, class Dim2>
struct error_one_name_two_extents : detail::failed {};
/// Two operands split one dimension differently.
template <class Dim, class Layout1, class Layout2>
struct error_split_differently : detail::failed {};
/// Two operands are on different meshes.
template <class Mesh1, class Mesh2>
struct error_different_meshes : detail::failed {};
/// A broadcast of tensors that share no dimension.
template <class Shape1, class Shape2>
struct error_no_shared_dim : detail::failed {};
/// An operation names a dimension that its tensor lacks.
template <class Dim, class Shape>
struct error_no_such_dim : detail::failed {};
/// An operation would give a tensor a dimension that it already has.
template <class Dim, class Shape>
struct error_dim_already_there : detail::failed {};
/// Two shapes must name the same dimensions, and do not.
template <class Shape1, class Shape2>
struct error_shapes_differ : detail::failed {};
/// Two operands differ in element type.
template <class Element1, class Element2>
struct error_element_types_differ : detail::failed {};
/// An operation does not take tensors of this element type.
template <class Element>
struct error_element_type : detail::failed {};
/// A textual layout names a dimension or an axis that is not in the list.
template <class Name, class... Known>
struct error_unknown_name : detail::failed {};
/// A textual mesh gives an axis no number of ranks.
template <class Entry>
struct error_axis_without_size : detail::failed {};
/// What is given first to a layout, or instead of a mesh, is none.
template <class Given>
struct error_not_a_mesh : detail::failed {};
/// A rule of a layout is not a split of a dimension over axes.
template <class... Given>
struct error_not_a_split : detail::failed {};
namespace detail {

template <class...>
inline constexpr bool never = false;

/// Holds if the verdict is ok; otherwise the one compiler error. Functions say `require<verdict>{}`, classes
/// `using checked = checked_t<verdict>`. `By`: the operation that refuses, for the message.
template <class Verdict, class... By>
struct require;

template <class Verdict>
auto check() {
  static_cast<void>(require<Verdict>{});
  return Verdict{};
}
}  // namespace detail

/// The verdict, after the error. In a function's body the error does not spoil the class: with a base that fails Clang
/// would complain again wherever the class is used; a member's static_assert is reported twice by GCC and nvcc.
template <class Verdict>
using checked_t = decltype(detail::check<Verdict>());

namespace detail {

template <class... By>
struct require<ok, By...> {};

template <int Most, class... S, class... By>
struct require<error_too_many_dims<Most, S...>, By...> {
  static_assert(
      never<S...>,
      MTF_SENTENCE("mtf: a tensor, or the operands of one operation together, have more dimensions than mtf::max_dims; "
                   "error_too_many_dims<most, shapes...>",
                   S...));
};
template <class D, class... By>
struct require<error_dim_twice<D>, By...> {
  static_assert(never<D>,
                MTF_SENTENCE("mtf: a shape names a dimension twice: give one of them another name, e.g. by mtf::rename",
                             D));
};
template <class A, class... By>
struct require<error_axis_twice<A>, By...> {
  static_assert(never<A>, MTF_SENTENCE(MTF_SAYS_AXIS_TWICE, A));
};
template <class D1, class D2, class A, class... By>
struct require<error_two_dims_on_one_axis<D1, D2, A>, By...> {
  static_assert(never<D1, D2, A>, MTF_SENTENCE(MTF_SAYS_TWO_DIMS_ON_ONE_AXIS, D1, D2, A));
};
template <class D, class A, class... By>
struct require<error_dim_split_where_partial<D, A>, By...> {
  static_assert(never<D, A>, MTF_SENTENCE(MTF_SAYS_SPLIT_WHERE_PARTIAL, D, A));
};
template <class D, std::int64_t E, int P, class F, class... By>
struct require<error_not_divisible<D, E, P, F>, By...> {
  static_assert(never<D, F>, MTF_SENTENCE(MTF_SAYS_NOT_DIVISIBLE, D, F));
};
template <class D, class A, class M, class... By>
struct require<error_axis_not_in_mesh<D, A, M>, By...> {
  static_assert(never<D, A, M>, MTF_SENTENCE(MTF_SAYS_AXIS_NOT_IN_MESH, D, A, M));
};
template <class D, class... By>
struct require<error_two_rules_for_dim<D>, By...> {
  static_assert(never<D>, MTF_SENTENCE(MTF_SAYS_TWO_RULES, D));
};
template <class D1, class D2, class... By>
struct require<error_one_name_two_extents<D1, D2>, By...> {
  static_assert(never<D1, D2>, MTF_SENTENCE(MTF_SAYS_TWO_EXTENTS, D1, D2));
};
template <class D, class... By>
struct require<error_extent_is_a_value<D>, By...> {
  static_assert(
      never<D>,
      MTF_SENTENCE("mtf: a layout that is a type takes dimensions with an extent, dim<name, extent>; the extent "
                   "of this one is known when the program runs, and so its tensors have mtf::any_layout",
                   D));
};
template <class D, class L1, class L2, class... By>
struct require<error_split_differently<D, L1, L2>, By...> {
  static_assert(never<D, L1, L2>, MTF_SENTENCE(MTF_SAYS_SPLIT_DIFFERENTLY, D, L1, L2));
};
template <class M1, class M2, class... By>
struct require<error_different_meshes<M1, M2>, By...> {
  static_assert(never<M1, M2>, MTF_SENTENCE(MTF_SAYS_DIFFERENT_MESHES, M1, M2));
};
template <class S1, class S2, class... By>
struct require<error_no_shared_dim<S1, S2>, By...> {
  static_assert(
      never<S1, S2>,
      MTF_SENTENCE(
          "mtf: a broadcast of tensors that share no dimension would be an outer product; if that is meant, say "
          "so by mtf::broadcast<dims...>(x) or einsum",
          S1, S2));
};
template <class D, class S, class... By>
struct require<error_no_such_dim<D, S>, By...> {
  static_assert(never<D, S>, MTF_SENTENCE("mtf: an operation names a dimension that its tensor does not have", D, S));
};
template <class D, class S, class... By>
struct require<error_dim_already_there<D, S>, By...> {
  static_assert(never<D, S>,
                MTF_SENTENCE("mtf: an operation would give a tensor a dimension that it already has", D, S));
};
template <class S1, class S2, class... By>
struct require<error_shapes_differ<S1, S2>, By...> {
  static_assert(never<S1, S2>, MTF_SENTENCE("mtf: two shapes must name the same dimensions here", S1, S2));
};
template <class T1, class T2, class... By>
struct require<error_element_types_differ<T1, T2>, By...> {
  static_assert(never<T1, T2>,
                MTF_SENTENCE("mtf: operands have different element types; convert one by mtf::cast<T>(x)", T1, T2));
};
template <class T, class... By>
struct require<error_element_type<T>, By...> {
  static_assert(
      never<T>,
      MTF_SENTENCE("mtf: an operation does not take tensors of this element type: convert them by mtf::cast<T>(x)", T));
};
template <class N, class... K, class... By>
struct require<error_unknown_name<N, K...>, By...> {
  static_assert(never<N, K...>, MTF_SENTENCE(MTF_SAYS_UNKNOWN_NAME, N, K...));
};
template <class E, class... By>
struct require<error_axis_without_size<E>, By...> {
  static_assert(never<E>, MTF_SENTENCE(MTF_SAYS_AXIS_WITHOUT_SIZE, E));
};
template <class G, class... By>
struct require<error_not_a_mesh<G>, By...> {
  static_assert(
      never<G>,
      MTF_SENTENCE("mtf: a mesh is expected first, such as mtf::mesh<data, model>, or a layout's, where::mesh_type",
                   G));
};
template <class... G, class... By>
struct require<error_not_a_split<G...>, By...> {
  static_assert(never<G...>,
                MTF_SENTENCE("mtf: a rule of a layout is a split, of a dimension, then the axes that split it: "
                             "mtf::split<batch, data>",
                             G...));
};
/// The first verdict that is not ok.
template <class... V>
struct first_failed {
  using type = ok;
};
template <class V, class... Rest>
struct first_failed<V, Rest...> : std::conditional<V::value, typename first_failed<Rest...>::type, V> {};
template <class... V>
using first_failed_t = typename first_failed<V...>::type;

}  // namespace detail

}  // namespace mtf
