#pragma once
// Which of a program's models a config, or a directory of Hugging Face's, is of.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/extents_value.hpp>

#include "sizes.hpp"

namespace mtf::tools {

struct which_model {
  std::size_t number = 0;      // among those that the program has
  mtf::extents_value extents;  // that its config says
};

/// `models`: what a config says of each. None: it is of none of them.
std::optional<which_model> model_of_config(mtf::config_values const& config, std::vector<sizes_of_task> const& models);
/// What is said then.
std::string is_of_none(mtf::config_values const& config, std::vector<sizes_of_task> const& models);
/// Of a config of none of the models: a user_error.
which_model model_that_is_of(mtf::config_values const& config, std::vector<sizes_of_task> const& models);

}  // namespace mtf::tools
