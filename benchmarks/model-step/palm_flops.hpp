#pragma once
// The flops of a model's training step, whatever computes it, so that shares of a peak compare.

/// A decoder's sizes.
struct palm_sizes {
  double parameters, layers, heads, d_head, sequence;
};

/// Flops of a token's forward and backward pass: six for each parameter, and of attention 12 layers heads d_head
/// sequence, without regard to what a mask leaves (Chowdhery et al. 2022, appendix B).
constexpr double palm_flops_per_token(palm_sizes const& s) {
  return 6 * s.parameters + 12 * s.layers * s.heads * s.d_head * s.sequence;
}
// GPT-2 of 124 M parameters, on texts of 1024 tokens.
static_assert(palm_flops_per_token({124439808, 12, 12, 64, 1024}) == 859885056);
