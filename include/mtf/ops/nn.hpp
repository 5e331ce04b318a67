#pragma once
// What networks are made of: attention, rotary positions, norms, the loss, dropout.

// IWYU pragma: begin_exports
#include <mtf/ops/nn/attention.hpp>
#include <mtf/ops/nn/cross_entropy.hpp>
#include <mtf/ops/nn/dropout.hpp>
#include <mtf/ops/nn/norm.hpp>
#include <mtf/ops/nn/rotary.hpp>
// IWYU pragma: end_exports
