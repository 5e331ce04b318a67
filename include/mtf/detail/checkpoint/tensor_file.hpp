#pragma once
// A file of tensors that is read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <mtf/checkpoint/array_source.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/detail/checkpoint/checksum.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/mapped_file.hpp>

namespace mtf::detail {

/// An open safetensors file, or what is read as if it were one.
struct tensor_file {
  file in;
  safetensors_header header;
  std::uint32_t header_checksum = 0;
  std::unique_ptr<mapped_file> data;
  std::shared_ptr<array_source const> other;  // which then has no data
  std::string part;  // whose tensors it has; empty: of whatever is read, as another tool's files are

  explicit tensor_file(std::shared_ptr<array_source const> from) : other(std::move(from)) {
    header.arrays = other->arrays();
  }

  explicit tensor_file(std::string const& path) : in(file::to_read(path)) {
    auto const begin = std::min<std::uint64_t>(in.size(), 8);
    std::string text(static_cast<std::size_t>(begin), '\0');
    in.read(0, text.data(), text.size());
    std::uint64_t length = 0;
    for (std::size_t i = text.size(); i-- > 0;) length = length << 8U | static_cast<unsigned char>(text[i]);
    if (begin == 8 && length <= in.size() - 8 && length <= longest_safetensors_header) {
      text.resize(static_cast<std::size_t>(8 + length));
      in.read(8, text.data() + 8, text.size() - 8);
    }
    header = safetensors_from(text, in.size(), path);
    header_checksum = checksum_of(text.data(), text.size());
    data = std::make_unique<mapped_file>(in);
    data->expect_long_reads();
  }
  [[nodiscard]] std::string const& path() const { return other ? other->path() : in.path(); }
  /// Calls f(first byte of the arrays, null if there is no such place). Throws `lost_pages` if some are gone.
  template <class F>
  void look(F const& f) const {
    if (other)
      f(static_cast<char const*>(nullptr));
    else
      data->read([&](char const* begin) { f(begin + header.data); });
  }
};

}  // namespace mtf::detail
