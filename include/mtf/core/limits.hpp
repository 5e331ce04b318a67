#pragma once
// How large things may be. What exceeds a limit is refused by a sentence that names it.
namespace mtf {

/// Dimensions of a tensor, or of all operands of one operation together.
inline constexpr int max_dims = 8;
/// Axes of a mesh.
inline constexpr int max_axes = 6;
/// Collectives of a plan, equal layers counted once.
inline constexpr int max_collectives = 512;

}  // namespace mtf
