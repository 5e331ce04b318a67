#pragma once
// What NCCL cannot combine as the library's definitions have it, from the blocks of all ranks: maxima and minima of
// which NaN is one, and sums of the ranks before.
#include <cstddef>
#include <cstdint>

#include <mtf/backend/collective.hpp>
#include <mtf/core/element.hpp>
#include <mtf/math/order.hpp>
#include <mtf/nccl/error.hpp>

namespace mtf::nccl {

/// How blocks are combined, one after the other.
enum class combining : std::uint8_t { sum, max, min };

template <class T>
__global__ void combine_blocks(combining how, T* out, T const* all, std::size_t count, int blocks) {
  using A = compute_t<T>;
  auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    A x = blocks > 0 ? static_cast<A>(all[i]) : A(0);
    for (int b = 1; b < blocks; ++b) {
      auto const y = static_cast<A>(all[static_cast<std::size_t>(b) * count + i]);
      x = how == combining::sum   ? static_cast<A>(x + y)
          : how == combining::max ? math::larger(x, y)
                                  : math::smaller(x, y);
    }
    out[i] = static_cast<T>(x);
  }
}

template <class T>
void launch_combine(cudaStream_t stream, combining how, void* out, void const* all, std::size_t count, int blocks) {
  constexpr int threads = 256;
  auto const grid =
      static_cast<unsigned>((count + threads - 1) / threads < 1024 ? (count + threads - 1) / threads : 1024);
  if (count > 0)
    combine_blocks<T>
        <<<grid, threads, 0, stream>>>(how, static_cast<T*>(out), static_cast<T const*>(all), count, blocks);
  check(cudaGetLastError(), "combine_blocks");
}

/// out = the combination of the first `blocks` blocks of `count` elements, 0 of none.
inline void combine(cudaStream_t stream, combining how, element type, void* out, void const* all, std::size_t count,
                    int blocks) {
  switch (type) {
    case element::f32:
      return launch_combine<float>(stream, how, out, all, count, blocks);
    case element::f64:
      return launch_combine<double>(stream, how, out, all, count, blocks);
    case element::bf16:
      return launch_combine<bfloat16>(stream, how, out, all, count, blocks);
    case element::i32:
      return launch_combine<std::int32_t>(stream, how, out, all, count, blocks);
    case element::i64:
      return launch_combine<std::int64_t>(stream, how, out, all, count, blocks);
    case element::boolean:  // sum and max: any; min: all
      return launch_combine<std::uint8_t>(stream, how == combining::sum ? combining::max : how, out, all, count,
                                          blocks);
  }
}

}  // namespace mtf::nccl
