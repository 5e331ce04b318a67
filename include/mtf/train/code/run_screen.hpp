#pragma once
// Whether there is a terminal.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <mtf/train/run_screen.hpp>  // NOLINT(misc-header-include-cycle)

namespace mtf {

namespace detail {

/// Open MPI gives its ranks a pseudo-terminal whatever it writes to itself: then its own standard output is asked.
inline bool on_terminal() {
  if (::isatty(STDOUT_FILENO) != 1) return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
  int const launcher = ::open(("/proc/" + std::to_string(::getppid()) + "/fd/1").c_str(), O_WRONLY | O_NOCTTY);
  bool const terminal = launcher >= 0 && ::isatty(launcher) == 1;
  if (launcher >= 0) ::close(launcher);
  return terminal;
}

}  // namespace detail

run_screen::run_screen(bool speaks)
    : terminal_(speaks && detail::on_terminal()), to_("standard output", speaks ? stdout : nullptr) {}

}  // namespace mtf
