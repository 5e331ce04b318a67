#pragma once
// Few long sequences through a narrow model with a large vocabulary: attention and the logits weigh more.
#include <mtf/core/dim.hpp>

struct config {
  struct batch : mtf::dim<"batch", 2> {};
  struct sequence : mtf::dim<"sequence", 1024> {};
  struct memory : mtf::dim<"memory", 1024> {};
  struct d_model : mtf::dim<"d_model", 256> {};
  struct heads : mtf::dim<"heads", 4> {};
  struct d_head : mtf::dim<"d_head", 64> {};
  struct d_ff : mtf::dim<"d_ff", 1024> {};
  struct vocab : mtf::dim<"vocab", 16384> {};
  struct layers : mtf::dim<"layers", 4> {};
  static constexpr bool tied_output = true;
};
