#pragma once
// What NCCL does not combine as the library has it, from the blocks of all ranks: maxima and minima of which NaN is
// one, bools, and sums of the ranks before.
#include <cstddef>
#include <cstdint>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/core/element.hpp>
#include <mtf/nccl/error.hpp>

/// Collectives of GPUs, by NCCL.
namespace mtf::nccl {

/// out[i] = the combination of element i of `blocks` blocks, one after the other.
template <combine Op, class T>
__global__ void combine_blocks(T* out, T const* all, std::size_t count, int blocks) {
  auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    T x = blocks > 0 ? all[i] : T(0);
    for (int b = 1; b < blocks; ++b) x = backend::combined<Op>(x, all[static_cast<std::size_t>(b) * count + i]);
    out[i] = x;
  }
}

/// out = the combination of the first `blocks` blocks of `count` elements, 0 of none.
template <class T>
void combine_as(cudaStream_t stream, combine op, void* out, void const* all, std::size_t count, int blocks) {
  constexpr std::size_t threads = 256, most = 1024;
  std::size_t const wanted = (count + threads - 1) / threads;
  auto const grid = static_cast<unsigned>(wanted < most ? wanted : most);
  auto* const to = static_cast<T*>(out);
  auto const* const from = static_cast<T const*>(all);
  if (op == combine::sum)
    combine_blocks<combine::sum><<<grid, threads, 0, stream>>>(to, from, count, blocks);
  else if (op == combine::max)
    combine_blocks<combine::max><<<grid, threads, 0, stream>>>(to, from, count, blocks);
  else
    combine_blocks<combine::min><<<grid, threads, 0, stream>>>(to, from, count, blocks);
  check(cudaGetLastError(), "combine_blocks");
}
/// The same, of elements whose type is known when it runs.
inline void combine_elements(cudaStream_t stream, combine op, element type, void* out, void const* all,
                             std::size_t count, int blocks) {
  if (count == 0) return;
  switch (type) {
    case element::f32:
      return combine_as<float>(stream, op, out, all, count, blocks);
    case element::f64:
      return combine_as<double>(stream, op, out, all, count, blocks);
    case element::bf16:
      return combine_as<bfloat16>(stream, op, out, all, count, blocks);
    case element::i32:
      return combine_as<std::int32_t>(stream, op, out, all, count, blocks);
    case element::i64:
      return combine_as<std::int64_t>(stream, op, out, all, count, blocks);
    case element::boolean:
      return combine_as<bool>(stream, op, out, all, count, blocks);
  }
}

}  // namespace mtf::nccl
