#pragma once
// MPI failures as exceptions. The one place that includes <mpi.h>.
#include <stdexcept>
#include <string>
#include <string_view>

#include <mtf/core/mesh_shape.hpp>
#include <mtf/mpi/compiled.hpp>

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
MTF_MPI_CODE std::string mpi_text(int code);

/// A call of MPI and the mesh axes it runs over, for the text of an error. `mesh` is a text such as "rows:2 cols:4".
struct mpi_place {
  char const* call;
  std::string_view mesh = {};
  axis_mask axes = 0;

  /// "MPI_Allreduce over rows:2 of mesh rows:2 cols:4"
  [[nodiscard]] MTF_MPI_CODE std::string text() const;
};

/// Throws if `code` is not MPI_SUCCESS.
MTF_MPI_CODE void mpi_check(int code, mpi_place const& at);

}  // namespace mpi
}  // namespace mtf

#if !defined(MTF_MPI_COMPILED)
#include <mtf/mpi/code/error.hpp>
#endif
