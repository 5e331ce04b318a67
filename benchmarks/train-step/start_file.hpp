#pragma once
// Where a training starts, as a file that others can start from: tensors by name.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

/// A safetensors file: the length of its header (8 bytes, little-endian), the header (JSON: each tensor's type, shape,
/// and where its elements begin and end), and the elements of all tensors, row-major, little-endian.
class start_file {
 public:
  template <class T>
  void add(std::string const& name, std::vector<std::int64_t> const& shape, std::vector<T> const& elements) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>);
    auto const begin = elements_.size();
    elements_.append(reinterpret_cast<char const*>(elements.data()), elements.size() * sizeof(T));
    header_[name] = {{"dtype", std::is_same_v<T, float> ? "F32" : "I32"},
                     {"shape", shape},
                     {"data_offsets", {begin, elements_.size()}}};
  }
  /// False if it cannot be written.
  [[nodiscard]] bool write(std::string const& path) const {
    std::string header = header_.dump();
    header.resize((header.size() + 7) / 8 * 8, ' ');  // the elements begin aligned
    std::uint64_t const length = header.size();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<char const*>(&length), sizeof length);
    out << header << elements_;
    out.close();
    return static_cast<bool>(out);
  }

 private:
  nlohmann::json header_;
  std::string elements_;
};
