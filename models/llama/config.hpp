#pragma once
// The sizes of a Llama, as a struct: its dimensions, the number of its layers, and whether the output is the token
// embedding.
#include <mtf/core/dim.hpp>
#include <mtf/core/extents_value.hpp>

#include "../common/completed_sizes.hpp"

namespace mtf::llama {

/// All sizes given when the program runs.
struct any_sizes {
  struct batch : mtf::dim<"batch"> {};
  struct sequence : mtf::dim<"sequence"> {};
  struct memory : mtf::dim<"memory"> {};                    // the keys and values that a query looks back at
  struct positions : mtf::alias<"positions", sequence> {};  // the longest text
  struct d_model : mtf::dim<"d_model"> {};
  struct kv_heads : mtf::dim<"kv_heads"> {};  // of keys and values
  struct group : mtf::dim<"group"> {};        // queries' heads for each of them
  struct d_head : mtf::dim<"d_head"> {};
  struct d_ff : mtf::dim<"d_ff"> {};
  struct vocab : mtf::dim<"vocab"> {};
  struct layers : mtf::dim<"layers"> {};
  struct untied_output : mtf::dim<"untied_output"> {};  // 1; or 0, if the output is the token embedding

  /// Of a small model for bytes of text.
  static mtf::extents_value defaults() {
    return {{"batch", 32}, {"sequence", 128}, {"d_model", 128}, {"kv_heads", 2},
            {"group", 2},  {"vocab", 256},    {"layers", 4},    {"untied_output", 1}};
  }
  /// With what follows where it was not given: queries' heads that share d_model, a d_ff of three times that, as many
  /// positions as tokens. What cannot be so is a user_error.
  static mtf::extents_value completed(mtf::extents_value const& sizes) {
    auto const heads = sizes.find("kv_heads").value_or(0) * sizes.find("group").value_or(0);
    return models::completed_sizes(sizes, heads, "kv_heads times group, ", 3);
  }
};

}  // namespace mtf::llama
