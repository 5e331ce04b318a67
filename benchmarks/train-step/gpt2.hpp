#pragma once
// GPT-2's smallest shape (Radford et al. 2019): 124 million parameters. Batch and sequence are llm.c's on CPUs: 4
// and 64.
#include <mtf/core/dim.hpp>

struct config {
  struct batch : mtf::dim<"batch", 4> {};
  struct sequence : mtf::dim<"sequence", 64> {};
  struct memory : mtf::dim<"memory", 64> {};
  struct d_model : mtf::dim<"d_model", 768> {};
  struct heads : mtf::dim<"heads", 12> {};
  struct d_head : mtf::dim<"d_head", 64> {};
  struct d_ff : mtf::dim<"d_ff", 3072> {};
  struct vocab : mtf::dim<"vocab", 50257> {};
  static constexpr int layers = 12;
  static constexpr bool tied_output = true;
};
