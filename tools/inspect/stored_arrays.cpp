#include "stored_arrays.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/checkpoint/stored_names.hpp>
#include <mtf/core/error.hpp>

namespace mtf::tools {
namespace {

/// The file's header, which its first eight bytes say the length of.
mtf::safetensors_header header_of(std::string const& path, std::uint64_t& bytes) {
  std::error_code failed;
  auto const size = std::filesystem::file_size(path, failed);
  std::ifstream in(path, std::ios::binary);
  std::string text(8, '\0');
  if (failed || !in.read(text.data(), 8)) throw mtf::user_error(path + " cannot be read, or is no safetensors file");
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8U | static_cast<unsigned char>(text[i]);
  constexpr std::uint64_t longest = 100'000'000;  // the format's
  if (length <= longest && length <= size - 8) {
    text.resize(static_cast<std::size_t>(8 + length));
    if (!in.read(text.data() + 8, static_cast<std::streamsize>(length)))
      throw mtf::user_error(path + " cannot be read");
  }
  bytes += size;
  return mtf::safetensors_from(text, size, path);
}

std::set<std::string> files_of(std::string const& index) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(index, none)) throw mtf::user_error(index + " is no file");
  std::ifstream in(index, std::ios::binary);
  auto const json = nlohmann::json::parse(in, nullptr, false);
  std::set<std::string> files;
  if (json.is_object() && json.contains("weight_map") && json["weight_map"].is_object())
    for (auto const& [tensor, file] : json["weight_map"].items())
      if (file.is_string()) files.insert(file.get<std::string>());
  if (files.empty()) throw mtf::user_error(index + " is no index of safetensors files");
  return files;
}

/// The name that files have of a tensor, by one of the patterns, in which * stands for a layer's number; else empty.
std::string stored_as(mtf::stored_name const& pattern, std::string const& name) {
  auto const star = pattern.here.find('*');
  if (star == std::string::npos) return pattern.here == name ? pattern.stored : "";
  auto const before = pattern.here.substr(0, star), behind = pattern.here.substr(star + 1);
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) || !name.ends_with(behind)) return "";
  std::int64_t layer = 0;
  auto const *const begin = name.data() + before.size(), *const end = name.data() + name.size() - behind.size();
  if (auto const [last, error] = std::from_chars(begin, end, layer); error != std::errc{} || last != end) return "";
  auto stored = pattern.stored;
  if (auto const at = stored.find('*'); at != std::string::npos)
    stored.replace(at, 1, std::to_string(pattern.first + layer));
  return stored;
}

