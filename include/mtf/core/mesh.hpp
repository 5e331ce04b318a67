#pragma once
// The machine as an n-dimensional array of ranks.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <mtf/core/dim.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>

namespace mtf {

namespace detail {

template <class... A>
struct mesh_verdict {
  template <std::size_t I>
  static auto pick() {
    if constexpr (I == sizeof...(A))
      return ok{};
    else
      return error_axis_twice<nth<I, A...>>{};
  }
  using type = decltype(pick<first_repeated(std::array<std::uint64_t, sizeof...(A)>{A::id...})>());
};

}  // namespace detail

/// An array of processors with named axes, row-major over the ranks that mpirun started: the last axis varies fastest.
/// Refused: an axis twice.
template <mesh_axis... Axes>
struct mesh {
  using checked = checked_t<typename detail::mesh_verdict<Axes...>::type>;
  static_assert(sizeof...(Axes) <= static_cast<std::size_t>(max_axes), "mtf: a mesh has at most 6 axes");

  static constexpr int ndim = static_cast<int>(sizeof...(Axes));
  static constexpr int size = (1 * ... * Axes::size);

  /// Outermost first; empty beyond the mesh's own.
  static constexpr std::array<std::string_view, max_axes> axis_names{Axes::name...};

  /// The mesh as a value.
  static constexpr mesh_shape shape() {
    mesh_shape s{.ndim = ndim};
    unsigned i = 0;
    ((s.node_axes |= Axes::kind == link::node ? 1U << i : 0U, s.extent[i++] = Axes::size), ...);
    return s;
  }
  /// The position of an axis by its name's id, -1 if the mesh lacks it.
  static constexpr int find(std::uint64_t id) {
    int at = -1, i = 0;
    ((at = Axes::id == id ? i : at, ++i), ...);
    return at;
  }
  /// Whether it has an axis of this id and this size.
  static constexpr bool has(std::uint64_t id, int extent) { return ((Axes::id == id && Axes::size == extent) || ...); }
  /// "data:2 model:4"
  static std::string text() {
    std::string s;
    ((s += (s.empty() ? "" : " ") + std::string(Axes::name) + ":" + std::to_string(Axes::size)), ...);
    return s;
  }
  /// The I-th axis, from 0.
  template <std::size_t I>
  using at = detail::nth<I, Axes...>;
};

namespace detail {
template <class M>
inline constexpr bool is_mesh = false;
template <class... A>
inline constexpr bool is_mesh<mesh<A...>> = true;
}  // namespace detail

/// A mesh, and not what stands in its place by mistake.
template <class M>
concept mesh_type = detail::is_mesh<M>;

}  // namespace mtf
