#pragma once
// The program `generate`, but for the models.
#include <vector>

#include "../writing/generator.hpp"

namespace mtf::tools {

/// What the program does, by its command line, with the model that is in the directory. Gives the exit code.
int generate_by(int argc, char** argv, std::vector<generator> const& models);

}  // namespace mtf::tools
