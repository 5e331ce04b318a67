#pragma once
// Numbers in texts, and words of command lines.
#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <string_view>

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

/// A word as a shell takes it.
inline std::string shell_word(std::string const& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string word = "'";
  for (char const c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace mtf::tools
