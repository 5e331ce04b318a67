#pragma once
// What the compiler refuses: one verdict type for each rule. A rule computes a verdict, `ok` or an error that carries
// the user's own names; concepts and tests ask it, and `detail::require` turns it into one compiler error with a
// sentence. docs/errors.md explains each with its cause and its remedy.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/core/refused.hpp>  // IWYU pragma: export
#include <mtf/detail/core/pack.hpp>
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
/// A plan has more than max_collectives collectives.
template <std::size_t Planned, std::size_t Most>
struct error_too_many_collectives : detail::failed {};
/// best_layout would have to look at more layouts than it does.
template <std::size_t Most>
struct error_too_many_layouts : detail::failed {};
/// A program needs more memory than the machine has, under every layout on this mesh.
template <class Mesh>
struct error_no_layout_fits : detail::failed {};
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
/// A layout splits a dimension over an axis that its mesh lacks, or has in another size.
template <class Dim, class Axis, class Mesh>
struct error_axis_not_in_mesh : detail::failed {};
/// An optimizer's state is split over an axis that the parameters' mesh lacks.
template <class Axis, class Mesh>
struct error_no_such_axis : detail::failed {};
/// A layout has two splits of one dimension.
template <class Dim>
struct error_two_rules_for_dim : detail::failed {};
/// One operation meets two dimensions of one name that differ in extent.
template <class Dim1, class Dim2>
struct error_one_name_two_extents : detail::failed {};
/// The output of einsum names a dimension that no input has.
template <class Dim, class... Shapes>
struct error_output_dim_in_no_input : detail::failed {};
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
/// A dimension is renamed to one of another extent.
template <class Dim1, class Dim2>
struct error_extents_differ : detail::failed {};
/// Two shapes must name the same dimensions, and do not.
template <class Shape1, class Shape2>
struct error_shapes_differ : detail::failed {};
/// Two operands differ in element type.
template <class Element1, class Element2>
struct error_element_types_differ : detail::failed {};
/// An operation does not take tensors of this element type.
template <class Element>
struct error_element_type : detail::failed {};
/// Element types that a model cannot have together.
template <class Parameter, class Compute, class Completed, class State>
struct error_precision : detail::failed {};
/// A tensor of integers or bools meets a floating-point number.
template <class Element, class Number>
struct error_fractional_number : detail::failed {};
/// A textual layout names a dimension or an axis that is not in the list.
template <class Name, class... Known>
struct error_unknown_name : detail::failed {};
/// A textual mesh gives an axis no number of ranks.
template <class Entry>
struct error_axis_without_size : detail::failed {};
/// The function given to value_and_grad does not return a scalar tensor.
template <class Loss>
struct error_loss_is_not_scalar : detail::failed {};
/// A layout splits a dimension that no tensor of the planned program has.
template <class Dim, class Layout>
struct error_unused_rule : detail::failed {};
/// A function inside without_communication communicates; this is its first collective.
template <auto Collective, class Over, auto Pass>
struct error_communicates : detail::failed {};
/// A plan is over its budget in this quantity.
template <auto Quantity, std::uint64_t Planned, std::uint64_t Allowed>
struct error_over_budget : detail::failed {};
/// What is given first to a layout, or instead of a mesh, is none.
template <class Given>
struct error_not_a_mesh : detail::failed {};
/// A rule of a layout is not a split of a dimension over axes.
template <class... Given>
struct error_not_a_split : detail::failed {};
/// from_global is given something other than elements of the type of the tensor.
template <class Given, class Element>
struct error_not_elements : detail::failed {};
/// A function cannot be called with the arguments that it would get.
template <class Function, class... Arguments>
struct error_not_callable : detail::failed {};
/// A function given to map calls one of plain numbers, which has no derivative.
template <class Number>
struct error_no_derivative : detail::failed {};
/// Gradients are asked in something other than a structure of tensors.
template <class Given>
struct error_not_parameters : detail::failed {};
/// A structure of tensors has no MTF_FIELDS.
template <template <template <class...> class> class Structure>
struct error_without_fields : detail::failed {};
/// The MTF_FIELDS of a structure do not name each of its tensors once.
template <template <template <class...> class> class Structure, std::size_t Tensors, std::size_t Listed>
struct error_fields : detail::failed {};
/// plan_of is given an argument that stands for none of the function's.
template <class Given>
struct error_not_an_input : detail::failed {};
/// A function that runs in a constant expression captures something.
template <class Function>
struct error_captures : detail::failed {};

