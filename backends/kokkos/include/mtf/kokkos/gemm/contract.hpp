#pragma once
// Matrix products: by which library, for an execution space. Each is known to one file only.
#include <utility>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <mtf/backend/primitives/contraction.hpp>
#include <mtf/kokkos/launch/copy.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/device.hpp>

#if MTF_HAS_DEVICES
#include <mtf/kokkos/launch/batch.hpp>
#endif
#if defined(MTF_CUDNN)
#include <mtf/kokkos/vendor/fused_attention.hpp>
#endif
#if defined(KOKKOS_ENABLE_CUDA)
#include <mtf/kokkos/gemm/contract_cublaslt.hpp>
#elif defined(KOKKOS_ENABLE_HIP)
#include <mtf/kokkos/gemm/contract_rocblas.hpp>
#else
#include <mtf/kokkos/gemm/contract_onednn.hpp>
#endif

namespace mtf::kokkos {

/// What primitives get of a rank's backend.
template <class Exec>
struct resources : device<Exec> {
  explicit resources(Exec on) : device<Exec>{std::move(on)} {}
  contractor<Exec> products;
#if MTF_HAS_DEVICES
  batch<Exec> noted{};
#endif
#if defined(MTF_CUDNN)
  fused_attention fused{};
#endif
};

template <class Exec, class T>
void compute(resources<Exec>& on, primitives::contract<T> const& p) {
  Kokkos::Profiling::ScopedRegion const region(p.name);
  if constexpr (contractor<Exec>::adds_bias) {
    on.products.contract(on, p.of, p.a, p.b, p.c, p.accumulate, p.bias);
  } else {
    if (p.bias != nullptr) fill_rows(on, p.of, p.c, p.bias);
    on.products.contract(on, p.of, p.a, p.b, p.c, p.accumulate || p.bias != nullptr);
  }
}

MTF_COMPILED(resources, contract)

}  // namespace mtf::kokkos
