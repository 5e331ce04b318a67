#pragma once
// Where a training starts, as a safetensors file that others can start from: tensors by name.
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <mtf/checkpoint/safetensors.hpp>

class start_file {
 public:
  /// A tensor that is here whole, row-major.
  template <class T>
  void add(std::string const& name, std::vector<std::int64_t> const& shape, std::vector<T> const& elements) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>);
    header_.arrays.push_back({name, std::is_same_v<T, float> ? "F32" : "I32", shape});
    elements_[name].assign(reinterpret_cast<char const*>(elements.data()), elements.size() * sizeof(T));
  }
  /// False if it cannot be written.
  [[nodiscard]] bool write(std::string const& path) {
    std::ofstream out(path, std::ios::binary);
    out << mtf::lay_out(header_);
    for (auto const& a : header_.arrays) out << elements_[a.name];
    out.close();
    return static_cast<bool>(out);
  }

 private:
  mtf::safetensors_header header_;
  std::map<std::string, std::string> elements_;
};
