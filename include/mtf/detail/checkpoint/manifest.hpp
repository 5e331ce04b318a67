#pragma once
// What makes a directory of files a checkpoint: manifest.json, which comes last and says what each of them holds.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/checkpoint/part.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/checksum.hpp>
#include <mtf/detail/checkpoint/file.hpp>
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
struct manifest {
  checkpoint_notes notes;
  std::vector<manifest_file> files;
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
  // Of the rest, whatever spaces are between: a bit that turns in a name or a number is found.
  auto const rest = all.dump();
  all["crc32c"] = checksum_of(rest.data(), rest.size());
  return all.dump(1) + "\n";
}

/// The manifest in a directory; another one is a user_error.
inline manifest read_manifest(std::string const& directory) {
  auto const path = directory + "/manifest.json";
  auto all = strict_json(text_of_file(path, 1U << 28U), path);
  try {
    auto const checksum = all.at("crc32c").get<std::uint32_t>();
    all.erase("crc32c");
    auto const rest = all.dump();
    if (checksum_of(rest.data(), rest.size()) != checksum)
      throw user_error(path + " is damaged: its checksum is not the one that it says");
    if (all.at("format") != manifest_format)
      throw user_error(path + " is of another format, " + all.at("format").dump() + "; " + mtf_version_text() +
                       " reads \"" + manifest_format + "\"");
    manifest m{.notes = all.at("notes").get<checkpoint_notes>(), .files = {}};
    for (auto const& f : all.at("files"))
      m.files.push_back({f.at("name"), f.at("bytes"), f.at("header"), f.at("arrays")});
    return m;
  } catch (nlohmann::json::exception const& e) {
    throw user_error(path + " is no checkpoint's: " + e.what());
  }
}

}  // namespace mtf::detail
