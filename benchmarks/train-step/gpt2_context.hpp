#pragma once
// GPT-2's smallest shape (Radford et al. 2019) with its whole context: 8 texts of 1024 tokens, a step for a GPU.
#include <mtf/core/dim.hpp>

struct config {
  struct batch : mtf::dim<"batch", 8> {};
  struct sequence : mtf::dim<"sequence", 1024> {};
  struct memory : mtf::dim<"memory", 1024> {};
  struct d_model : mtf::dim<"d_model", 768> {};
  struct heads : mtf::dim<"heads", 12> {};
  struct d_head : mtf::dim<"d_head", 64> {};
  struct d_ff : mtf::dim<"d_ff", 3072> {};
  struct vocab : mtf::dim<"vocab", 50257> {};
  static constexpr int layers = 12;
  static constexpr bool tied_output = true;
};
