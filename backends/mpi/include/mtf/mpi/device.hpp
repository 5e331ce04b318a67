#pragma once
// Whether MPI reads and writes GPU memory.
#include <mtf/mpi/error.hpp>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace mtf {

/// True if the MPI library takes device pointers; asks the running library, not only its headers. Libraries that cannot
/// be asked count as unable.
inline bool mpi_device_aware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace mtf
