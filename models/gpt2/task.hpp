#pragma once
// GPT-2 as the tools take it.
#include "../common/language_task.hpp"
#include "model.hpp"

namespace mtf::gpt2 {

/// Trained on a text or a file of tokens.
template <class Config>
using task = models::language_task<model<Config>>;

}  // namespace mtf::gpt2
