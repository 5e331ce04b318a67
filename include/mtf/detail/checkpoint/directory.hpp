#pragma once
// Which directories are checkpoints, and what of them may be removed: what mtf wrote, and nothing else.
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <mtf/core/error.hpp>

namespace mtf::detail {

/// Whether there is a checkpoint.
inline bool is_checkpoint(std::string const& directory) {
  std::error_code none;
  return std::filesystem::is_regular_file(directory + "/manifest.json", none);
}

/// Whether a checkpoint has files of such names, or has them while it is written.
inline bool is_name_in_checkpoint(std::string_view name) {
  if (auto const fresh = name.find(".new-"); fresh != std::string_view::npos) name = name.substr(0, fresh);
  return name == "manifest.json" || name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
}

/// What a directory has that no checkpoint has, nor is one of these texts of it, by its name: empty if there is
/// nothing. Of what is no directory: itself.
inline std::string other_than_checkpoint(std::string const& directory, std::set<std::string> const& texts = {}) {
  namespace fs = std::filesystem;
  std::error_code why;
  if (!fs::exists(directory, why)) return {};
  if (!fs::is_directory(directory, why)) return directory;
  for (fs::directory_iterator at(directory, why), end; !why && at != end; at.increment(why)) {
    auto const name = at->path().filename().string();
    std::error_code none;
    if (!(is_name_in_checkpoint(name) || texts.contains(name)) || !at->is_regular_file(none))
      return directory + "/" + name;
  }
  return {};
}

/// Removes a checkpoint with these texts, or what an interrupted one left: the manifest first, as without it there is
/// none. What else is in the directory stays, and then the directory too. What cannot be removed stays.
inline void remove_checkpoint(std::string const& directory, std::set<std::string> const& texts = {}) {
  namespace fs = std::filesystem;
  std::error_code none;
  fs::remove(directory + "/manifest.json", none);
  std::error_code why;
  for (fs::directory_iterator at(directory, why), end; !why && at != end; at.increment(why))
    if (auto const name = at->path().filename().string(); is_name_in_checkpoint(name) || texts.contains(name))
      fs::remove(at->path(), none);
  fs::remove(directory, none);
}

/// Refuses to replace or remove a directory that has more than a checkpoint, as a user_error that names it.
inline void check_is_checkpoints_alone(std::string const& directory, std::set<std::string> const& texts = {}) {
  auto const other = other_than_checkpoint(directory, texts);
  if (!other.empty())
    throw user_error(other + " is there, and is no part of a checkpoint: it would be lost; move it away, or give " +
                     "another directory");
}

}  // namespace mtf::detail
