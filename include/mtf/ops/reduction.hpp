#pragma once
// Sums, extremes, variances and softmax along dimensions.

// IWYU pragma: begin_exports
#include <mtf/ops/reduction/any_all.hpp>
#include <mtf/ops/reduction/masked_softmax.hpp>
#include <mtf/ops/reduction/reduce.hpp>
#include <mtf/ops/reduction/softmax.hpp>
#include <mtf/ops/reduction/variance.hpp>
// IWYU pragma: end_exports
