#pragma once
// From codes to calls. Most cases run by value: one call of each operation takes any layout. A sample of them is typed
// as well, which is the road that users take, and what costs the compiler time. Only the operation itself is typed;
// everything around it sees a case through `typed_case`, a few pointers.
//
// A refused call must compile, so that the sweep can see that it is refused: with `never` true the library's sentences
// are silent, and the call returns `mtf::refused`, as it does after the sentence.
#include <mtf/core/verdict.hpp>

namespace mtf::detail {
template <class T, class... More>
inline constexpr bool never<T, More...> = true;
}

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../support/number_of.hpp"
#include "../support/to_double.hpp"
#include "places.hpp"

namespace sweep {

using backend = mtf::kokkos_backend<Kokkos::Serial>;

/// The type of all real numbers here.
#ifndef MTF_SWEEP_ELEMENT
#define MTF_SWEEP_ELEMENT double
#endif
using element = MTF_SWEEP_ELEMENT;

using tests::from_double, tests::to_double;

#ifdef MTF_SWEEP_VALUES
struct a : mtf::dim<"a"> {};
struct b : mtf::dim<"b"> {};
struct c : mtf::dim<"c"> {};
struct d : mtf::dim<"d"> {};
struct e : mtf::dim<"e"> {};
struct f : mtf::dim<"f"> {};
struct g : mtf::dim<"g"> {};
struct h : mtf::dim<"h"> {};
#else
struct a : mtf::dim<"a", extent_of[0]> {};
struct b : mtf::dim<"b", extent_of[1]> {};
struct c : mtf::dim<"c", extent_of[2]> {};
struct d : mtf::dim<"d", extent_of[3]> {};
struct e : mtf::dim<"e", extent_of[4]> {};
struct f : mtf::dim<"f", extent_of[5]> {};
struct g : mtf::dim<"g", extent_of[6]> {};
struct h : mtf::dim<"h", extent_of[7]> {};
#endif
struct p1 : mtf::axis<"p", 1> {};
struct p2 : mtf::axis<"p", 2> {};
struct p3 : mtf::axis<"p", 3> {};
struct p4 : mtf::axis<"p", 4> {};
struct q2 : mtf::axis<"q", 2> {};
struct q3 : mtf::axis<"q", 3> {};
struct r2 : mtf::axis<"r", 2> {};
struct n2 : mtf::axis<"q", 2, mtf::link::node> {};
using dims = mtf::detail::list<a, b, c, d, e, f, g, h>;
#ifdef MTF_SWEEP_EXTENTS
using meshes = mtf::detail::list<mtf::mesh<>, mtf::mesh<p1, q2>, mtf::mesh<p2, q2>>;
#else
using meshes = mtf::detail::list<mtf::mesh<>, mtf::mesh<p2>, mtf::mesh<p3>, mtf::mesh<p4>, mtf::mesh<p2, q2>,
                                 mtf::mesh<p2, q3>, mtf::mesh<p2, q2, r2>, mtf::mesh<p2, n2>>;
#endif

template <class D>
inline constexpr int number_of_dim = tests::number_of<D, dims>;

template <class Mesh, class D, unsigned Six>
auto rule_of() {
  if constexpr (Six == 0)
    return mtf::detail::list<>{};
  else if constexpr (depth(Six) == 1)
    return mtf::detail::list<mtf::split<D, typename Mesh::template at<axis_at(Six, 0)>>>{};
  else if constexpr (depth(Six) == 2)
    return mtf::detail::list<
        mtf::split<D, typename Mesh::template at<axis_at(Six, 0)>, typename Mesh::template at<axis_at(Six, 1)>>>{};
  else
    return mtf::detail::list<
        mtf::split<D, typename Mesh::template at<axis_at(Six, 0)>, typename Mesh::template at<axis_at(Six, 1)>,
                   typename Mesh::template at<axis_at(Six, 2)>>>{};
}
template <class Mesh, class... Split>
auto layout_with(mtf::detail::list<Split...>) -> mtf::layout<Mesh, Split...>;
template <class Mesh, splits L>
struct layout_from {
  using type = decltype(layout_with<Mesh>(
      mtf::detail::concat_t<decltype(rule_of<Mesh, a, split_of(L, 0)>()), decltype(rule_of<Mesh, b, split_of(L, 1)>()),
                            decltype(rule_of<Mesh, c, split_of(L, 2)>()), decltype(rule_of<Mesh, d, split_of(L, 3)>()),
                            decltype(rule_of<Mesh, e, split_of(L, 4)>()), decltype(rule_of<Mesh, f, split_of(L, 5)>()),
                            decltype(rule_of<Mesh, g, split_of(L, 6)>()),
                            decltype(rule_of<Mesh, h, split_of(L, 7)>())>{}));
};
template <class Mesh, splits L>
using layout_from_t = typename layout_from<Mesh, L>::type;

/// An operand: elements of type T over some dimensions.
template <class T, class... D>
struct arg {
  using element = T;
  using shape = mtf::shape<D...>;
  static constexpr set dims = (0U | ... | bit(number_of_dim<D>));
  template <class Layout, class Partial>
  using tensor = mtf::tensor<T, shape, Layout, Partial, backend>;
};
template <class... D>
using real = arg<element, D...>;
template <class... D>
using whole = arg<std::int32_t, D...>;

/// A tensor without its type: what crosses from the typed call to everything else.
struct erased {
  mtf::backend::buffer<backend> memory;
  mtf::backend::ref<mtf::detail::gradient_slot<backend, element>> slot{};
  mtf::backend::ref<mtf::detail::gradient_slot<backend, float>> float_slot{};  // of sums of bfloat16
  mtf::sharding const* spec = nullptr;
  mtf::backend::arrangement const* where = nullptr;  // by value
};
template <class T>
mtf::detail::value<backend, T> restored(erased const& x) {
  if constexpr (std::is_same_v<T, element>)
    return mtf::detail::value<backend, T>(x.memory, x.slot);
  else
    return mtf::detail::value<backend, T>(x.memory);
}
template <class X>
erased without_type(X const& x) {
  erased e{.memory = x.value().memory, .spec = &mtf::detail::place_of(x).spec()};
  if constexpr (std::is_same_v<typename X::element_type, element>)
    e.slot = x.value().slot;
  else if constexpr (std::is_same_v<typename X::element_type, float>)
    e.float_slot = x.value().slot;
  return e;
}

/// One case: an operation on a mesh, its operands laid out and partial in one way.
struct typed_case {
  int mesh = 0;
  case_code code;
  bool no_tensors = true;  // an operand cannot exist so: the operation is not asked
  bool refused = true;     // by the operation
  std::array<mtf::sharding const*, 6> in{};
  mtf::element element = mtf::element::f64;  // of the result
  void (*call)(backend&, erased const*, erased&) = nullptr;
  /// By value: says of each operand how it lies; what is wrong is a user_error, then or in the call.
  void (*arrange)(backend&, typed_case const&, erased*) = nullptr;
};

template <class Op, int Mesh, splits Layout, splits Other, std::uint32_t Partial, int OtherOperand, class Arguments,
          class Index>
struct typed;
template <class Op, int Mesh, splits Layout, splits Other, std::uint32_t Partial, int OtherOperand, class... Arg,
          std::size_t... I>
struct typed<Op, Mesh, Layout, Other, Partial, OtherOperand, mtf::detail::list<Arg...>, std::index_sequence<I...>> {
  using mesh = typename meshes::template at<static_cast<std::size_t>(Mesh)>;
  using layout = layout_from_t<mesh, Layout>;
  using other_layout = layout_from_t<mesh, Other>;
  template <std::size_t K>
  using layout_of = layout_from_t<mesh, static_cast<int>(K) == OtherOperand ? Other : Layout>;
  template <std::size_t K>
  using partial_of = mtf::detail::partial_of<mesh, (Partial >> (3 * K)) & 7U>;
  template <class A, std::size_t K>
  using operand = typename A::template tensor<layout_of<K>, partial_of<K>>;

