#pragma once
// Llama as the tools take it.
#include "../common/language_task.hpp"
#include "model.hpp"

namespace mtf::llama {

/// Trained on a text or a file of tokens.
template <class Config>
using task = models::language_task<model<Config>>;

}  // namespace mtf::llama
