#pragma once
// Which of several models the command line of `train` or `plan` asks for.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sizes.hpp"

namespace mtf::tools {

/// What a command line says of the model, before the options are known, which depend on it.
struct model_on_line {
  std::size_t number = 0;
  std::optional<std::string> wrong;
};
/// Of `train` and `plan`, for several models: that of --model-type; or else the one that the config is of which --model
/// names, or the directory of --from has; or else the first. Wrong: a config of another model than was asked for, or of
/// none. (All else that is wrong with the line is told by whoever parses it for that model.)
model_on_line model_asked_for(int argc, char const* const* argv, std::vector<sizes_of_task> const& models);

}  // namespace mtf::tools
