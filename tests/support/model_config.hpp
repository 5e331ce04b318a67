#pragma once
// Sizes for the example's model: small ones, for tests.
#include <mtf/core/dim.hpp>

struct model_sizes {
  int batch, sequence, d_model, heads, d_ff, vocab;
  int layers = 2;
  bool tied_output = false;
};

template <model_sizes Sizes>
struct model_config {
  struct batch : mtf::dim<"batch", Sizes.batch> {};
  struct sequence : mtf::dim<"sequence", Sizes.sequence> {};
  struct memory : mtf::dim<"memory", Sizes.sequence> {};
  struct d_model : mtf::dim<"d_model", Sizes.d_model> {};
  struct heads : mtf::dim<"heads", Sizes.heads> {};
  struct d_head : mtf::dim<"d_head", Sizes.d_model / Sizes.heads> {};
  struct d_ff : mtf::dim<"d_ff", Sizes.d_ff> {};
  struct vocab : mtf::dim<"vocab", Sizes.vocab> {};
  struct layers : mtf::dim<"layers", Sizes.layers> {};
  static constexpr bool tied_output = Sizes.tied_output;
};
