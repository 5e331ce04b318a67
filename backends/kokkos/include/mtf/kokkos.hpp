#pragma once
// Local compute for mtf on Kokkos: include this one. Needs Kokkos 5; oneDNN on the host, cuBLASLt on CUDA, rocBLAS on
// HIP; Random123.
#include <mtf/kokkos/attention/attention.hpp>
#include <mtf/kokkos/backend/backend.hpp>
#include <mtf/kokkos/kernels/cross_entropy.hpp>
#include <mtf/kokkos/kernels/cumulative.hpp>
#include <mtf/kokkos/kernels/embedding.hpp>
#include <mtf/kokkos/kernels/log_softmax.hpp>
#include <mtf/kokkos/kernels/map.hpp>
#include <mtf/kokkos/kernels/norm.hpp>
#include <mtf/kokkos/kernels/optimizer.hpp>
#include <mtf/kokkos/kernels/parts.hpp>
#include <mtf/kokkos/kernels/product.hpp>
#include <mtf/kokkos/kernels/random.hpp>
#include <mtf/kokkos/kernels/reduce.hpp>
#include <mtf/kokkos/kernels/sample.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/kokkos/kernels/sort.hpp>
#include <mtf/kokkos/kernels/top.hpp>
#include <mtf/kokkos/launch/copy.hpp>
#include <mtf/kokkos/launch/fill.hpp>
#include <mtf/kokkos_compiled.hpp>
