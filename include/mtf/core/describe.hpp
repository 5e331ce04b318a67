#pragma once
// Shardings for people.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <mtf/core/limits.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf {

/// "[batch/data, hidden]": a tensor's dimensions and the axes that split them.
inline std::string describe(sharding const& s, std::array<std::string_view, max_axes> const& axis_names) {
  std::string text = "[";
  for (int d = 0; d < s.ndim; ++d) {
    text += (d == 0 ? "" : ", ") + std::string(s[d].name);
    for (int i = 0; i < s[d].split.size; ++i)
      text += (i == 0 ? "/" : "+") + std::string(axis_names[static_cast<std::size_t>(s[d].split[i])]);
  }
  return text + "]";
}

}  // namespace mtf
