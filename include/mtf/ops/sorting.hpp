#pragma once
// Operations by the order of elements.
// IWYU pragma: begin_exports
#include <mtf/ops/sorting/argmax.hpp>
#include <mtf/ops/sorting/categorical.hpp>
#include <mtf/ops/sorting/sample.hpp>
#include <mtf/ops/sorting/sort.hpp>
#include <mtf/ops/sorting/top_k.hpp>
// IWYU pragma: end_exports
