#pragma once
// What networks are made of: attention, rotary positions, norms, losses, gates, dropout.

// IWYU pragma: begin_exports
#include <mtf/ops/nn/attention.hpp>
#include <mtf/ops/nn/attention_with.hpp>
#include <mtf/ops/nn/batch_norm.hpp>
#include <mtf/ops/nn/cross_entropy.hpp>
#include <mtf/ops/nn/dropout.hpp>
#include <mtf/ops/nn/dropout_shared.hpp>
#include <mtf/ops/nn/gates.hpp>
#include <mtf/ops/nn/linear_cross_entropy.hpp>
#include <mtf/ops/nn/norm.hpp>
#include <mtf/ops/nn/positions.hpp>
#include <mtf/ops/nn/ring_attention.hpp>
#include <mtf/ops/nn/ring_work.hpp>
#include <mtf/ops/nn/rotary.hpp>
#include <mtf/ops/nn/sigmoid_cross_entropy.hpp>
#include <mtf/ops/nn/whole_attention.hpp>
// IWYU pragma: end_exports
