#pragma once
// What a program prints is written, or its end says that it is not.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <mtf/core/error.hpp>

namespace mtf {

/// What was printed is with the system when this returns. A user_error: it could not be written, as to a full disk.
inline void check_standard_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  std::string const why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  std::clearerr(stdout);
  throw user_error("standard output cannot be written" + why);
}

}  // namespace mtf
