#pragma once
// Marks functions that run inside kernels: host and device under nvcc and hipcc, plain functions elsewhere.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define MTF_FUNCTION __host__ __device__
#else
/// In front of functions that run inside kernels: host and device under nvcc and hipcc, nothing elsewhere.
#define MTF_FUNCTION
#endif
