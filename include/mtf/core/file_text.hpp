#pragma once
// A text file, whole.
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <system_error>

#include <mtf/core/error.hpp>

namespace mtf {

/// Its bytes. One that cannot be read, or is a directory, is a user_error that begins with `says`, or with the path.
inline std::string text_of_file(std::string const& path, std::string const& says = "") {
  auto const& name = says.empty() ? path : says;
  std::error_code none;
  // (Reading one would throw an exception of the standard library's.)
  if (std::filesystem::is_directory(path, none)) throw user_error(name + " is a directory; a file was expected");
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in) throw user_error(name + " cannot be read");
  return text;
}

}  // namespace mtf
