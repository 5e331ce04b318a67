#pragma once
// Sums, extremes and softmax along dimensions.

// IWYU pragma: begin_exports
#include <mtf/ops/reduction/masked_softmax.hpp>
#include <mtf/ops/reduction/reduce.hpp>
#include <mtf/ops/reduction/softmax.hpp>
// IWYU pragma: end_exports
