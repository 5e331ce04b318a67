#pragma once
// The program `generate`, but for the models.
#include <vector>

#include "../sizes.hpp"
#include "options.hpp"

namespace mtf::tools {

/// What `generate` asks of one of the models that it has.
struct generator {
  sizes_of_task sizes;
  bool has_ranks_as_threads = false;
  int (*run)(int& argc, char**& argv, generate_line const& line) = nullptr;
};

/// What the program does, by its command line, with the model that is in the directory. Gives the exit code.
int generate_by(int argc, char** argv, std::vector<generator> const& models);

}  // namespace mtf::tools
