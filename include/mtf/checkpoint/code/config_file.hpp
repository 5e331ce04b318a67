#pragma once
// Reading a model's config file.
#include <map>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <mtf/checkpoint/config_file.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>

namespace mtf {

namespace detail {
inline void add_config_values(nlohmann::json const& from, std::string const& before,
                              std::map<std::string, std::string>& to) {
  for (auto const& [key, value] : from.items()) {
    if (value.is_object()) add_config_values(value, before + key + ".", to);
    if (value.is_primitive() && !value.is_null()) to.emplace(before + key, value.dump(-1, ' ', true));
  }
}
}  // namespace detail

config_values config_from(std::string const& path) { return config_of_text(text_of_file(path), path); }

config_values config_of_text(std::string const& text, std::string const& name) {
  auto const json = detail::strict_json(text, name);
  if (!json.is_object()) throw user_error(name + ": expected a JSON object");
  std::map<std::string, std::string> values;
  detail::add_config_values(json, "", values);
  return {name, std::move(values)};
}

}  // namespace mtf
