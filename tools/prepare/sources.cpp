#include "sources.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <mtf/core/error.hpp>
#include <mtf/data/json_line.hpp>

namespace prepare {

bool is_json_lines(std::string const& path) { return path.ends_with(".jsonl") || path.ends_with(".ndjson"); }

std::vector<std::string> files_of(source_options const& options) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (auto const& path : options.paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      all.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    fs::recursive_directory_iterator entry(path, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      std::error_code none;
      if (entry->is_regular_file(none)) inside.push_back(entry->path().string());
    }
    if (error) throw mtf::user_error(path + " cannot be read: " + error.message());
    if (inside.empty()) throw mtf::user_error(path + ": the directory has no files");
    std::sort(inside.begin(), inside.end());
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

piece next_piece(source const& from, std::size_t& at, std::size_t size, source_options const& options,
                 break_function const& break_behind) {
  auto const rest = from.bytes.substr(at);
  piece p{&from, rest, true, at};
  if (from.json_lines) {
    if (rest.size() > size) {
      auto const end = rest.find('\n', size);
      if (end != std::string_view::npos) p.bytes = rest.substr(0, end + 1);
    }
    at += p.bytes.size();
    return p;
  }
  // The end of a document is looked for up to where a piece would end: a document may be longer than memory.
  auto const& separator = options.separator;
  auto const length = rest.size() > size ? break_behind(rest, size) : rest.size();
  auto const end =
      separator.empty() ? std::string_view::npos : rest.substr(0, length + separator.size()).find(separator);
  p.ends_document = end <= length || length == rest.size();
  p.bytes = rest.substr(0, std::min(end, length));
  at += p.bytes.size() + (end <= length ? separator.size() : 0);
  return p;
}

void for_each_json_document(piece const& p, std::string const& field, std::function<void(std::string_view)> const& f) {
  for (std::size_t at = 0; at < p.bytes.size();) {
    auto const end = std::min(p.bytes.find('\n', at), p.bytes.size());
    auto const line = p.bytes.substr(at, end - at);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      auto const where = [&] {
        std::ptrdiff_t lines = 1;
        p.from->file->read([&](std::string_view text) {
          auto const before = text.substr(0, p.begin + static_cast<std::size_t>(line.data() - p.bytes.data()));
          lines += std::count(before.begin(), before.end(), '\n');
        });
        return p.from->path + ":" + std::to_string(lines);
      };
      f(mtf::text_of_json_line(line, field, where));
    }
    at = end + 1;
  }
}

}  // namespace prepare
