#pragma once
// Reads the files that make.py writes (README.md has the format). Needs only the standard library.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtf::reference {

/// One array, row-major; f32 and i32 are widened to double, exactly.
struct array {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<double> values;
};

/// All arrays of one file, read at once. Throws std::runtime_error if the file is missing, malformed, too short or too
/// long, and if an array is asked for that it does not hold.
class file {
 public:
  explicit file(std::string path) : path_(std::move(path)) {
    static_assert(std::endian::native == std::endian::little, "the files are little-endian");
    std::ifstream in(path_, std::ios::binary | std::ios::ate);
    if (!in) fail("cannot be opened");
    auto const bytes = static_cast<std::size_t>(in.tellg());
    in.seekg(0);

    if (next_line(in) != "mtf-reference 1") fail("does not begin with \"mtf-reference 1\"");
    std::istringstream counts(next_line(in));
    std::size_t count = 0;
    if (!(counts >> count)) fail("has no count of arrays in line 2");
    std::vector<std::string> types;
    for (std::size_t i = 0; i < count; ++i) {
      std::string const text = next_line(in);
      std::istringstream words(text);
      array a;
      std::string type;
      std::size_t rank = 0;
      bool good = static_cast<bool>(words >> a.name >> type >> rank);
      for (std::size_t d = 0, extent = 0; good && d < rank; ++d) {
        good = static_cast<bool>(words >> extent);
        a.shape.push_back(extent);
      }
      if (!good || !(words >> std::ws).eof()) fail("has a bad line: \"" + text + "\"");
      if (!at_.emplace(a.name, arrays_.size()).second) fail("has the array \"" + a.name + "\" twice");
      arrays_.push_back(std::move(a));
      types.push_back(std::move(type));
    }
    if (!next_line(in).empty()) fail("has no empty line after its " + std::to_string(count) + " arrays");

    std::size_t left = bytes - static_cast<std::size_t>(in.tellg());
    for (std::size_t i = 0; i < count; ++i) {
      if (types[i] == "f64")
        read<double>(in, arrays_[i], left);
      else if (types[i] == "f32")
        read<float>(in, arrays_[i], left);
      else if (types[i] == "i32")
        read<std::int32_t>(in, arrays_[i], left);
      else
        fail("gives \"" + arrays_[i].name + "\" the unknown type \"" + types[i] + "\"");
    }
    if (left != 0) fail("has " + std::to_string(left) + " bytes after its last array");
  }

  bool has(std::string_view name) const { return at_.find(name) != at_.end(); }

  array const& operator[](std::string_view name) const {
    auto const found = at_.find(name);
    if (found == at_.end()) fail("has no array \"" + std::string(name) + "\"");
    return arrays_[found->second];
  }

  /// All arrays in the order of the file.
  std::vector<array> const& arrays() const { return arrays_; }

 private:
  static_assert(sizeof(float) == 4 && std::numeric_limits<float>::is_iec559);
  static_assert(sizeof(double) == 8 && std::numeric_limits<double>::is_iec559);

  [[noreturn]] void fail(std::string const& what) const {
    throw std::runtime_error("mtf reference: " + path_ + " " + what + "; tests/reference/make.py writes it anew");
  }

  std::string next_line(std::istream& in) const {
    std::string text;
    if (!std::getline(in, text) || in.eof()) fail("ends within its header");
    return text;
  }

  template <class T>
  void read(std::istream& in, array& a, std::size_t& left) const {
    std::size_t size = 1;
    for (std::size_t const extent : a.shape) {
      if (extent != 0 && size > left / extent) fail("ends before the data of \"" + a.name + "\" do");
      size *= extent;
    }
    if (size > left / sizeof(T)) fail("ends before the data of \"" + a.name + "\" do");
    std::vector<T> raw(size);
    in.read(reinterpret_cast<char*>(raw.data()), static_cast<std::streamsize>(size * sizeof(T)));
    if (!in) fail("cannot be read at the data of \"" + a.name + "\"");
    left -= size * sizeof(T);
    a.values.assign(raw.begin(), raw.end());
  }

  std::string path_;
  std::vector<array> arrays_;
  std::map<std::string, std::size_t, std::less<>> at_;
};

}  // namespace mtf::reference
