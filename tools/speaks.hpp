#pragma once
// Who writes what all ranks could say.

namespace mtf::tools {

/// Is this the first rank? Asked before MPI runs, so that --help needs no mpirun.
bool speaks();

}  // namespace mtf::tools
