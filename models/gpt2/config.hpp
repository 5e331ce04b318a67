#pragma once
// The sizes of a model, as a struct: its dimensions, the number of its layers, and whether the output is the token
// embedding, transposed. examples/transformer/configs/ has others.
#include <cstdint>

#include <mtf/core/dim.hpp>

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
  static constexpr int layers = 12;
  static constexpr bool tied_output = true;
};

}  // namespace mtf::gpt2
