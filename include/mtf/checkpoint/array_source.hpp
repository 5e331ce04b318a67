#pragma once
// Arrays that are read as if safetensors files had them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mtf {

struct stored_array;

/// Arrays in files of another format, whose elements may be made while they are read, such as widened ones. A rank asks
/// for the bytes of its shards and no others. One object is read by one thread at a time.
class array_source {
 public:
  array_source() = default;
  array_source(array_source const&) = delete;
  array_source& operator=(array_source const&) = delete;
  virtual ~array_source() = default;

  /// What errors call the file.
  [[nodiscard]] virtual std::string const& path() const = 0;
  /// Each with its name, type and shape, and with as many bytes from `begin` to `end` as these say.
  [[nodiscard]] virtual std::vector<stored_array> const& arrays() const = 0;
  /// Bytes of the i-th array from `begin` on, counted from its first one: row-major, as safetensors files have them.
  /// What cannot be read is a user_error.
  virtual void read(std::size_t i, std::uint64_t begin, std::span<char> to) const = 0;
};

}  // namespace mtf
