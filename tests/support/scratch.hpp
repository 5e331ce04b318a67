#pragma once
// What tests of files share.
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

#include "error_of.hpp"

/// An empty directory that goes with its owner.
struct scratch {
  std::string path = (std::filesystem::temp_directory_path() / ("mtf-test-" + std::to_string(::getpid()))).string();
  scratch() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~scratch() {
    std::error_code none;  // a test may have left it read-only
    std::filesystem::remove_all(path, none);
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  [[nodiscard]] std::string of(std::string const& name) const { return path + "/" + name; }
};

inline bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

inline void write_bytes(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
inline std::string bytes_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}
