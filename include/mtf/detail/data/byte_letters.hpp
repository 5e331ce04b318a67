#pragma once
// GPT-2's spelling of bytes: each is a printable letter in vocabularies' files.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtf::detail {

/// The code point that stands for each byte: itself where that is printable and no space, else 256 and so on.
inline std::array<std::uint32_t, 256> const& byte_letters() {
  static auto const all = [] {
    std::array<std::uint32_t, 256> letters{};
    std::uint32_t next = 256;
    for (std::uint32_t b = 0; b < 256; ++b) {
      bool const printable = (b > 32 && b < 127) || (b > 160 && b != 173);
      letters[b] = printable ? b : next++;
    }
    return letters;
  }();
  return all;
}

/// Bytes in this spelling, as UTF-8.
inline std::string spelled(std::string_view bytes) {
  std::string text;
  for (char const c : bytes) {
    auto const letter = byte_letters()[static_cast<unsigned char>(c)];  // below 0x800: at most two bytes
    if (letter < 0x80) {
      text += static_cast<char>(letter);
    } else {
      text += static_cast<char>(0xc0U | (letter >> 6U));
      text += static_cast<char>(0x80U | (letter & 0x3fU));
    }
  }
  return text;
}

/// The bytes that are spelled so; none if a letter stands for no byte.
inline std::optional<std::string> unspelled(std::string_view text) {
  static auto const bytes = [] {
    std::array<int, 0x800> of{};
    of.fill(-1);
    for (std::size_t b = 0; b < 256; ++b) of[byte_letters()[b]] = static_cast<int>(b);
    return of;
  }();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto letter = static_cast<unsigned>(static_cast<unsigned char>(text[i]));
    if (letter >= 0x80) {
      if ((letter & 0xe0U) != 0xc0U || i + 1 == text.size()) return {};
      letter = (letter & 0x1fU) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3fU);
    }
    if (bytes[letter] < 0) return {};
    out += static_cast<char>(bytes[letter]);
  }
  return out;
}

}  // namespace mtf::detail
