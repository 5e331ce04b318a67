#pragma once
// From values back to types: the shape, layout and partial axes that a rule computed, and the verdict on what it found.
#include <cstddef>
#include <utility>

#include <mtf/detail/sharding/operand_rule.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/shape.hpp>

namespace mtf {

/// The mesh axes along which the ranks hold terms of a sum that is not taken yet.
template <mesh_axis... Axes>
struct partial {
  template <class Mesh>
  static constexpr axis_mask mask() {
    axis_mask m = 0;
    ((m |= Mesh::find(Axes::id) < 0 ? 0U : 1U << static_cast<unsigned>(Mesh::find(Axes::id))), ...);
    return m;
  }
};

namespace detail {

template <class... D>
constexpr sharding sharding_from(shape<D...> const*, [[maybe_unused]] auto cut_of, axis_mask partial) {
  sharding s;
  (s.push({D::id, D::extent, cut_of(D::id), D::name.data()}), ...);
  s.partial = partial;
  return s;
}

/// The sharding of a shape under a layout.
template <class Shape, class Layout, class Partial = partial<>>
inline constexpr sharding sharding_of = sharding_from(static_cast<Shape const*>(nullptr), &Layout::cut_of,
                                                      Partial::template mask<typename Layout::mesh_type>());

constexpr int nth_bit(axis_mask m, int n) {
  int axis = 0;
  for (;; ++axis)
    if ((m >> static_cast<unsigned>(axis)) & 1U)
      if (n-- == 0) return axis;
}

template <class Mesh, axis_mask M, std::size_t... I>
partial<typename Mesh::template at<static_cast<std::size_t>(nth_bit(M, static_cast<int>(I)))>...> partial_from(
    std::index_sequence<I...>);
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
    decltype(shape_from<Dims, Rule>(std::make_index_sequence<static_cast<std::size_t>(Rule::out.rank)>{}));

template <class Mesh, class Dim, class Rule, int D, std::size_t... I>
split<Dim, typename Mesh::template at<static_cast<std::size_t>(Rule::out[D].cut[static_cast<int>(I)])>...> split_from(
    std::index_sequence<I...>);

/// The dimensions of `Rule::out` that are cut, and the layout that says just that.
template <class Mesh, class Shape, class Rule>
struct written_layout {
  static constexpr int cut_count() {
    int n = 0;
    for (int d = 0; d < Rule::out.rank; ++d) n += Rule::out[d].cut.size > 0 ? 1 : 0;
    return n;
  }
  static constexpr int nth_cut(int n) {
    int d = 0;
    for (;; ++d)
      if (Rule::out[d].cut.size > 0 && n-- == 0) return d;
  }
  template <std::size_t... I>
  static auto make(std::index_sequence<I...>)
      -> layout<Mesh, decltype(split_from<Mesh, typename Shape::template at<static_cast<std::size_t>(nth_cut(I))>, Rule,
                                          nth_cut(I)>(
                          std::make_index_sequence<static_cast<std::size_t>(Rule::out[nth_cut(I)].cut.size)>{}))...>;
  using type = decltype(make(std::make_index_sequence<static_cast<std::size_t>(cut_count())>{}));
};

template <class Layout>
constexpr bool layout_agrees(sharding const& s) {
  for (int d = 0; d < s.rank; ++d)
    if (!(Layout::cut_of(s[d].id) == s[d].cut)) return false;
  return true;
}

/// The first of the operands' layouts that cuts the result as it is cut; a new one if none does.
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

/// The verdict that says what `Rule::merged.wrong` found among the operands X (anything with shape_type, layout_type).
template <class Rule, class Mesh, class... X>
auto operands_verdict() {
  constexpr finding f = Rule::merged.wrong;
  if constexpr (f.what == finding::kind::none) {
    return ok{};
  } else {
    using Xi = nth<static_cast<std::size_t>(f.i), X...>;
    using Xj = nth<static_cast<std::size_t>(f.j), X...>;
    if constexpr (f.what == finding::kind::outer_product) {
      return error_no_shared_dim<typename Xi::shape_type, typename Xj::shape_type>{};
    } else {
      using Di = typename Xi::shape_type::template at<static_cast<std::size_t>(f.di)>;
      using Dj = typename Xj::shape_type::template at<static_cast<std::size_t>(f.dj)>;
      if constexpr (f.what == finding::kind::extents)
        return error_one_name_two_extents<Di, Dj>{};
      else if constexpr (f.what == finding::kind::cuts)
        return error_cut_differently<Di, typename Xi::layout_type, typename Xj::layout_type>{};
      else
        return error_two_dims_on_one_axis<Di, Dj, typename Mesh::template at<static_cast<std::size_t>(f.axis)>>{};
    }
  }
}

template <class Shape, class Layout, class Partial>
struct tensor_verdict {
  static constexpr sharding spec = sharding_of<Shape, Layout, Partial>;
  static constexpr mesh_shape mesh = Layout::mesh_type::shape();
  /// The first dimension that its axes do not divide: one that shares only its name with the layout's.
  static constexpr int indivisible() {
    for (int d = 0; d < spec.rank; ++d)
      if (spec[d].extent % mesh.size(spec[d].cut.mask()) != 0) return d;
    return spec.rank;
  }
  static auto find() {
    constexpr finding f = check_sharding(spec);
    constexpr int i = indivisible();
    if constexpr (!Shape::checked::value || !Layout::checked::value) {
      return ok{};  // refused before; one error is enough
    } else if constexpr (f.what == finding::kind::none && i < spec.rank) {
      return not_divisible<typename Shape::template at<static_cast<std::size_t>(i)>, mesh.size(spec[i].cut.mask())>{};
    } else if constexpr (f.what == finding::kind::none) {
      return ok{};
    } else {
      using Di = typename Shape::template at<static_cast<std::size_t>(f.di)>;
      using Dj = typename Shape::template at<static_cast<std::size_t>(f.dj)>;
      using A = typename Layout::mesh_type::template at<static_cast<std::size_t>(f.axis)>;
      if constexpr (f.what == finding::kind::two_dims_on_axis)
        return error_two_dims_on_one_axis<Di, Dj, A>{};
      else
        return error_dim_cut_where_partial<Di, A>{};
    }
  }
  using type = decltype(find());
};

}  // namespace detail

/// The verdict on a tensor of this shape under this layout: the layout must be injective on it.
template <class Shape, class Layout, class Partial = partial<>>
using tensor_verdict_t = typename detail::tensor_verdict<Shape, Layout, Partial>::type;

/// A layout under which tensors of this shape can exist.
template <class Layout, class Shape>
concept valid_layout_for = tensor_verdict_t<Shape, Layout>::value;

}  // namespace mtf
