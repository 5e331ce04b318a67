#pragma once
// Marks functions that run inside kernels.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define MTF_FUNCTION __host__ __device__ __attribute__((always_inline)) inline
#else
/// In front of functions that run inside kernels: for host and device under nvcc and hipcc, and inlined always. One
/// call keeps the whole loop around it from being vectorized, and GCC keeps one of what is used twice, such as the
/// function whose derivatives in two operands a kernel computes.
#define MTF_FUNCTION __attribute__((always_inline)) inline
#endif

/// The same behind a lambda's parameters, where GCC, Clang and nvcc take it.
#define MTF_INLINE_LAMBDA __attribute__((always_inline))
