#pragma once
// The program `evaluate`, but for the models.
#include <vector>

#include "../sizes.hpp"
#include "options.hpp"

namespace mtf::tools {

/// What `evaluate` asks of one of the models that it has.
struct evaluator {
  sizes_of_task sizes;
  bool has_ranks_as_threads = false;
  int (*run)(int& argc, char**& argv, evaluate_line const& line) = nullptr;
};

/// What the program does, by its command line, with the model that is in the directory. Gives the exit code.
int evaluate_by(int argc, char** argv, std::vector<evaluator> const& models);

}  // namespace mtf::tools
