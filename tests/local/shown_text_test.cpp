// Whatever a text is made of, a terminal may be given it: errors, names in layouts and machines.
// devices: none
#include <cstddef>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <mtf/core/error.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/shown_text.hpp>

#include "support/error_of.hpp"

namespace {

using namespace std::string_literals;

/// By its code point: whether a terminal shows it.
bool is_shown(unsigned code) {
  return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && (code < 0xd800 || code > 0xdfff));
}
std::string utf8(unsigned code) {
  auto const byte = [](unsigned b) { return std::string(1, static_cast<char>(b)); };
  auto const next = [&](unsigned shift) { return byte(0x80 | (code >> shift & 0x3fU)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) return byte(0xc0 | code >> 6U) + next(0);
  if (code < 0x10000) return byte(0xe0 | code >> 12U) + next(6) + next(0);
  return byte(0xf0 | code >> 18U) + next(12) + next(6) + next(0);
}

TEST_CASE("each character is shown, or written as what is shown") {
  int wrong = 0;
  for (unsigned code = 0; code < 0x110000; ++code) {
    auto const text = "a" + utf8(code) + "b", shown = mtf::shown_text(text);
    bool const good = is_shown(code) ? shown == text : shown.find('\\') == 1 && mtf::shown_text(shown) == shown;
    wrong += good ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("no two bytes come through that are no text, and none is lost") {
  int wrong = 0;
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      std::string const text{static_cast<char>(a), static_cast<char>(b)};
      std::string all;
      for (auto rest = std::string_view(text); !rest.empty();) {
        auto const n = mtf::shown_bytes(rest);
        all += n == 0 ? mtf::shown_text(rest.substr(0, 1)) : std::string(rest.substr(0, n));
        rest.remove_prefix(n == 0 ? 1 : n);
      }
      auto const shown = mtf::shown_text(text);
      bool good = shown == all && shown.size() >= 2;
      for (auto rest = std::string_view(shown); good && !rest.empty(); rest.remove_prefix(mtf::shown_bytes(rest)))
        good = mtf::shown_bytes(rest) > 0;
      wrong += good ? 0 : 1;
    }
  CHECK(wrong == 0);
  CHECK(mtf::shown_text("\xe2\x82") == "\\xe2\\x82");  // its end is missing
  CHECK(mtf::shown_text("\xc0\x8a") == "\\xc0\\x8a");  // a line feed, longer than need be
  CHECK(mtf::shown_text("a\r\tb\n\x9b", "\n\t") == "a\\x0d\tb\n\\x9b");
}

TEST_CASE("an error is one line, whole, whatever is in it") {
  CHECK(mtf::user_error("a\0b\n\x1b[31mc"s).what() == "a\\x00b\\n\\x1b[31mc"s);
  CHECK(mtf::user_error("naïve 日本語").what() == "naïve 日本語"s);
}

TEST_CASE("names of a layout are shown") {
  CHECK(error_of([] { return mtf::mesh_from("da\x1b[2Jta:2"); }) ==
        "a name was expected, of characters that a terminal shows; found 'da\\x1b[2Jta'");
  CHECK(error_of([] { return mtf::layout_from(mtf::mesh_from("data:2"), "\xff:data"); }) ==
        "a name was expected, of characters that a terminal shows; found '\\xff'");
  CHECK(mtf::mesh_from("größe:2").text() == "größe:2");
}

}  // namespace
