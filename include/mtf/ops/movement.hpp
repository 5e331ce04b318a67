#pragma once
// The same elements under other names, in another order, split otherwise, of another type.

// IWYU pragma: begin_exports
#include <mtf/ops/movement/broadcast.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/concat.hpp>
#include <mtf/ops/movement/pad.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/rename.hpp>
#include <mtf/ops/movement/roll.hpp>
#include <mtf/ops/movement/split_dim.hpp>
#include <mtf/ops/movement/stacked.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/ops/movement/transpose.hpp>
// IWYU pragma: end_exports
