#pragma once
// Handwritten digits from a file (README.md says where it is from): rows of 64 counts from 0 to 16 and the digit, with
// commas between them.
#include <mtf/core/error.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace digits {

struct rows {
  std::vector<float> pixels;        // 64 a row, from 0 to 1
  std::vector<std::int32_t> label;  // one a row
};
struct data {
  rows train, held_out;  // every fifth row is held out
};

/// Reads the whole file. What is wrong with it is a user_error that names file and line. Every rank reads the same
/// file, so all ranks throw the same one.
inline data read(std::string const& path) {
  constexpr std::size_t columns = 65;
  std::ifstream in(path);
  if (!in) throw mtf::user_error(path + ": cannot be read; a file of handwritten digits was expected");
  data all;
  std::size_t line = 0;
  for (std::string text; std::getline(in, text);) {
    auto const at = path + ":" + std::to_string(++line) + ": ";
    if (text.ends_with('\r')) text.pop_back();
    std::vector<int> row;
    for (std::size_t begin = 0; begin <= text.size();) {
      auto const field = std::string_view(text).substr(begin, text.find(',', begin) - begin);
      begin += field.size() + 1;
      auto const [end, error] = std::from_chars(field.data(), field.data() + field.size(), row.emplace_back());
      if (error != std::errc() || end != field.data() + field.size())
        throw mtf::user_error(at + "column " + std::to_string(row.size()) + ": expected a whole number, found \"" +
                              std::string(field) + "\"");
    }
    if (row.size() != columns)
      throw mtf::user_error(at + "expected " + std::to_string(columns) + " columns, found " +
                            std::to_string(row.size()));
    for (std::size_t i = 0; i < columns; ++i)
      if (int const most = i + 1 < columns ? 16 : 9; row[i] < 0 || row[i] > most)
        throw mtf::user_error(at + (i + 1 < columns ? "column " + std::to_string(i + 1) : "the digit") +
                              ": expected a number from 0 to " + std::to_string(most) + ", found " +
                              std::to_string(row[i]));
    auto& to = line % 5 == 0 ? all.held_out : all.train;
    for (std::size_t i = 0; i + 1 < columns; ++i) to.pixels.push_back(static_cast<float>(row[i]) / 16);
    to.label.push_back(row.back());
  }
  return all;
}

}  // namespace digits
