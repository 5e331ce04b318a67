#pragma once
// Elements by their numbers.

// IWYU pragma: begin_exports
#include <mtf/ops/indexing/embedding.hpp>
#include <mtf/ops/indexing/gather.hpp>
#include <mtf/ops/indexing/one_hot.hpp>
#include <mtf/ops/indexing/slice.hpp>
#include <mtf/ops/indexing/strided.hpp>
// IWYU pragma: end_exports
