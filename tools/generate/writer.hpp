#pragma once
// What `generate` writes.
#include "../writing/model_on_ranks.hpp"
#include "options.hpp"

namespace mtf::tools {

/// Writes on from all prompts, on every rank alike.
void write_on(generate_options const& o, model_on_ranks const& model);

}  // namespace mtf::tools
