#pragma once
// From values back to types: the shape, layout and partial axes that a sharding rule computed. A `Rule` here is a type
// whose constant `out` is the sharding of a result.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/core/layout.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// The position of the n-th bit that is set.
constexpr int nth_bit(axis_mask m, int n) {
  int axis = 0;
  for (;; ++axis)
    if ((m >> static_cast<unsigned>(axis)) & 1U)
      if (n-- == 0) return axis;
}

template <class Mesh, axis_mask M, std::size_t... I>
partial<typename Mesh::template at<static_cast<std::size_t>(nth_bit(M, static_cast<int>(I)))>...> partial_from(
    std::index_sequence<I...>);
/// The axes of a mask as a type: partial<axes...>.
template <class Mesh, axis_mask M>
using partial_of =
    decltype(partial_from<Mesh, M>(std::make_index_sequence<static_cast<std::size_t>(std::popcount(M))>{}));

template <class... D>
constexpr std::size_t position_of(list<D...> const*, std::uint64_t id) {
  std::size_t at = 0, i = 0;
  bool found = false;
  ((at = !found && D::id == id ? i : at, found = found || D::id == id, ++i), ...);
  return at;
}

template <class Dims, class Rule, std::size_t... I>
shape<typename Dims::template at<position_of(static_cast<Dims const*>(nullptr), Rule::out[static_cast<int>(I)].id)>...>
    shape_from(std::index_sequence<I...>);
/// The shape of `Rule::out`, a sharding, with dimensions taken from the list `Dims`.
template <class Dims, class Rule>
using shape_of_rule =
    decltype(shape_from<Dims, Rule>(std::make_index_sequence<static_cast<std::size_t>(Rule::out.ndim)>{}));

template <class Mesh, class Dim, class Rule, int D, std::size_t... I>
auto split_from(std::index_sequence<I...>) -> std::conditional_t<
    (shared_axes(Rule::out) & Rule::out[D].split.mask()) == 0,
    split<Dim, typename Mesh::template at<static_cast<std::size_t>(Rule::out[D].split[static_cast<int>(I)])>...>,
    shared_split<Dim,
                 typename Mesh::template at<static_cast<std::size_t>(Rule::out[D].split[static_cast<int>(I)])>...>>;

/// A new layout with the splits of `Rule::out` and no others.
template <class Mesh, class Shape, class Rule>
struct written_layout {
  /// An alias without axes would follow its kin.
  static constexpr bool is_written(int d) { return Rule::out[d].split.size > 0 || Rule::out[d].kin != 0; }
  static constexpr int split_count() {
    int n = 0;
    for (int d = 0; d < Rule::out.ndim; ++d) n += is_written(d) ? 1 : 0;
    return n;
  }
  static constexpr int nth_split(int n) {
    int d = 0;
    for (;; ++d)
      if (is_written(d) && n-- == 0) return d;
  }
  template <std::size_t... I>
  static auto make(std::index_sequence<I...>)
      -> layout<Mesh, decltype(split_from<Mesh, typename Shape::template at<static_cast<std::size_t>(nth_split(I))>,
                                          Rule, nth_split(I)>(std::make_index_sequence<static_cast<std::size_t>(
                                                                  Rule::out[nth_split(I)].split.size)>{}))...>;
  using type = decltype(make(std::make_index_sequence<static_cast<std::size_t>(split_count())>{}));
};

/// Does the layout split each dimension of `s` as `s` does?
template <class Layout>
constexpr bool layout_agrees(sharding const& s) {
  for (int d = 0; d < s.ndim; ++d)
    if (!(Layout::split_of(s[d].id, s[d].kin) == s[d].split)) return false;
  return true;
}

/// The first of the operands' layouts that agrees with `Rule::out`; a new one if none does.
template <class Mesh, class Shape, class Rule, class... Layouts>
struct result_layout : written_layout<Mesh, Shape, Rule> {};
template <class Mesh, class Shape, class Rule, class First, class... Rest>
struct result_layout<Mesh, Shape, Rule, First, Rest...> {
  static auto pick() {
    if constexpr (layout_agrees<First>(Rule::out))
      return static_cast<First*>(nullptr);
    else
      return static_cast<typename result_layout<Mesh, Shape, Rule, Rest...>::type*>(nullptr);
  }
  using type = std::remove_pointer_t<decltype(pick())>;
};

/// The dimensions of all operands, with repetitions: a result's dimensions are looked up in this list.
template <class... X>
using dims_of = concat_t<typename X::shape_type...>;

/// The type of an operation's result: `Rule::out` in types, from the operands' descriptions.
template <class T, class Rule, class Dims, class... X>
struct result_description {
  using mesh = typename first_t<X...>::mesh_type;
  using shape = shape_of_rule<Dims, Rule>;
  using layout = typename result_layout<mesh, shape, Rule, typename X::layout_type...>::type;
  using type = described<T, shape, layout, partial_of<mesh, Rule::out.partial>>;
};

/// Whether any of several shapes has a dimension.
template <class... S>
struct any_of_shapes {
  static constexpr bool has_id(std::uint64_t id) { return ((S::find(id) >= 0) || ...); }
};

}  // namespace mtf::detail
