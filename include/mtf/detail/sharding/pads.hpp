#pragma once
// Pads: the last positions of a dimension that ranks do not divide. They are 0 in every tensor and gradient.
#include <cstddef>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/shard.hpp>

namespace mtf::detail {

/// Makes the pads of a shard zeros, of elements of so many bytes. Nothing, on ranks that have none.
template <class Backend>
constexpr void zero_pads(Backend& b, sharding const& s, char* shard, std::size_t element) {
  auto const& mesh = b.ranks().mesh();
  int const rank = b.ranks().rank();
  for (int d = 0; d < s.ndim; ++d) {
    if (s[d].pad == 0) continue;
    rows const r = rows_without_pads(rows_along(s, d, mesh), s, d, mesh, rank);
    auto const bytes = r.inner * static_cast<index>(element);
    if (r.n != r.stored) b.run(primitives::zero_pads{r.outer, r.n * bytes, r.stored * bytes, shard});
  }
}
/// The same of memory.
template <class Backend>
constexpr void zero_pads(Backend& b, sharding const& s, buffer<Backend> const& memory, std::size_t element) {
  if (!s.padded) return;
  if constexpr (Backend::holds_data)
    zero_pads(b, s, data_of<char>(memory), element);
  else
    zero_pads(b, s, static_cast<char*>(nullptr), element);
}
/// The same of elements.
template <class T, class Backend>
constexpr void zero_pads(Backend& b, sharding const& s, [[maybe_unused]] T* shard) {
  if (!s.padded) return;
  if constexpr (Backend::holds_data)
    zero_pads(b, s, reinterpret_cast<char*>(shard), sizeof(T));
  else
    zero_pads(b, s, static_cast<char*>(nullptr), sizeof(T));
}

}  // namespace mtf::detail
