#pragma once
// Which characters a letter of Oniguruma's escapes stands for, in words of a PCRE2 set.
#include <string>
#include <string_view>

namespace mtf::detail {

/// Unicode's White_Space, which is what \s means to the field's tokenizers; PCRE2's has U+180E besides.
inline constexpr std::string_view white_space =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
/// Alphabetic and Lowercase with what Unicode gave them after version 14, PCRE2 10.42's.
inline constexpr std::string_view alphabetic =
    R"(\p{Alphabetic}\x{363}-\x{36f}\x{c04}\x{f82}\x{f83}\x{1dd3}-\x{1de6}\x{11080}\x{11081})";
inline constexpr std::string_view lowercase = R"(\p{Lowercase}\x{10fc}\x{a7f2}-\x{a7f4}\x{ab69})";
/// Oniguruma's \w: PCRE2's has no marks, and numbers that are no digits.
inline constexpr std::string_view word_letters = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
/// Outside of sets Oniguruma's \w has them besides, superscripts and fractions of Latin-1.
inline constexpr std::string_view latin_numbers = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
inline constexpr std::string_view hex_digits = "0-9A-Fa-f";

/// What is between [: and :]; empty if it is none that is read. (Others change with Unicode's versions.)
inline std::string posix_set(std::string_view name) {
  return name == "alpha"    ? std::string(alphabetic)
         : name == "alnum"  ? std::string(alphabetic) + R"(\p{Nd})"
         : name == "ascii"  ? R"(\x{0}-\x{7f})"
         : name == "blank"  ? R"(\x{9}\p{Zs})"
         : name == "cntrl"  ? R"(\p{Cc})"
         : name == "digit"  ? R"(\p{Nd})"
         : name == "lower"  ? std::string(lowercase)
         : name == "punct"  ? R"(\p{P}\p{S})"
         : name == "space"  ? std::string(white_space)
         : name == "upper"  ? R"(\p{Uppercase})"
         : name == "word"   ? std::string(word_letters)
         : name == "xdigit" ? std::string(hex_digits)
                            : "";
}

}  // namespace mtf::detail