/// plan_of is given a layout that is a value.
template <class Layout>
struct error_layout_is_a_value : detail::failed {};

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
template <std::size_t Planned, std::size_t Most, class... By>
struct require<error_too_many_collectives<Planned, Most>, By...> {
  static_assert(
      Planned <= Most,
      "mtf: a plan has more collectives than mtf::max_collectives: make equal layers a std::array and apply them "
      "by mtf::scan, which plans them once; error_too_many_collectives<planned, most>");
};
template <std::size_t Most, class... By>
struct require<error_too_many_layouts<Most>, By...> {
  static_assert(Most == 0,
                "mtf: best_layout would have to look at too many layouts: give it a layout, whose rules are then part "
                "of each, or search when the program runs, by mtf::search_layouts; error_too_many_layouts<most>");
};
template <class M, class... By>
struct require<error_no_layout_fits<M>, By...> {
  static_assert(never<M>, MTF_SENTENCE("mtf: under every layout on this mesh the program needs more memory than a rank "
                                       "of the machine has",
                                       M));
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
template <class A, class M, class... By>
struct require<error_no_such_axis<A, M>, By...> {
  static_assert(never<A, M>, MTF_SENTENCE(MTF_SAYS_NO_SUCH_AXIS, A, M));
};
template <class D, class... By>
struct require<error_two_rules_for_dim<D>, By...> {
  static_assert(never<D>, MTF_SENTENCE(MTF_SAYS_TWO_RULES, D));
};
template <class D1, class D2, class... By>
struct require<error_one_name_two_extents<D1, D2>, By...> {
  static_assert(never<D1, D2>, MTF_SENTENCE("mtf: one dimension name has two extents in one operation", D1, D2));
};
template <class D, class... S, class... By>
struct require<error_output_dim_in_no_input<D, S...>, By...> {
  static_assert(never<D, S...>, MTF_SENTENCE("mtf: the output of einsum names a dimension that no input has", D, S...));
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
template <class D1, class D2, class... By>
struct require<error_extents_differ<D1, D2>, By...> {
  static_assert(never<D1, D2>, MTF_SENTENCE("mtf: a dimension can only be renamed to one of the same extent", D1, D2));
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
template <class P, class C, class D, class S, class... By>
struct require<error_precision<P, C, D, S>, By...> {
  static_assert(
      never<P, C, D, S>,
      MTF_SENTENCE(
          "mtf: a precision computes in the parameters' type, or in bfloat16 where that is float, "
          "completes gradients in one of the two, and keeps an optimizer's state in what parameters "
          "are computed in or, where that is float, in bfloat16; error_precision<parameter, compute, completed, state>",
          P, C, D, S));
};
template <class T, class N, class... By>
struct require<error_fractional_number<T, N>, By...> {
  static_assert(
      never<T, N>,
      MTF_SENTENCE(
          "mtf: a tensor of integers or bools meets a floating-point number, which would be rounded; convert the "
          "tensor by mtf::cast<float>(x), or write an integer",
          T, N));
};
template <class N, class... K, class... By>
struct require<error_unknown_name<N, K...>, By...> {
  static_assert(never<N, K...>, MTF_SENTENCE(MTF_SAYS_UNKNOWN_NAME, N, K...));
};
template <class E, class... By>
struct require<error_axis_without_size<E>, By...> {
  static_assert(never<E>, MTF_SENTENCE(MTF_SAYS_AXIS_WITHOUT_SIZE, E));
};
template <class L, class... By>
struct require<error_loss_is_not_scalar<L>, By...> {
  static_assert(never<L>,
                MTF_SENTENCE("mtf: value_and_grad needs a function that returns a scalar tensor: take a mean or a sum",
                             L));
};

template <class D, class L, class... By>
struct require<error_unused_rule<D, L>, By...> {
  static_assert(never<D, L>, MTF_SENTENCE(MTF_SAYS_UNUSED_RULE, D, L));
};

template <auto C, class O, auto P, class... By>
struct require<error_communicates<C, O, P>, By...> {
  static_assert(
      never<O>,
      MTF_SENTENCE("mtf: a function inside without_communication communicates; error_communicates<collective, axes, "
                   "pass> is the first that it would do",
                   O));
};
template <auto Q, std::uint64_t P, std::uint64_t A, class... By>
struct require<error_over_budget<Q, P, A>, By...> {
  static_assert(P <= A, "mtf: a plan is over its budget; error_over_budget<quantity, planned, allowed>");
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
template <class G, class E, class... By>
struct require<error_not_elements<G, E>, By...> {
  static_assert(
      never<G, E>,
      MTF_SENTENCE("mtf: from_global takes the elements as they are in the tensor, as a std::vector, std::array or "
                   "std::span of its element type; error_not_elements<given, element type>",
                   G, E));
};
template <class F, class... A, class... By>
struct require<error_not_callable<F, A...>, By...> {
  static_assert(never<F, A...>, MTF_SENTENCE("mtf: a function cannot be called with the arguments that it would get; "
                                             "error_not_callable<function, arguments...>",
                                             F, A...));
};
template <class N, class... By>
struct require<error_no_derivative<N>, By...> {
  static_assert(
      never<N>,
      MTF_SENTENCE(
          "mtf: a function given to map calls one of plain numbers, such as std::exp, so it has no derivative: call "
          "mtf::math::exp; or, where none is wanted, give its argument a type, [](float x)",
          N));
};
template <class G, class... By>
struct require<error_not_parameters<G>, By...> {
  static_assert(
      never<G>,
      MTF_SENTENCE("mtf: gradients are taken in the tensors of a structure, the function's first argument: a template "
                   "<template <class...> class Tensor> struct with MTF_FIELDS",
                   G));
};
template <template <template <class...> class> class S, class... By>
struct require<error_without_fields<S>, By...> {
  static_assert(never<S<list>>, "mtf: a structure of tensors does not name its fields: write MTF_FIELDS(w, b) in it");
};
template <template <template <class...> class> class S, std::size_t T, std::size_t L, class... By>
struct require<error_fields<S, T, L>, By...> {
  static_assert(
      never<S<list>>,
      "mtf: the MTF_FIELDS of a structure do not name each of its tensors once; error_fields<structure, tensors "
      "in it, tensors named>");
};
template <class G, class... By>
struct require<error_not_an_input<G>, By...> {
  static_assert(never<G>, MTF_SENTENCE("mtf: plan_of takes, after the function, what stands for its arguments: "
                                       "mtf::parameters<structure>{} and mtf::input<element type, dimensions...>{}",
                                       G));
};
template <class F, class... By>
struct require<error_captures<F>, By...> {
  static_assert(
      never<F>,
      MTF_SENTENCE("mtf: a function that runs in a constant expression must capture nothing: pass what it needs as "
                   "arguments",
                   F));
};

template <class L, class... By>
struct require<error_layout_is_a_value<L>, By...> {
  static_assert(never<L>,
                MTF_SENTENCE("mtf: plan_of plans under a layout that is a type; under one that is a value plan by "
                             "mtf::plan_under(f, layout, inputs...)",
                             L));
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
