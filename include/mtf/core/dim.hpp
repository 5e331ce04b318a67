#pragma once
// Dimensions of tensors and axes of the machine: a name and a size each.
//
//   struct batch  : mtf::dim<"batch", 64> {};
//   struct length : mtf::dim<"length"> {};  // known when the program runs
//   struct data   : mtf::axis<"data", 2> {};
//
// Deriving a tag makes every compiler print `batch` in its messages.
#include <concepts>
#include <cstdint>
#include <string_view>

#include <mtf/core/fixed_string.hpp>

namespace mtf {

/// Of a dimension: its stored extent is the next multiple of N, so that N ranks divide it.
template <std::int64_t N>
struct pad_to {
  static constexpr std::int64_t multiple = N;
};

namespace detail {
struct dim_base {};
struct axis_base {};
inline constexpr std::int64_t extent_is_a_value = -1;

// In functions, for the reason that verdict.hpp gives.
template <std::int64_t Extent>
auto check_extent() {
  static_assert(Extent > 0, "mtf: a dimension has an extent of at least 1");
}
template <std::int64_t Multiple>
auto check_pad() {
  static_assert(Multiple > 0, "mtf: a dimension is padded to a multiple of at least 1");
}
template <int Size>
auto check_size() {
  static_assert(Size > 0, "mtf: a mesh axis has at least one processor");
}

// What a dimension's type knows of its extent. A base, as nvcc 13.0 does not find specializations of a template that
// has a name among its parameters.
template <std::int64_t Extent, class Pad>
struct dim_extent : dim_base {
  using checked = decltype(check_extent<Extent>(), check_pad<Pad::multiple>());
  static constexpr std::int64_t extent = Extent;
  /// With pads.
  static constexpr std::int64_t stored = (Extent + Pad::multiple - 1) / Pad::multiple * Pad::multiple;
};
template <>
struct dim_extent<extent_is_a_value, pad_to<1>> : dim_base {};
}  // namespace detail

/// A named tensor dimension with its global extent. Two dimensions with one name are the same dimension; one operation
/// refuses them if their extents differ. Without an extent, `dim<"batch">`, it is a value: each tensor has its own,
/// from the extents that its backend was given (core/extents_value.hpp) or from data, and layouts of such tensors are
/// values too, any_layout.
///
/// A dimension that ranks do not divide can be padded: `dim<"vocab", 50257, pad_to<8>>` is stored as 50264 positions,
/// of which the last 7 are pads. A layout divides what is stored; all else sees 50257: sums, maxima, losses, random
/// numbers, what comes from the host and goes there, checkpoints. Pads are 0 in every tensor. (docs/design/states.md,
/// "Padding")
template <fixed_string Name, std::int64_t Extent = detail::extent_is_a_value, class Pad = pad_to<1>>
struct dim : detail::dim_extent<Extent, Pad> {
  static constexpr std::string_view name = Name.view();
  static constexpr std::uint64_t id = detail::hash_of(Name.view());
  static constexpr std::uint64_t kin = 0;
};

namespace detail {
/// Whether the type of a dimension has its extent.
template <class D>
inline constexpr bool has_extent = requires { D::extent; };

template <class D>
constexpr std::int64_t extent_in_type() {
  if constexpr (has_extent<D>)
    return D::extent;
  else
    return extent_is_a_value;
}
template <class D>
constexpr std::int64_t stored_in_type() {
  if constexpr (has_extent<D>)
    return D::stored;
  else
    return extent_is_a_value;
}
/// How a dimension is padded that is as another one.
template <class D>
struct padded_like {
  using type = pad_to<1>;
};
template <class D>
  requires has_extent<D>
struct padded_like<D> {
  using type = pad_to<D::stored == D::extent ? 1 : D::stored>;
};
}  // namespace detail

/// A dimension under a second name, as the positions of keys are those of queries: as long as `Of`, and split as that
/// is. A rule that a layout has for its own name comes first, also one without axes, `split<memory>` or "memory:".
template <fixed_string Name, class Of>
  requires std::derived_from<Of, detail::dim_base>
struct alias : dim<Name, detail::extent_in_type<Of>(), typename detail::padded_like<Of>::type> {
  static constexpr std::uint64_t kin = Of::kin != 0 ? Of::kin : Of::id;
};

/// Where the links of a mesh axis run: between any ranks, or inside one node. Reductions over axes of both kinds go
/// through the node first (docs/design/states.md, "What relayouts send").
enum class link { any, node };

/// A named axis of the machine: `Size` processors.
template <fixed_string Name, int Size, link Link = link::any>
struct axis : detail::axis_base {
  using checked = decltype(detail::check_size<Size>());
  static constexpr std::string_view name = Name.view();
  static constexpr int size = Size;
  static constexpr link kind = Link;
  static constexpr std::uint64_t id = detail::hash_of(Name.view());
};

/// A dimension: `dim`, or a tag that derives from one.
template <class D>
concept dimension = std::derived_from<D, detail::dim_base>;

/// A mesh axis: `axis`, or a tag that derives from one.
template <class A>
concept mesh_axis = std::derived_from<A, detail::axis_base>;

}  // namespace mtf
