#pragma once
// Numbers in config files of Hugging Face's, as they are read.
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/limits.hpp>

namespace mtf::models {

/// A size that a model cannot be without. A user_error, with the file, the key and what was expected: there is none, or
/// it is no whole number above 0 (null, a list and an object are none; nor is true).
inline std::int64_t size_in(mtf::config_values const& config, std::string const& key) {
  auto const n = config.number(key);
  auto const is_number = config.real(key);
  if (n && is_number && *n > 0) return *n;
  throw mtf::user_error(config.path() + ": " + key + ": expected a whole number from 1 to " +
                        std::to_string(mtf::max_extent) + ", found " + (n ? "0" : "none"));
}
/// The same of one that may be left out.
inline std::optional<std::int64_t> optional_size_in(mtf::config_values const& config, std::string const& key) {
  if (!config.contains(key)) return {};
  return size_in(config, key);
}
/// A number above 0, which may be left out. A user_error: another.
inline std::optional<double> positive_in(mtf::config_values const& config, std::string const& key) {
  auto const x = config.real(key);
  if (x && !(*x > 0)) {
    std::ostringstream text;  // -1e-08, which std::to_string shows as zeros
    text << config.path() << ": " << key << ": expected a number above 0, found " << *x;
    throw mtf::user_error(text.str());
  }
  return x;
}

}  // namespace mtf::models
