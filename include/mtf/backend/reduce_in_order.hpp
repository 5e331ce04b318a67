#pragma once
// Elements of several host buffers combined, in the order of the buffers.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/core/element.hpp>

namespace mtf::backend {

/// out[0..count) = in[0][begin + i] op in[1][begin + i] op ...; `out` may be in[r] + begin for any r. Sums of bfloat16
/// are taken in float and rounded once.
template <combine Op, class T>
void reduce_elements(std::vector<void const*> const& in, std::size_t begin, std::size_t count, void* out) {
  using A = compute_t<T>;
  constexpr std::size_t most = 512;
  std::array<A, most> sum;
  auto* const to = static_cast<T*>(out);
  for (std::size_t i = 0; i < count; i += most) {
    auto const n = std::min(most, count - i);
    auto const from = [&](std::size_t r) { return static_cast<T const*>(in[r]) + begin + i; };
    if (T const* const x = from(0); true)
      for (std::size_t j = 0; j < n; ++j) sum[j] = static_cast<A>(x[j]);
    for (std::size_t r = 1; r < in.size(); ++r) {
      T const* const x = from(r);
      for (std::size_t j = 0; j < n; ++j) sum[j] = combined<Op>(sum[j], static_cast<A>(x[j]));
    }
    for (std::size_t j = 0; j < n; ++j) to[i + j] = static_cast<T>(sum[j]);
  }
}

template <combine Op>
void reduce_elements(element type, std::vector<void const*> const& in, std::size_t begin, std::size_t count,
                     void* out) {
  switch (type) {
    case element::f32:
      return reduce_elements<Op, float>(in, begin, count, out);
    case element::f64:
      return reduce_elements<Op, double>(in, begin, count, out);
    case element::bf16:
      return reduce_elements<Op, bfloat16>(in, begin, count, out);
    case element::i32:
      return reduce_elements<Op, std::int32_t>(in, begin, count, out);
    case element::i64:
      return reduce_elements<Op, std::int64_t>(in, begin, count, out);
    case element::boolean:
      return reduce_elements<Op, bool>(in, begin, count, out);
  }
}

/// The same for a combination and a type that are values.
inline void reduce_in_order(combine op, element type, std::vector<void const*> const& in, std::size_t begin,
                            std::size_t count, void* out) {
  switch (op) {
    case combine::sum:
      return reduce_elements<combine::sum>(type, in, begin, count, out);
    case combine::max:
      return reduce_elements<combine::max>(type, in, begin, count, out);
    case combine::min:
      return reduce_elements<combine::min>(type, in, begin, count, out);
  }
}

}  // namespace mtf::backend
