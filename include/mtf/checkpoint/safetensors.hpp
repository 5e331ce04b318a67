#pragma once
// Headers of safetensors files, the format in which the field keeps tensors: 8 bytes with the length of a JSON, which
// says of each array its name, element type, shape and bytes; then these bytes, dense and row-major. Needs
// nlohmann-json. https://github.com/huggingface/safetensors, "Format".
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>

namespace mtf {

/// An array in a file.
struct stored_array {
  std::string name;
  std::string type{};                 // as the file says it: "F32", "BF16"
  std::vector<std::int64_t> shape{};  // outermost first; empty: one number
  std::uint64_t begin = 0, end = 0;   // its bytes, counted from the first array's
  bool operator==(stored_array const&) const = default;
};

/// What a safetensors file says about itself.
struct safetensors_header {
  std::vector<stored_array> arrays;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  std::uint64_t data = 0;  // where the first array begins in the file
};

namespace detail {

/// A type of the format: its name, the bytes of an element, and what it is here.
struct stored_type {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<element> here{};
};
/// From the smallest elements to the largest, as in the format's own library, which writes the last first.
inline constexpr std::array<stored_type, 15> stored_types{{{"BOOL", 1, element::boolean},
                                                           {"U8", 1},
                                                           {"I8", 1},
                                                           {"F8_E5M2", 1},
                                                           {"F8_E4M3", 1},
                                                           {"I16", 2},
                                                           {"U16", 2},
                                                           {"F16", 2},
                                                           {"BF16", 2, element::bf16},
                                                           {"I32", 4, element::i32},
                                                           {"U32", 4},
                                                           {"F32", 4, element::f32},
                                                           {"F64", 8, element::f64},
                                                           {"I64", 8, element::i64},
                                                           {"U64", 8}}};
/// Null: no such type.
constexpr stored_type const* stored_type_of(std::string_view name) {
  for (auto const& t : stored_types)
    if (t.name == name) return &t;
  return nullptr;
}
constexpr std::string_view stored_name_of(element e) {
  for (auto const& t : stored_types)
    if (t.here == e) return t.name;
  return {};
}

inline constexpr std::uint64_t longest_safetensors_header = 100'000'000;  // as in the format's own library

/// One entry of the JSON.
inline stored_array array_from(std::string const& name, nlohmann::json const& entry, std::string const& file) {
  auto const wrong = [&](std::string const& what) { return user_error(file + ": the array " + name + " " + what); };
  auto const whole = [](nlohmann::json const& j) { return j.is_number_unsigned(); };
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets"))
    throw wrong("is not described by dtype, shape and data_offsets");
  auto const &type = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  stored_array a{.name = name};
  auto const* const known = type.is_string() ? stored_type_of(type.get_ref<std::string const&>()) : nullptr;
  if (known == nullptr) throw wrong("has an unknown dtype, " + type.dump(-1, ' ', true).substr(0, 40));
  a.type = known->name;
  std::uint64_t bytes = known->bytes;
  if (!shape.is_array()) throw wrong("has no list of extents as its shape");
  for (auto const& extent : shape) {
    auto const n = whole(extent) ? extent.get<std::uint64_t>() : ~std::uint64_t{0};
    if (n > (std::uint64_t{1} << 62U) || (n != 0 && bytes > (std::uint64_t{1} << 62U) / n))
      throw wrong("has an impossible shape, " + shape.dump().substr(0, 80));
    bytes *= n;
    a.shape.push_back(static_cast<std::int64_t>(n));
  }
  if (!offsets.is_array() || offsets.size() != 2 || !whole(offsets[0]) || !whole(offsets[1]))
    throw wrong("has no two data_offsets");
  a.begin = offsets[0].get<std::uint64_t>();
  a.end = offsets[1].get<std::uint64_t>();
  if (a.begin > a.end || a.end - a.begin != bytes)
    throw wrong("should have " + std::to_string(bytes) + " bytes by its shape and dtype, but its data_offsets are " +
                offsets.dump());
  return a;
}

}  // namespace detail

/// The header at the begin of a file of `file_bytes` bytes. `text`: the file's first bytes, at least as many as the
/// header has. `file` names it in errors. A user_error: anything but whole arrays that fill the file, without holes and
/// overlaps, described by keys of which none is there twice.
inline safetensors_header safetensors_from(std::string_view text, std::uint64_t file_bytes, std::string const& file) {
  safetensors_header h;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;)
    length = length << 8U | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  if (file_bytes < 8 || length > file_bytes - 8)
    throw user_error(file + " is no safetensors file, or not whole: it has " + std::to_string(file_bytes) +
                     " bytes, and its header should have " + std::to_string(length));
  if (length > detail::longest_safetensors_header || length > text.size() - 8)
    throw user_error(file + ": the header has " + std::to_string(length) + " bytes, more than are read");
  auto const json = detail::strict_json(text.substr(8, static_cast<std::size_t>(length)), file + ": the header");
  if (!json.is_object()) throw user_error(file + ": the header is no JSON object");
  for (auto const& [name, entry] : json.items()) {
    if (name != "__metadata__") {
      h.arrays.push_back(detail::array_from(name, entry, file));
      continue;
    }
    if (!entry.is_object()) throw user_error(file + ": __metadata__ is no JSON object");
    for (auto const& [key, value] : entry.items()) {
      if (!value.is_string()) throw user_error(file + ": in __metadata__, " + key + " is no text");
      h.metadata[key] = value.get<std::string>();
    }
  }
  std::sort(h.arrays.begin(), h.arrays.end(),
            [](auto const& a, auto const& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t filled = 0;
  for (auto const& a : h.arrays) {
    if (a.begin != filled)
      throw user_error(file + ": the array " + a.name + " begins at byte " + std::to_string(a.begin) +
                       (a.begin < filled ? ", inside another one" : ", behind a hole") + "; it should at " +
                       std::to_string(filled));
    filled = a.end;
  }
  h.data = 8 + length;
  if (filled != file_bytes - h.data)
    throw user_error(file + " has " + std::to_string(file_bytes - h.data) + " bytes of arrays, and should have " +
                     std::to_string(filled));
  return h;
}

/// The first bytes of a file with these arrays: gives each its place, sets `data`, and returns what to write before
/// them. The arrays are sorted as by the format's own library: large elements first, then by name.
inline std::string lay_out(safetensors_header& h) {
  auto const rank = [](stored_array const& a) { return detail::stored_type_of(a.type) - detail::stored_types.data(); };
  std::sort(h.arrays.begin(), h.arrays.end(), [&](auto const& a, auto const& b) {
    return std::pair(-rank(a), std::string_view(a.name)) < std::pair(-rank(b), std::string_view(b.name));
  });
  // Behind each other: by [] each would be looked for among those before.
  nlohmann::ordered_json::object_t entries;
  if (!h.metadata.empty()) entries.emplace_back("__metadata__", h.metadata);
  std::uint64_t at = 0;
  for (auto& a : h.arrays) {
    std::uint64_t bytes = detail::stored_type_of(a.type)->bytes;
    for (auto const n : a.shape) bytes *= static_cast<std::uint64_t>(n);
    a.begin = at;
    a.end = at += bytes;
    entries.emplace_back(
        a.name, nlohmann::ordered_json{{"dtype", a.type}, {"shape", a.shape}, {"data_offsets", {a.begin, a.end}}});
  }
  auto text = nlohmann::ordered_json(std::move(entries)).dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the arrays begin at a multiple of 8
  std::string first(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) first[i] = static_cast<char>(text.size() >> (8 * i) & 255U);
  h.data = 8 + text.size();
  return first + text;
}

}  // namespace mtf
