#pragma once
// What is fixed in a program's types, by name.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mtf::tools {

/// Names and numbers, such as the extents of dimensions.
using named_sizes = std::vector<std::pair<std::string, std::int64_t>>;

/// "layers 4, batch 32"
inline std::string text_of(named_sizes const& sizes) {
  std::string text;
  for (auto const& [name, n] : sizes) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(n);
  return text;
}

}  // namespace mtf::tools
