#pragma once
// Strings as template arguments. Nothing may deduce one: nvcc 13.0 cannot (docs/design/operations.md, "Kernels see no
// names").
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mtf {

/// A string literal as a template argument: `dim<"batch", 64>`.
template <std::size_t N>
struct fixed_string {
  char chars[N]{};

  consteval fixed_string(char const (&text)[N]) {  // NOLINT: implicit by purpose
    for (std::size_t i = 0; i < N; ++i) chars[i] = text[i];
  }
  /// The text, without its closing zero.
  [[nodiscard]] constexpr std::string_view view() const { return {chars, N - 1}; }
};

namespace detail {

/// FNV-1a: the number by which a name is compared, and from which random numbers are keyed.
constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

}  // namespace detail
}  // namespace mtf
