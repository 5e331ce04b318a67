#pragma once
// Elements by their numbers.

// IWYU pragma: begin_exports
#include <mtf/ops/indexing/embedding.hpp>
#include <mtf/ops/indexing/slice.hpp>
// IWYU pragma: end_exports
