#pragma once
// About the shape of GPT-3 XL (Brown et al. 2020, table 2.1: 1.3 billion parameters; it has 24 heads), with a batch of
// 64 sequences: a model for plans, as docs/plans.md shows them.
#include <mtf/core/dim.hpp>

struct config {
  struct batch : mtf::dim<"batch", 64> {};
  struct sequence : mtf::dim<"sequence", 2048> {};
  struct memory : mtf::dim<"memory", 2048> {};
  struct d_model : mtf::dim<"d_model", 2048> {};
  struct heads : mtf::dim<"heads", 16> {};
  struct d_head : mtf::dim<"d_head", 128> {};
  struct d_ff : mtf::dim<"d_ff", 8192> {};
  struct vocab : mtf::dim<"vocab", 50304> {};
  static constexpr int layers = 24;
  static constexpr bool tied_output = false;
};
