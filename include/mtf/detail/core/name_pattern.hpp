#pragma once
// Names by patterns.
#include <cstddef>
#include <string_view>

namespace mtf::detail {

/// Whether a name is one that the pattern means, in which * stands for any characters: "blocks.*.wq".
constexpr bool name_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*')
    return !name.empty() && pattern[0] == name[0] && name_matches(pattern.substr(1), name.substr(1));
  for (std::size_t skipped = 0; skipped <= name.size(); ++skipped)
    if (name_matches(pattern.substr(1), name.substr(skipped))) return true;
  return false;
}

}  // namespace mtf::detail
