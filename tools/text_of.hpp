#pragma once
// Numbers in texts.
#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace mtf::tools {

/// As std::snprintf, of up to 300 characters.
__attribute__((format(printf, 1, 2))) inline std::string text_of(char const* format, ...) {
  std::array<char, 300> text{};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

}  // namespace mtf::tools
