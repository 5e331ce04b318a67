#pragma once
// Failures of NCCL and of CUDA as exceptions.
#include <stdexcept>
#include <string>

#include <nccl.h>

namespace mtf::nccl {

/// A call that failed: which one, and what the library says about it.
struct nccl_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws an nccl_error that names the call, if it has failed.
inline void check(ncclResult_t result, char const* call) {
  if (result != ncclSuccess) throw nccl_error(std::string(call) + ": " + ncclGetErrorString(result));
}
inline void check(cudaError_t result, char const* call) {
  if (result != cudaSuccess) throw nccl_error(std::string(call) + ": " + cudaGetErrorString(result));
}

}  // namespace mtf::nccl
