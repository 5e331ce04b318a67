#pragma once
// What the fuzzer and the programs that failures are printed as have in common: code, and its text.

#define FUZZ_TEXT_AND_CODE(NAME, ...) \
  __VA_ARGS__                         \
  inline constexpr char const* text_of_##NAME = #__VA_ARGS__
