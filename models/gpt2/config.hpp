#pragma once
// The sizes of a model, as a struct: its dimensions, the number of its layers, and whether the output is the token
// embedding, transposed. In types, as examples/transformer/configs/demo.hpp has them, or as values.
#include <cstdint>
#include <type_traits>

#include <mtf/core/dim.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/tensor/extent.hpp>

#include "../common/completed_sizes.hpp"

namespace mtf::gpt2 {

/// GPT-2's smallest shape (Radford et al. 2019), 124 million parameters: a step of so many sequences of so many tokens.
template <std::int64_t Batch, std::int64_t Sequence>
struct small {
  struct batch : mtf::dim<"batch", Batch> {};
  struct sequence : mtf::dim<"sequence", Sequence> {};
  struct memory : mtf::dim<"memory", Sequence> {};
  struct d_model : mtf::dim<"d_model", 768> {};
  struct heads : mtf::dim<"heads", 12> {};
  struct d_head : mtf::dim<"d_head", 64> {};
  struct d_ff : mtf::dim<"d_ff", 3072> {};
  struct vocab : mtf::dim<"vocab", 50257> {};
  struct layers : mtf::dim<"layers", 12> {};
  static constexpr bool tied_output = true;
};

/// All sizes given when the program runs.
struct any_sizes {
  struct batch : mtf::dim<"batch"> {};
  struct sequence : mtf::dim<"sequence"> {};
  struct memory : mtf::dim<"memory"> {};
  struct positions : mtf::alias<"positions", sequence> {};  // as many, or more
  struct d_model : mtf::dim<"d_model"> {};
  struct heads : mtf::dim<"heads"> {};
  struct d_head : mtf::dim<"d_head"> {};
  struct d_ff : mtf::dim<"d_ff"> {};
  struct vocab : mtf::dim<"vocab"> {};
  struct layers : mtf::dim<"layers"> {};
  struct untied_output : mtf::dim<"untied_output"> {};  // 1; or 0, if the output is the token embedding

  /// The first rows of the table of positions, as many as there are tokens: [sequence, d_model]. Sends nothing if it is
  /// as long as a sequence.
  static constexpr auto first_positions(auto const& table, auto const& tokens) {
    using rows = std::remove_cvref_t<decltype(mtf::rename<positions, sequence>(table))>;
    if (mtf::extent<positions>(table) == mtf::extent<sequence>(tokens))
      return rows(mtf::rename<positions, sequence>(table));
    return rows(mtf::relayout<typename rows::layout_type>(mtf::slice<positions, sequence>(table, 0)));
  }

  /// Of a small model for bytes of text: what scripts/demo.sh trains.
  static mtf::extents_value defaults() {
    return {{"batch", 32},  {"sequence", 128}, {"d_model", 128},    {"heads", 4},
            {"vocab", 256}, {"layers", 4},     {"untied_output", 1}};
  }
  /// With what follows where it was not given: heads that share d_model, a d_ff of four times that, as many positions
  /// as tokens. What cannot be so is a user_error.
  static mtf::extents_value completed(mtf::extents_value const& sizes) {
    return models::completed_sizes(sizes, sizes.find("heads").value_or(0), "heads ", 4);
  }
};

}  // namespace mtf::gpt2
