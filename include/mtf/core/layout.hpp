#pragma once
// Which dimension is split over which axes of the machine.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/core/dim.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>

namespace mtf {

namespace detail {

template <class D, class... A>
struct split_verdict {
  using type = typename mesh_verdict<A...>::type;
};

}  // namespace detail

/// One rule of a layout: `Dim` is split over these axes, the first outermost; without axes it is whole, though it may
/// be the alias of a dimension that is split. Refused: an axis twice, and, by the
/// layout, anything but a dimension and then axes.
template <class Dim, class... Axes>
struct split {};
template <dimension Dim, mesh_axis... Axes>
struct split<Dim, Axes...> {
  using checked = checked_t<typename detail::split_verdict<Dim, Axes...>::type>;
  using dim_type = Dim;
  static constexpr std::size_t count = sizeof...(Axes);
  static constexpr int processors = (1 * ... * Axes::size);

  /// The rule's axes as positions in a mesh; an axis that the mesh lacks is left out.
  template <class Mesh>
  static constexpr axis_list axes() {
    axis_list l;
    ((Mesh::find(Axes::id) >= 0 ? l.push(Mesh::find(Axes::id)) : void()), ...);
    return l;
  }
  /// The position of the first axis that the mesh lacks or has in another size; the number of axes if it has all.
  template <class Mesh>
  static constexpr std::size_t first_missing() {
    std::size_t at = sizeof...(Axes), i = 0;
    ((at = !Mesh::has(Axes::id, Axes::size) && at == sizeof...(Axes) ? i : at, ++i), ...);
    return at;
  }
  template <std::size_t I>
  using axis_at = detail::nth<I, Axes...>;
};

namespace detail {

/// A split by an axis that splits several dimensions of one tensor, which only an optimizer's state may have.
template <class Dim, class... Axes>
struct shared_split : split<Dim, Axes...> {
  static constexpr int processors = 1;  // they need not divide the dimension
};
template <class Layout>
inline constexpr bool shares_axes = false;

struct rule {
  std::uint64_t dim = 0;
  axis_list axes;
};

/// The verdict on a dimension that this many processors do not divide.
template <class D, int Processors>
using not_divisible =
    error_not_divisible<D, D::stored, Processors,
                        nearest<D::stored / Processors * Processors, D::stored / Processors * Processors + Processors>>;

template <class S>
concept rule_type = requires { typename S::dim_type; };
template <class S>
struct not_a_rule {
  using type = error_not_a_split<S>;
};
template <class... Given>
struct not_a_rule<split<Given...>> {
  using type = error_not_a_split<Given...>;
};

template <class Mesh, class... Split>
struct layout_verdict {
  template <class First, class... Rest>
  static auto no_rule() {
    if constexpr (rule_type<First>)
      return no_rule<Rest...>();
    else
      return typename not_a_rule<First>::type{};
  }
  template <std::size_t I = 0>
  static auto missing() {
    if constexpr (I == sizeof...(Split)) {
      return ok{};
    } else {
      using S = nth<I, Split...>;
      constexpr auto at = S::template first_missing<Mesh>();
      if constexpr (at < S::count)
        return error_axis_not_in_mesh<typename S::dim_type, typename S::template axis_at<at>, Mesh>{};
      else
        return missing<I + 1>();
    }
  }
  static constexpr std::size_t twice() {
    return first_repeated(std::array<std::uint64_t, sizeof...(Split)>{Split::dim_type::id...});
  }
  template <class S>
  static constexpr bool divides() {
    if constexpr (has_extent<typename S::dim_type>)
      return S::dim_type::stored % S::processors == 0;
    else
      return false;
  }
  /// The first rule whose processors do not divide its dimension, or of which nobody knows yet.
  static constexpr std::size_t indivisible() {
    std::size_t at = sizeof...(Split), i = 0;
    ((at = !divides<Split>() && at == sizeof...(Split) ? i : at, ++i), ...);
    return at;
  }
  static auto find() {
    if constexpr (!is_mesh<Mesh>)
      return error_not_a_mesh<Mesh>{};
    else if constexpr (!(rule_type<Split> && ...))
      return no_rule<Split...>();
    else
      return find_in_mesh();
  }
  static auto find_in_mesh() {
    using missing_type = decltype(missing());
    if constexpr (!missing_type::value) {
      return missing_type{};
    } else if constexpr (constexpr auto t = twice(); t < sizeof...(Split)) {
      return error_two_rules_for_dim<typename nth<t, Split...>::dim_type>{};
    } else if constexpr (constexpr auto i = indivisible(); i < sizeof...(Split)) {
      using S = nth<i, Split...>;
      if constexpr (has_extent<typename S::dim_type>)
        return not_divisible<typename S::dim_type, S::processors>{};
      else
        return error_extent_is_a_value<typename S::dim_type>{};
    } else {
      return ok{};
    }
  }
  using type = decltype(find());
};

}  // namespace detail

/// The verdict on a layout by itself; whether it fits a tensor is `tensor_verdict_t`.
template <class Mesh, class... Splits>
using layout_verdict_t = typename detail::layout_verdict<Mesh, Splits...>::type;

/// A mesh and a partial map from dimensions to its axes. Dimensions without a rule are whole on every rank; rules for
/// dimensions that a tensor lacks do not concern it. Refused: an axis that the mesh lacks, two rules for one dimension,
/// an extent that the axes do not divide, anything but a mesh and then splits.
template <class Mesh, class... Splits>
struct layout {  // of what is neither: the layout of one rank, after the error
  using checked = checked_t<layout_verdict_t<Mesh, Splits...>>;
  /// The mesh over which dimensions are split.
  using mesh_type = mesh<>;
  static constexpr std::array<detail::rule, 0> rules{};
  /// The axes that split a dimension.
  static constexpr axis_list split_of(std::uint64_t, std::uint64_t = 0) { return {}; }
};
template <class Mesh, class... Splits>
  requires(detail::is_mesh<Mesh> && (detail::rule_type<Splits> && ...))
struct layout<Mesh, Splits...> {
  using checked = checked_t<layout_verdict_t<Mesh, Splits...>>;
  using mesh_type = Mesh;
  static constexpr std::array<detail::rule, sizeof...(Splits)> rules{
      detail::rule{Splits::dim_type::id, Splits::template axes<Mesh>()}...};

  /// The axes that split a dimension, by its name's id; none if it is whole. `kin`: that of which it is an alias.
  static constexpr axis_list split_of(std::uint64_t dim, std::uint64_t kin = 0) {
    for (detail::rule const& r : rules)
      if (r.dim == dim) return r.axes;
    return kin != 0 ? split_of(kin) : axis_list{};
  }
};

namespace detail {

template <class S>
inline constexpr bool is_shared_split = false;
template <class Dim, class... Axes>
inline constexpr bool is_shared_split<shared_split<Dim, Axes...>> = true;
template <class Mesh, class... Splits>
inline constexpr bool shares_axes<layout<Mesh, Splits...>> = (is_shared_split<Splits> || ...);

}  // namespace detail

/// A layout, or what has its members.
template <class L>
concept layout_type = requires {
  typename L::mesh_type;
  L::split_of(std::uint64_t{});
};

}  // namespace mtf
