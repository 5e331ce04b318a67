#pragma once
// The program `train`, but for the models.
#include <vector>

#include "options.hpp"

namespace mtf::tools {

/// One of the models that `train` has.
struct trainer {
  executable built;
  int (*run)(int argc, char** argv, command_line line) = nullptr;
};

/// What the program does, by its command line, with the model that this asks for. Gives the exit code.
int train_by(int argc, char** argv, std::vector<trainer> const& models);

}  // namespace mtf::tools
