#pragma once
// A model's sizes on the command line of a tool: --d-model and others, or --model with a file that has them.
#include <CLI/App.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/extents_value.hpp>

#include "sizes.hpp"

namespace mtf::tools {

/// Adds the options to a command line, and says what came of them once it is parsed.
class size_options {
 public:
  /// `model_types`: of all models that the program has, of which this is one.
  size_options(CLI::App& app, sizes_of_task const& of, std::vector<std::string> const& model_types);
  size_options(size_options const&) = delete;  // the command line knows where it is
  size_options& operator=(size_options const&) = delete;
  ~size_options() = default;

  struct found {
    mtf::extents_value extents;  // of all dimensions that are values
    named_sizes sizes;           // for people
    std::string flags;           // that were given: " --layers 4 --d-model 128"
    mtf::config_values config;   // another tool's, if the file is that
  };
  /// A size that is fixed otherwise, that nobody said, or a file that disagrees: a user_error. `config`: a file that
  /// has the sizes if --model does not name one.
  [[nodiscard]] found result(std::string const& config = {}) const;

 private:
  struct option {
    sizes_of_task::size size;
    std::string flag;
    std::optional<mtf::extents_value> asked{};
    std::string text{};  // that said so
  };
  [[nodiscard]] mtf::extents_value in_file(mtf::config_values const& config) const;

  sizes_of_task of_;
  std::deque<option> options_;  // each stays where it is
  std::string model_;           // a path
  std::string model_type_;
};

}  // namespace mtf::tools
