// A text file is read whole, also one whose size nobody says; what is none is a user_error.
// devices: none
// compilers: first
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <mtf/core/file_text.hpp>

#include "support/error_of.hpp"

namespace {

std::string const here =
    (std::filesystem::temp_directory_path() / ("mtf_file_text_test." + std::to_string(::getpid()))).string();

std::string of_size(std::size_t n) {
  std::string text(n, 'a');
  for (std::size_t i = 0; i < n; i += 7) text[i] = static_cast<char>(i % 251);
  std::ofstream(here, std::ios::binary) << text;
  return text;
}

TEST_CASE("all of a file, of any size") {
  for (std::size_t const n : {0, 1, 4095, 4096, 4097, 100000}) {
    auto const text = of_size(n);
    CHECK(mtf::text_of_file(here) == text);
  }
}
TEST_CASE("what the system makes as it is read") {
  CHECK(std::filesystem::file_size("/proc/self/status") == 0);
  CHECK(mtf::text_of_file("/proc/self/status").starts_with("Name:"));
  CHECK(error_of([] { mtf::text_of_file("/proc/self/status", 10); }).find("at most 10 are read") != std::string::npos);
}
TEST_CASE("refused are longer ones, and what is no file") {
  of_size(11);
  CHECK(mtf::text_of_file(here, 11).size() == 11);
  CHECK(error_of([] { mtf::text_of_file(here, 10); }) == here + " has 11 bytes; at most 10 are read");
  std::filesystem::remove(here);
  CHECK(error_of([] { mtf::text_of_file(here, 10, "--prompts X"); }) ==
        "--prompts X cannot be read: No such file or directory");
  CHECK(error_of([] { mtf::text_of_file("/"); }) == "/ cannot be read: it is a directory");
  REQUIRE(::mkfifo(here.c_str(), 0600) == 0);
  CHECK(error_of([] { mtf::text_of_file(here); }) == here + " cannot be read: it is no regular file");
  std::filesystem::remove(here);
}

}  // namespace
