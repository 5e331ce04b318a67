#pragma once
// Contractions: products of tensors, summed over dimensions.

// IWYU pragma: begin_exports
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/contraction/linear.hpp>
// IWYU pragma: end_exports
