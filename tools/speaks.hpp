#pragma once
// Who writes what all ranks could say.
#include <string>

namespace mtf::tools {

/// Is this the first rank? Asked before MPI runs, so that --help needs no mpirun.
bool speaks();
/// Writes what --help says, if this is the first rank. The program's exit code: 0; 2 where the text cannot be written,
/// which is told on standard error.
int tell_help(std::string const& text);

}  // namespace mtf::tools
