#pragma once
// Running sums, products and maxima.
// IWYU pragma: begin_exports
#include <mtf/ops/cumulative/cumulative.hpp>
// IWYU pragma: end_exports
