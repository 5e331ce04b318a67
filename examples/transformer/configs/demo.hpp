#pragma once
// The model that scripts/demo.sh trains: 0.8 million parameters, for bytes of text.
#include <mtf/core/dim.hpp>

struct config {
  struct batch : mtf::dim<"batch", 32> {};
  struct sequence : mtf::dim<"sequence", 128> {};
  struct memory : mtf::dim<"memory", 128> {};  // the sequence, as attention looks back at it
  struct d_model : mtf::dim<"d_model", 128> {};
  struct heads : mtf::dim<"heads", 4> {};
  struct d_head : mtf::dim<"d_head", 32> {};
  struct d_ff : mtf::dim<"d_ff", 512> {};
  struct vocab : mtf::dim<"vocab", 256> {};
  struct layers : mtf::dim<"layers", 4> {};
  static constexpr bool tied_output = false;
};
