#pragma once
// Kernels that contain no function of the user's are the same in every program. The library mtf::kokkos_compiled has
// them, for float, double and bfloat16; a program that links it has MTF_KOKKOS_COMPILED and only declares them. Without
// it, which is the default, every program compiles what it uses. (The rest of it: mtf/kokkos_compiled.hpp.)
#include <cstdint>

#include <Kokkos_Core.hpp>

// In a header of kernels, for each primitive: MTF_COMPILED(device, softmax) stands for the `compute` of softmax<T> that
// takes device<Exec>. The library's own files (backends/kokkos/compiled) say by MTF_COMPILES_... which they define.
#if defined(MTF_KOKKOS_COMPILED)
#if defined(MTF_COMPILES_FLOAT)
#define MTF_FLOAT_KERNEL template
#else
#define MTF_FLOAT_KERNEL extern template
#endif
#if defined(MTF_COMPILES_DOUBLE)
#define MTF_DOUBLE_KERNEL template
#else
#define MTF_DOUBLE_KERNEL extern template
#endif
#if defined(MTF_COMPILES_BFLOAT16)
#define MTF_BFLOAT16_KERNEL template
#else
#define MTF_BFLOAT16_KERNEL extern template
#endif
#define MTF_COMPILED_ON(EXEC, ON, NAME)                                       \
  MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::NAME<float> const&);   \
  MTF_DOUBLE_KERNEL void compute(ON<EXEC>&, primitives::NAME<double> const&); \
  MTF_BFLOAT16_KERNEL void compute(ON<EXEC>&, primitives::NAME<bfloat16> const&);
#define MTF_COMPILED_ONCE_ON(EXEC, ON, NAME) MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::NAME const&);
#define MTF_COMPILED_NORM_ON(EXEC, ON, NAME)                                            \
  MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::NAME<true, float> const&);       \
  MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::NAME<false, float> const&);      \
  MTF_DOUBLE_KERNEL void compute(ON<EXEC>&, primitives::NAME<true, double> const&);     \
  MTF_DOUBLE_KERNEL void compute(ON<EXEC>&, primitives::NAME<false, double> const&);    \
  MTF_BFLOAT16_KERNEL void compute(ON<EXEC>&, primitives::NAME<true, bfloat16> const&); \
  MTF_BFLOAT16_KERNEL void compute(ON<EXEC>&, primitives::NAME<false, bfloat16> const&);
#define MTF_COMPILED_COPY_ON(EXEC, ON, NAME)                                                     \
  MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::NAME<float, float> const&);               \
  MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::NAME<float, bfloat16> const&);            \
  MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::NAME<std::int32_t, std::int32_t> const&); \
  MTF_DOUBLE_KERNEL void compute(ON<EXEC>&, primitives::NAME<double, double> const&);            \
  MTF_BFLOAT16_KERNEL void compute(ON<EXEC>&, primitives::NAME<bfloat16, float> const&);         \
  MTF_BFLOAT16_KERNEL void compute(ON<EXEC>&, primitives::NAME<bfloat16, bfloat16> const&);

// Ranks as threads run on Serial beside OpenMP. Where there is a device the host's kernels are not compiled.
#if defined(KOKKOS_ENABLE_SERIAL) && defined(KOKKOS_ENABLE_OPENMP) && !defined(KOKKOS_ENABLE_CUDA) && \
    !defined(KOKKOS_ENABLE_HIP)
#define MTF_ON_EACH_SPACE(KIND, ...)                             \
  KIND(Kokkos::DefaultExecutionSpace __VA_OPT__(, ) __VA_ARGS__) \
  KIND(Kokkos::Serial __VA_OPT__(, ) __VA_ARGS__)
#else
#define MTF_ON_EACH_SPACE(KIND, ...) KIND(Kokkos::DefaultExecutionSpace __VA_OPT__(, ) __VA_ARGS__)
#endif
#define MTF_COMPILED(ON, NAME) MTF_ON_EACH_SPACE(MTF_COMPILED_ON, ON, NAME)
#define MTF_COMPILED_ONCE(ON, NAME) MTF_ON_EACH_SPACE(MTF_COMPILED_ONCE_ON, ON, NAME)
#define MTF_COMPILED_NORM(ON, NAME) MTF_ON_EACH_SPACE(MTF_COMPILED_NORM_ON, ON, NAME)
#define MTF_COMPILED_COPY(ON, NAME) MTF_ON_EACH_SPACE(MTF_COMPILED_COPY_ON, ON, NAME)
#else
#define MTF_COMPILED(ON, NAME)
#define MTF_COMPILED_ONCE(ON, NAME)
#define MTF_COMPILED_NORM(ON, NAME)
#define MTF_COMPILED_COPY(ON, NAME)
#endif