  static constexpr bool target() {
    if constexpr (requires { Op::takes_layout; })
      return other_layout::checked::value;
    else
      return true;
  }
  static constexpr bool tensors = layout::checked::value && target() &&
                                  ((layout_of<I>::checked::value &&
                                    mtf::tensor_verdict_t<typename Arg::shape, layout_of<I>, partial_of<I>>::value) &&
                                   ...);

  static void call(backend& on, [[maybe_unused]] erased const* x, erased& out) {
    out = without_type(Op::template call<typed>(on, operand<Arg, I>(restored<typename Arg::element>(x[I]))...));
  }
  static constexpr typed_case make() {
    typed_case t{.mesh = Mesh, .code = {Layout, Other, Partial, OtherOperand}};
    if constexpr (tensors) {
      t.no_tensors = false;
      using result =
          decltype(Op::template call<typed>(std::declval<backend&>(), std::declval<operand<Arg, I> const&>()...));
      if constexpr (!std::is_same_v<result, mtf::refused>) {
        t.refused = false;
        ((t.in[I] = &operand<Arg, I>::spec), ...);
        t.element = mtf::element_of<typename result::element_type>;
        t.call = &call;
      }
    }
    return t;
  }
  static constexpr typed_case value = make();
};

/// An operation on tensors of any layout.
template <class Op, class Arguments, class Index>
struct by_value;
template <class Op, class... Arg, std::size_t... I>
struct by_value<Op, mtf::detail::list<Arg...>, std::index_sequence<I...>> {
  using layout = mtf::any_layout<0>;
  using other_layout = mtf::any_layout<1>;
  template <class A>
  using operand = typename A::template tensor<layout, mtf::partial<>>;
  using result =
      decltype(Op::template call<by_value>(std::declval<backend&>(), std::declval<operand<Arg> const&>()...));

