#pragma once
// The program `serve`, but for the models.
#include <vector>

#include "../writing/generator.hpp"

namespace mtf::tools {

/// What the program does, by its command line, with the model that is in the directory, until it is told to end. Gives
/// the exit code.
int serve_by(int argc, char** argv, std::vector<generator> const& models);

}  // namespace mtf::tools
