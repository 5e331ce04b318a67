#pragma once
// What is the same in every program besides kernels (runtime/compiled.hpp): the backend, what tensors on it do at run
// time, the commonest operations and elementwise functions. mtf::kokkos_compiled has it, for float, double and
// bfloat16; programs that link it declare it here.
#if defined(MTF_KOKKOS_COMPILED)
#include <cstdint>

#include <mtf/core/element.hpp>
#include <mtf/kokkos/backend/backend.hpp>
#include <mtf/kokkos/kernels/map.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/ops/compiled.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/tensor/compiled.hpp>

#if defined(MTF_COMPILES_BACKEND)
#define MTF_BACKEND_CODE template
#else
#define MTF_BACKEND_CODE extern template
#endif
// Clang's HIP takes constexpr functions for the device's too, and would compile there what is instantiated explicitly:
// what tensors and operations do is left to programs.
#if defined(KOKKOS_ENABLE_HIP)
#define MTF_COMPILED_UNLESS_HIP(...)
#else
#define MTF_COMPILED_UNLESS_HIP(...) __VA_ARGS__
#endif
#define MTF_COMPILED_BACKEND_ON(EXEC)                                                       \
  MTF_BACKEND_CODE class mtf::kokkos::profiling<EXEC>;                                      \
  MTF_BACKEND_CODE class mtf::kokkos::kokkos_rank<EXEC>;                                    \
  MTF_BACKEND_CODE class mtf::kokkos_backend<EXEC>;                                         \
  MTF_COMPILED_UNLESS_HIP(MTF_COMPILED_TENSORS(MTF_BACKEND_CODE, mtf::kokkos_backend<EXEC>) \
                              MTF_COMPILED_ELEMENTS(MTF_BACKEND_CODE, mtf::kokkos_backend<EXEC>, std::int32_t))

#define MTF_COMPILED_MAP(EXEC, EACH, F, ...)                                                               \
  EACH void mtf::kokkos::compute(mtf::kokkos::device<EXEC>&, mtf::primitives::map<F, __VA_ARGS__> const&); \
  EACH void mtf::kokkos::compute(mtf::kokkos::device<EXEC>&, mtf::primitives::map_vjp<F, __VA_ARGS__> const&);
#define MTF_COMPILED_FLOATING_ON(EXEC, EACH, T)                                                             \
  EACH bool mtf::kokkos::all_finite<EXEC, T>(EXEC const&, mtf::backend::index, T const*);                   \
  MTF_COMPILED_MAP(EXEC, EACH, mtf::functions::add, T, T, T)                                                \
  MTF_COMPILED_MAP(EXEC, EACH, mtf::functions::subtract, T, T, T)                                           \
  MTF_COMPILED_MAP(EXEC, EACH, mtf::functions::multiply, T, T, T)                                           \
  MTF_COMPILED_MAP(EXEC, EACH, mtf::functions::scale<mtf::compute_t<T>>, T, T)                              \
  MTF_COMPILED_MAP(EXEC, EACH, mtf::functions::relu, T, T)                                                  \
  MTF_COMPILED_MAP(EXEC, EACH, mtf::functions::gelu, T, T)                                                  \
  MTF_COMPILED_UNLESS_HIP(MTF_COMPILED_ELEMENTS(EACH, mtf::kokkos_backend<EXEC>, T) MTF_COMPILED_GRADIENTS( \
      EACH, mtf::kokkos_backend<EXEC>, T) MTF_COMPILED_OPERATIONS(EACH, mtf::kokkos_backend<EXEC>, T))

MTF_BACKEND_CODE class mtf::kokkos::memory_pool<Kokkos::DefaultExecutionSpace::memory_space>;
MTF_ON_EACH_SPACE(MTF_COMPILED_BACKEND_ON)
MTF_ON_EACH_SPACE(MTF_COMPILED_FLOATING_ON, MTF_FLOAT_KERNEL, float)
MTF_ON_EACH_SPACE(MTF_COMPILED_FLOATING_ON, MTF_DOUBLE_KERNEL, double)
MTF_ON_EACH_SPACE(MTF_COMPILED_FLOATING_ON, MTF_BFLOAT16_KERNEL, mtf::bfloat16)
#endif
