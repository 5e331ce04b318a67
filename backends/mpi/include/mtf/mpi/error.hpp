#pragma once
// MPI failures as exceptions. The one place that includes <mpi.h>.
#include <stdexcept>
#include <string>
#include <string_view>

#include <mtf/backend/between_ranks.hpp>

// MPI's own C++ bindings left the standard in MPI 3.0; without this Open MPI 4 declares them and wants a second
// library.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

namespace mtf {

/// A call of MPI that failed: which one, over which mesh axes, and what MPI says about it.
struct mpi_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace mpi {

/// MPI's own words for an error code.
inline std::string mpi_text(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

/// A call of MPI and the mesh axes it runs over, for the text of an error. `mesh` is a text such as "rows:2 cols:4".
struct mpi_place {
  char const* call;
  std::string_view mesh = {};
  axis_mask axes = 0;

  /// "MPI_Allreduce over rows:2 of mesh rows:2 cols:4"
  [[nodiscard]] std::string text() const { return backend::place_text(call, axes, mesh); }
};

/// Throws if `code` is not MPI_SUCCESS.
inline void mpi_check(int code, mpi_place const& at) {
  if (code != MPI_SUCCESS) throw mpi_error(at.text() + " failed: " + mpi_text(code));
}

}  // namespace mpi
}  // namespace mtf
