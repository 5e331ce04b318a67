#pragma once
// What makes a directory of files a checkpoint: manifest.json, which comes last and says what each of them holds.
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/checkpoint/part.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/detail/checkpoint/checksum.hpp>
#include <mtf/detail/checkpoint/directory.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/version.hpp>

namespace mtf::detail {

/// A file of a checkpoint. `arrays`: CRC-32C of each array's bytes, by name.
struct manifest_file {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t header = 0;  // of the bytes before the arrays
  std::map<std::string, std::uint32_t> arrays;
};
/// `texts`: CRC-32C of further files, by name.
struct manifest {
  checkpoint_notes notes;
  std::vector<manifest_file> files;
  std::map<std::string, std::uint32_t> texts{};
};

inline constexpr char const* manifest_format = "mtf checkpoint 1";

inline std::string mtf_version_text() {
  return "mtf " + std::to_string(MTF_VERSION_MAJOR) + "." + std::to_string(MTF_VERSION_MINOR) + "." +
         std::to_string(MTF_VERSION_PATCH);
}

inline std::string manifest_text(manifest const& m) {
  nlohmann::json all{{"format", manifest_format}, {"written by", mtf_version_text()}, {"notes", m.notes}};
  all["files"] = nlohmann::json::array();
  for (auto const& f : m.files)
    all["files"].push_back({{"name", f.name}, {"bytes", f.bytes}, {"header", f.header}, {"arrays", f.arrays}});
  if (!m.texts.empty()) all["texts"] = m.texts;
  // Of the rest, whatever spaces are between: a bit that turns in a name or a number is found.
  auto const rest = all.dump();
  all["crc32c"] = checksum_of(rest.data(), rest.size());
  return all.dump(1) + "\n";
}

/// A number that has a place in T; `get` alone would take any other one too.
template <class T>
T whole_number(nlohmann::json const& all, std::string const& key, std::string const& path) {
  auto const& number = all.at(key);
  if (!number.is_number_unsigned() || number.get<std::uint64_t>() > std::numeric_limits<T>::max())
    throw user_error(path + ": " + key + " is no number from 0 to " + std::to_string(std::numeric_limits<T>::max()));
  return number.get<T>();
}
/// The name of a file that another one names, which must be in the same directory.
inline std::string name_beside(std::string const& name, std::string const& named_in) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    throw user_error(named_in + " names a file of another directory, or none: \"" + name.substr(0, 200) + "\"");
  return name;
}

/// The manifest in a directory; another one is a user_error.
inline manifest read_manifest(std::string const& directory) {
  auto const path = directory + "/manifest.json";
  auto all = strict_json(text_of_file(path), path);
  try {
    auto const checksum = whole_number<std::uint32_t>(all, "crc32c", path);
    all.erase("crc32c");
    auto const rest = all.dump();
    if (checksum_of(rest.data(), rest.size()) != checksum)
      throw user_error(path + " is damaged: its checksum is not the one that it says");
    if (all.at("format") != manifest_format)
      throw user_error(path + " is of another format, " + all.at("format").dump() + "; " + mtf_version_text() +
                       " reads \"" + manifest_format + "\"");
    manifest m{.notes = all.at("notes").get<checkpoint_notes>(), .files = {}};
    for (auto const& f : all.at("files")) {
      auto& to = m.files.emplace_back();
      to.name = name_beside(f.at("name"), path);
      to.bytes = whole_number<std::uint64_t>(f, "bytes", path);
      to.header = whole_number<std::uint32_t>(f, "header", path);
      auto const& arrays = f.at("arrays");
      if (!arrays.is_object()) throw user_error(path + ": arrays is no JSON object");
      for (auto const& array : arrays.items())
        to.arrays[array.key()] = whole_number<std::uint32_t>(arrays, array.key(), path);
    }
    if (all.contains("texts")) {
      auto const& texts = all.at("texts");
      if (!texts.is_object()) throw user_error(path + ": texts is no JSON object");
      for (auto const& text : texts.items())
        m.texts[name_beside(text.key(), path)] = whole_number<std::uint32_t>(texts, text.key(), path);
    }
    return m;
  } catch (nlohmann::json::exception const& e) {
    throw user_error(path + " is no checkpoint's: " + e.what());
  }
}

/// The further files of a checkpoint that are as they were written.
inline std::set<std::string> texts_of(std::string const& directory) {
  std::set<std::string> names;
  manifest m;
  try {
    if (is_checkpoint(directory)) m = read_manifest(directory);
  } catch (user_error const&) {
    return names;  // a damaged one says of none
  }
  for (auto const& [name, checksum] : m.texts) {
    std::error_code none;
    auto const path = directory + "/" + name;
    if (!std::filesystem::is_regular_file(path, none)) continue;
    auto const text = text_of_file(path);
    if (checksum_of(text.data(), text.size()) == checksum) names.insert(name);
  }
  return names;
}

}  // namespace mtf::detail
