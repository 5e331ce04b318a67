#pragma once
// What programs that run a model of a directory have in common on their command lines.
#include <CLI/App.hpp>
#include <CLI/Option.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "model_choice.hpp"
#include "sizes.hpp"

namespace mtf::tools {

/// --model, --tokenizer, --mesh, --layout, --choose, --machine, --ranks, --ranks-as-threads.
class model_options {
 public:
  /// `models`: what a config says of each that the program has. `pass`: what a layout is chosen for. The app and `on`
  /// outlive it.
  model_options(CLI::App& app, model_choice& on, std::vector<sizes_of_task> models, bool has_ranks_as_threads, int argc,
                char** argv, std::string const& pass);

  /// The model, once the line is parsed. Gives the number of the model. What is wrong: a user_error.
  std::size_t find_model();

 private:
  std::string path_;
  model_choice* on_;
  std::vector<sizes_of_task> sizes_;
  CLI::Option const* mesh_;
};

}  // namespace mtf::tools
