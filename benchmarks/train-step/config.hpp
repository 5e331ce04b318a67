#pragma once
// The model of benchmarks/train-step: 27 million parameters, 295 GFLOP of products a step.
#include <mtf/core/dim.hpp>

struct config {
  struct batch : mtf::dim<"batch", 8> {};
  struct sequence : mtf::dim<"sequence", 256> {};
  struct memory : mtf::dim<"memory", 256> {};
  struct d_model : mtf::dim<"d_model", 512> {};
  struct heads : mtf::dim<"heads", 8> {};
  struct d_head : mtf::dim<"d_head", 64> {};
  struct d_ff : mtf::dim<"d_ff", 2048> {};
  struct vocab : mtf::dim<"vocab", 8192> {};
  struct layers : mtf::dim<"layers", 6> {};
  static constexpr bool tied_output = false;
};
