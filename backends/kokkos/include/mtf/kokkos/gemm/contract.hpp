#pragma once
// Which library multiplies matrices for an execution space. Each is known to one file only.
#include <mtf/kokkos/runtime/device.hpp>

#if defined(KOKKOS_ENABLE_CUDA)
#include <mtf/kokkos/gemm/contract_cublaslt.hpp>
#elif defined(KOKKOS_ENABLE_HIP)
#include <mtf/kokkos/gemm/contract_rocblas.hpp>
#else
#include <mtf/kokkos/gemm/contract_onednn.hpp>
#endif
