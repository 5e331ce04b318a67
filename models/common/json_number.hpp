#pragma once
// Numbers in the config files that are written.
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include <mtf/core/error.hpp>

namespace mtf::models {

/// A number that is no whole one, as JSON has it: the fewest digits that give it back, "1e-05", "500.0". Infinity and
/// NaN, which it has not, are a user_error.
inline std::string json_number(double x) {
  if (!std::isfinite(x)) throw mtf::user_error("a config.json has finite numbers, and here is " + std::to_string(x));
  std::array<char, 32> text{};
  std::string const number(text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr);
  return number.find_first_of(".e") == std::string::npos ? number + ".0" : number;
}

}  // namespace mtf::models
