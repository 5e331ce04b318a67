#include "output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace transformer {

void output::open(std::string const& name, std::string const& path, char const* mode) {
  name_ = name + " " + path;
  to_ = std::fopen(path.c_str(), mode);
  check(to_ != nullptr);
}

void output::write(std::string const& text) {
  if (to_ != nullptr && failure_.empty())
    check(std::fwrite(text.data(), 1, text.size(), to_) == text.size() && std::fflush(to_) == 0);
}

void output::close() {
  if (to_ != nullptr && to_ != stdout) check(std::fclose(to_) == 0);
  to_ = nullptr;
}

void output::check(bool good) {
  if (!good && failure_.empty()) failure_ = name_ + ": cannot be written: " + std::strerror(errno);
}

}  // namespace transformer
