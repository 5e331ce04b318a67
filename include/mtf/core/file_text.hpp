#pragma once
// A text file, whole.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <system_error>

#include <mtf/core/error.hpp>

namespace mtf {

/// The bytes of a regular file, of at most `most`. What is none, cannot be read or is longer is a user_error that
/// begins with `says`, or with the path.
inline std::string text_of_file(std::string const& path, std::uint64_t most = std::uint64_t{1} << 28U,
                                std::string const& says = "") {
  auto const& name = says.empty() ? path : says;
  auto const cannot = [&](std::string const& why) { throw user_error(name + " cannot be read: " + why); };
  std::error_code none;
  auto const what = std::filesystem::status(path, none);
  // (A directory opens, and a pipe would be waited for.)
  if (is_directory(what)) cannot("it is a directory");
  if (exists(what) && !is_regular_file(what)) cannot("it is no regular file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) cannot(errno != 0 ? std::generic_category().message(errno) : "it does not open");
  std::uintmax_t const said = std::filesystem::file_size(path, none);
  // (0 of what the system makes while it is read, as in /proc.)
  std::uint64_t const bytes = none ? 0 : said;
  auto const hold = [&](std::uint64_t n) {
    if (n > most)
      throw user_error(name + " has " + std::to_string(n) + " bytes; at most " + std::to_string(most) + " are read");
  };
  hold(bytes);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::size_t has = 0;
  while (in) {
    if (has == text.size()) text.resize(has + 4096);
    in.read(text.data() + has, static_cast<std::streamsize>(text.size() - has));
    has += static_cast<std::size_t>(in.gcount());
    hold(has);
  }
  if (in.bad() || has < bytes) cannot("it is shorter than it was, or the disk fails");
  text.resize(has);
  return text;
}

}  // namespace mtf
