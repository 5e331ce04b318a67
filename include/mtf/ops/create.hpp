#pragma once
// Tensors from nothing, from arrays, and back to arrays.

// IWYU pragma: begin_exports
#include <mtf/ops/create/attention_mask.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/create/from_global.hpp>
#include <mtf/ops/create/from_rows.hpp>
#include <mtf/ops/create/iota.hpp>
#include <mtf/ops/create/like.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/create/show.hpp>
#include <mtf/ops/create/to_global.hpp>
// IWYU pragma: end_exports
