#pragma once
// What a decoder may see.
#include <cstdint>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/iota.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>  // IWYU pragma: keep (operators)

namespace mtf {

/// True where a query may see a key: the position along Key does not exceed that along Query. Nothing is sent.
template <dimension Query, dimension Key, layout_type Layout, class Backend>
constexpr auto causal_mask(Backend& b) {
  using positions = tensor<std::int32_t, shape<Query, Key>, Layout, partial<>, Backend>;
  return iota<Query, positions>(b) >= iota<Key, positions>(b);
}

}  // namespace mtf
