#pragma once
// The sizes of a Llama, as a struct: its dimensions, the number of its layers, and whether the output is the token
// embedding.
#include <string>

#include <mtf/core/dim.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>

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
  static mtf::extents_value completed(mtf::extents_value sizes) {
    auto const given = [&](char const* name) { return sizes.find(name); };
    auto const heads = given("kv_heads").value_or(0) * given("group").value_or(0);
    if (auto const d_model = given("d_model"); d_model && heads > 0) {
      if (!given("d_head") && *d_model % heads != 0)
        throw mtf::user_error("d_model " + std::to_string(*d_model) + " is no multiple of kv_heads times group, " +
                              std::to_string(heads) + ": give d_head too");
      if (!given("d_head")) sizes.give("d_head", *d_model / heads);
      if (!given("d_ff")) sizes.give("d_ff", 3 * *d_model);
    }
    if (auto const sequence = given("sequence"), positions = given("positions"); sequence) {
      if (positions && *positions < *sequence)
        throw mtf::user_error("positions " + std::to_string(*positions) + " are fewer than a sequence's tokens, " +
                              std::to_string(*sequence) + ": give a shorter sequence");
      if (!positions) sizes.give("positions", *sequence);
    }
    if (auto const untied = given("untied_output"); untied && *untied > 1)
      throw mtf::user_error("untied_output is 1, or 0 if the output is the token embedding; found " +
                            std::to_string(*untied));
    return sizes;
  }
};

}  // namespace mtf::llama
