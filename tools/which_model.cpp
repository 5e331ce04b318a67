#include "which_model.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/error.hpp>

#include "sizes.hpp"

namespace mtf::tools {

std::optional<which_model> model_of_config(mtf::config_values const& config, std::vector<sizes_of_task> const& models) {
  for (std::size_t i = 0; i < models.size(); ++i)
    if (models[i].from_config != nullptr)
      if (auto const extents = models[i].from_config(config); extents.size() > 0) return which_model{i, extents};
  return {};
}

std::string is_of_none(mtf::config_values const& config, std::vector<sizes_of_task> const& models) {
  std::string types;
  for (auto const& model : models)
    if (!model.model_type.empty()) types += (types.empty() ? "; it has " : ", ") + model.model_type;
  return config.path() + ": the model_type \"" + config.text("model_type").value_or("") +
         "\" is none that this program has" + types;
}

which_model model_that_is_of(mtf::config_values const& config, std::vector<sizes_of_task> const& models) {
  auto const found = model_of_config(config, models);
  if (!found) throw mtf::user_error(is_of_none(config, models));
  return *found;
}

}  // namespace mtf::tools
