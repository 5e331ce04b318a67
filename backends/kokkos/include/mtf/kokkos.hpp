#pragma once
// Local compute for mtf on Kokkos: include this one. Needs Kokkos 5; oneDNN on the host, cuBLASLt on CUDA, rocBLAS on
// HIP; Random123.
#include <mtf/kokkos/runtime/backend.hpp>
#include <mtf/kokkos/runtime/first_not_finite.hpp>
