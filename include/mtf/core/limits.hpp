#pragma once
// How large things may be. What exceeds a limit is refused by a sentence that names it.
#include <cstddef>
#include <cstdint>

namespace mtf {

/// Dimensions of a tensor, or of all operands of one operation together.
inline constexpr int max_dims = 8;
/// Axes of a mesh.
inline constexpr int max_axes = 6;
/// Ranks of a mesh: MPI counts them in int.
inline constexpr int max_ranks = 2'147'483'647;
/// Rules of a layout that is a value.
inline constexpr int max_rules = 32;
/// Layouts of one program that are values: any_layout<0> to any_layout<7>.
inline constexpr std::size_t max_layouts = 8;
/// The extent of a dimension that a text gives.
inline constexpr std::int64_t max_extent = std::int64_t{1} << 48;
/// Elements of a tensor whose layout or extents are values.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 48;
/// Layers of a stack whose number is a value.
inline constexpr std::size_t max_layers = std::size_t{1} << 16;
/// Dimensions whose extents are given when a program runs.
inline constexpr std::size_t max_given_extents = 32;
/// Collectives of a plan, equal layers counted once.
inline constexpr int max_collectives = 512;

}  // namespace mtf
