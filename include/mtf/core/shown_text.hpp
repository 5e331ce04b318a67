#pragma once
// Texts from anywhere - names in files, command lines - as a terminal may be given them.
#include <cstddef>
#include <string>
#include <string_view>

namespace mtf {

/// The bytes of the first character of a text, if it is UTF-8 and a terminal shows it; 0 if it controls the terminal
/// (C0 and C1), or is no UTF-8.
constexpr std::size_t shown_bytes(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  unsigned const first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t const size = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  // C1, longer than need be, surrogates, beyond U+10FFFF.
  bool const none = (first == 0xc2 && byte(1) < 0xa0) || (first == 0xe0 && byte(1) < 0xa0) ||
                    (first == 0xed && byte(1) >= 0xa0) || (first == 0xf0 && byte(1) < 0x90) ||
                    (first == 0xf4 && byte(1) >= 0x90);
  return none ? 0 : size;
}

/// The text, in which each byte that is not shown is written as \n, \t or \x1b: it stays on one line, and changes
/// neither colour nor title. Those in `kept` stay as they are. What is shown stays, so once more changes nothing.
inline std::string shown_text(std::string_view text, std::string_view kept = {}) {
  std::string all;
  while (!text.empty()) {
    auto const c = static_cast<unsigned char>(text[0]);
    std::size_t const shown = kept.find(text[0]) != std::string_view::npos ? 1 : shown_bytes(text);
    if (shown > 0)
      all += text.substr(0, shown);
    else if (c == '\n' || c == '\t')
      all += c == '\n' ? "\\n" : "\\t";
    else
      all += {'\\', 'x', "0123456789abcdef"[c >> 4U], "0123456789abcdef"[c & 15U]};
    text.remove_prefix(shown > 0 ? shown : 1);
  }
  return all;
}

}  // namespace mtf
