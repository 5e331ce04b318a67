#pragma once
// Functions of every element, of one tensor or several.

// IWYU pragma: begin_exports
#include <mtf/ops/elementwise/assignments.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>
#include <mtf/ops/elementwise/with_numbers.hpp>
// IWYU pragma: end_exports
