#pragma once
// Which library multiplies matrices for an execution space. Each is known to one file only.
#include <mtf/kokkos/device.hpp>

#if defined(KOKKOS_ENABLE_CUDA)
#include <mtf/kokkos/contract_cublaslt.hpp>
#elif defined(KOKKOS_ENABLE_HIP)
#include <mtf/kokkos/contract_rocblas.hpp>
#else
#include <mtf/kokkos/contract_onednn.hpp>
#endif