  static void call(backend& on, [[maybe_unused]] erased const* x, erased& out) {
    out = without_type(
        Op::template call<by_value>(on, operand<Arg>(restored<typename Arg::element>(x[I]), *x[I].where)...));
  }
  template <class A>
  static void arrange_one(backend& on, typed_case const& t, std::size_t k, erased& x) {
    auto const& under = on.layouts()[static_cast<int>(k) == t.code.other_operand ? 1 : 0];
    auto const split_of = [&](std::uint64_t dim, std::uint64_t kin) { return under.split_of(dim, kin); };
    auto const spec = mtf::detail::sharding_from(static_cast<typename A::shape const*>(nullptr), split_of,
                                                 t.code.partial_of(static_cast<int>(k)),
                                                 mtf::detail::extents_here{on.layouts().extents()});
    x.where = &on.layouts().arranged(mtf::detail::checked_sharding(spec, under), under);
    x.spec = &x.where->spec;
  }
  static void arrange(backend& on, typed_case const& t, [[maybe_unused]] erased* x) {
    add_layouts(on, t);
    (arrange_one<Arg>(on, t, I, x[I]), ...);
  }
  static typed_case prototype() {
    typed_case t;
    if constexpr (!std::is_same_v<result, mtf::refused>) {
      t.no_tensors = t.refused = false;
      t.element = mtf::element_of<typename result::element_type>;
      t.call = &call;
      t.arrange = &arrange;
    }
    return t;
  }

 private:
  static mtf::layout_value layout_from(mesh_code const& m, splits l) {
    mtf::layout_value made;
    made.mesh.shape = {.ndim = m.axes, .node_axes = m.inside_node};
    for (std::size_t x = 0; x < static_cast<std::size_t>(m.axes); ++x) {
      made.mesh.shape.extent[x] = m.size[x];
      made.mesh.names[x] = mtf::short_name(std::string_view("pqr").substr(x, 1));
    }
    for (int k = 0; k < dim_count; ++k) {
      mtf::axis_list axes;
      for (int i = 0; i < depth(split_of(l, k)); ++i) axes.push(axis_at(split_of(l, k), i));
      if (axes.size > 0) made.split(name_of_dim[static_cast<std::size_t>(k)], axes);
    }
    return made;
  }
  static void add_layouts(backend& on, typed_case const& t) {
    auto const& m = mesh_of[static_cast<std::size_t>(t.mesh)];
    mtf::extents_value given;
    for (std::size_t k = 0; k < extent_of.size(); ++k)
      given.give(name_of_dim[k], extent_of[k], stored_of[k] == extent_of[k] ? 1 : stored_of[k]);
    on.layouts().give(given);
    on.layouts().add(layout_from(m, t.code.layout));
    on.layouts().add(layout_from(m, t.code.other));
  }
};

template <class Arguments>
struct signature_from;
template <class... Arg>
struct signature_from<mtf::detail::list<Arg...>> {
  static constexpr signature make() { return {.operands = sizeof...(Arg), .dims = {Arg::dims...}}; }
};
template <class Op>
constexpr signature signature_of() {
  signature s = signature_from<typename Op::operands>::make();
  if constexpr (requires { Op::takes_layout; }) s.takes_layout = true;
  if constexpr (requires { Op::more_dims; }) s.more_dims = Op::more_dims;
  if constexpr (requires { Op::apart; }) s.apart = Op::apart;
  return s;
}

template <class Op, int Mesh, class Chosen, std::size_t... I>
constexpr auto table_of(std::index_sequence<I...>) {
  return std::array<typed_case, sizeof...(I)>{
      typed<Op, Mesh, Chosen::cases[I].layout, Chosen::cases[I].other, Chosen::cases[I].partial,
            Chosen::cases[I].other_operand, typename Op::operands,
            std::make_index_sequence<Op::operands::size>>::value...};
}
template <class Op, int Mesh, class Chosen>
inline constexpr auto table = table_of<Op, Mesh, Chosen>(std::make_index_sequence<Chosen::size>{});

}  // namespace sweep