/// The shape of the array, by a stored_name::form that mtf::load takes: what is in parentheses is one dimension, 1/3
/// stands for three parts.
std::vector<std::int64_t> stored_shape(std::string const& form, model_tensor const& t) {
  std::vector<std::int64_t> shape;
  if (form.empty())
    for (auto const& [name, extent] : t.dims) shape.push_back(extent);
  bool inside = false;
  for (std::size_t at = 0; at < form.size();) {
    if (form[at] == '(') shape.push_back(1);
    if (form[at] == '(' || form[at] == ')') inside = form[at] == '(';
    if (std::string_view("() ").find(form[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    auto const end = std::min(form.find_first_of("() ", at), form.size());
    auto const word = form.substr(at, end - at);
    auto const dim = std::find_if(t.dims.begin(), t.dims.end(), [&](auto const& d) { return d.first == word; });
    auto const extent = dim != t.dims.end() ? dim->second : std::stoll(word.substr(word.find('/') + 1));
    if (!inside) shape.push_back(1);
    shape.back() *= extent;
    at = end;
  }
  return shape;
}

bool matches(std::string_view pattern, std::string_view name) {
  auto const star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  for (auto at = star; at <= name.size(); ++at)
    if (matches(pattern.substr(star + 1), name.substr(at))) return true;
  return false;
}

stored_arrays arrays_in(std::string const& directory) {
  std::error_code none;
  stored_arrays found;
  if (auto const index = directory + "/model.safetensors.index.json"; std::filesystem::exists(index, none)) {
    auto const files = files_of(index);
    found.files.assign(files.begin(), files.end());
  } else if (std::filesystem::exists(directory + "/model.safetensors", none)) {
    found.files = {"model.safetensors"};
  }
  std::set<std::string> names;
  for (auto const& file : found.files) {
    auto const header = header_of(directory + "/" + file, found.bytes);
    for (auto const& array : header.arrays)
      if (!names.insert(array.name).second)
        throw mtf::user_error(directory + "/" + file + ": the tensor " + array.name + " is in another file too");
    found.arrays.insert(found.arrays.end(), header.arrays.begin(), header.arrays.end());
  }
  for (auto const& array : found.arrays) found.types.push_back(array.type);
  return found;
}

}  // namespace

stored_arrays arrays_of(model_source const& model) {
  auto const arrays = model.arrays();
  if (!arrays) return arrays_in(model.path());
  stored_arrays found{.files = {std::filesystem::path(model.path()).filename()},
                      .bytes = model.gguf_bytes(),
                      .arrays = arrays->arrays()};
  for (std::size_t i = 0; i < found.arrays.size(); ++i) found.types.push_back(model.type_of_array(i));
  return found;
}

file_differences differences_of(stored_arrays const& files, std::vector<model_tensor> const& tensors,
                                mtf::stored_names const& names) {
  std::map<std::string, mtf::stored_array const*> there;
  for (auto const& array : files.arrays) there.emplace(array.name, &array);
  file_differences found;
  std::set<std::string> known;
  auto const without_prefix = [&](std::string const& name) {
    return name.starts_with(names.prefix) ? name.substr(names.prefix.size()) : name;
  };
  for (auto const& t : tensors) {
    std::string stored, form;
    for (auto const& pattern : names.tensors) {
      stored = stored_as(pattern, t.name);
      form = pattern.form;
      if (!stored.empty()) break;
    }
    if (stored.empty()) throw mtf::user_error("the tensor " + t.name + " has no name in files");
    // One array may be several tensors: what is so of it is said once.
    if (!known.insert(stored).second) continue;
    auto at = there.find(stored);
    if (at == there.end()) at = there.find(without_prefix(stored));
    if (at == there.end()) {
      found.missing.push_back(stored);
      continue;
    }
    auto const& array = *at->second;
    known.insert(array.name);
    if (auto const shape = stored_shape(form, t); array.shape != shape)
      found.different.push_back(array.name + " is [" + text_of(array.shape) + "]; the model's is [" + text_of(shape) +
                                "]");
    constexpr std::array<std::string_view, 4> floating{"F32", "BF16", "F16", "F64"};
    if (std::find(floating.begin(), floating.end(), array.type) == floating.end())
      found.different.push_back(array.name + " has elements " + array.type + ", which are not read as floating ones");
  }
  for (auto const& array : files.arrays) {
    auto const full = array.name.starts_with(names.prefix) ? array.name : names.prefix + array.name;
    auto const is = [&](std::string const& pattern) { return matches(pattern, array.name) || matches(pattern, full); };
    if (!known.contains(array.name) && std::none_of(names.not_parameters.begin(), names.not_parameters.end(), is) &&
        std::none_of(names.copies.begin(), names.copies.end(), [&](auto const& c) { return is(c.copy); }))
      found.unexpected.push_back(array.name);
  }
  return found;
}

std::string without_numbers(std::string const& name) {
  std::string text;
  for (std::size_t at = 0; at <= name.size();) {
    auto const end = std::min(name.find('.', at), name.size());
    auto const word = name.substr(at, end - at);
    bool const number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    text += (at == 0 ? "" : ".") + (number ? "*" : word);
    at = end + 1;
  }
  return text;
}

std::string text_of(std::vector<std::int64_t> const& shape) {
  std::string text;
  for (auto const n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}

}  // namespace mtf::tools
