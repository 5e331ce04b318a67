#pragma once
// The largest Transformer of Mesh-TensorFlow's authors (Shazeer et al. 2018, section 9: 4.9 billion parameters on 512
// TPU cores), as this example's model has it: for plans, as docs/plans.md has them.
#include <mtf/core/dim.hpp>

struct config {
  struct batch : mtf::dim<"batch", 256> {};
  struct sequence : mtf::dim<"sequence", 256> {};
  struct memory : mtf::dim<"memory", 256> {};
  struct d_model : mtf::dim<"d_model", 1024> {};
  struct heads : mtf::dim<"heads", 256> {};
  struct d_head : mtf::dim<"d_head", 128> {};
  struct d_ff : mtf::dim<"d_ff", 262'144> {};
  struct vocab : mtf::dim<"vocab", 32'768> {};
  static constexpr int layers = 8;
  static constexpr bool tied_output = false;
};
