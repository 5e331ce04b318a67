#include "model_on_line.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/core/error.hpp>

#include "sizes.hpp"
#include "which_model.hpp"

namespace mtf::tools {

model_on_line model_asked_for(int argc, char const* const* argv, std::vector<sizes_of_task> const& models) {
  if (models.size() == 1) return {};
  std::string type, file, from;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--model-type", type);
  app.add_option("--model", file);
  app.add_option("--from", from);
  mtf::config_values config;
  model_on_line asked;
  try {
    app.parse(argc, argv);
    for (std::size_t i = 0; i < models.size(); ++i)
      if (models[i].model_type == type) asked.number = i;
    if (file.empty() && !from.empty() && !from.ends_with(".safetensors")) file = from + "/config.json";
    if (file.empty()) return asked;
    config = mtf::config_from(file);
  } catch (CLI::ParseError const&) {
    return asked;
  } catch (mtf::user_error const&) {  // the file cannot be read
    return asked;
  }
  try {
    auto const found = model_of_config(config, models);
    if (!found) {  // sizes by the names of the options, unless it says what it is
      if (config.text("model_type")) asked.wrong = is_of_none(config, models);
    } else if (type.empty()) {
      asked.number = found->number;
    } else if (found->number != asked.number) {
      asked.wrong = "--model-type " + type + ": " + config.path() + " is of another, " +
                    models[found->number].model_type + "; leave the option out";
    }
  } catch (mtf::user_error const& e) {
    asked.wrong = e.what();
  }
  return asked;
}

}  // namespace mtf::tools
