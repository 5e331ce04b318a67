#pragma once
// What queries may see, as a tensor.
#include <cstdint>

#include <mtf/core/host_device.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/iota.hpp>
#include <mtf/ops/elementwise/map.hpp>

namespace mtf {

namespace detail {

struct sees {
  visible seen;
  static constexpr char const* name = "attention_mask";
  MTF_FUNCTION constexpr bool operator()(std::int32_t query, std::int32_t key) const { return seen.sees(query, key); }
};

}  // namespace detail

/// True where a query sees a key, of their positions along Query and Key: what `where` takes. Nothing is sent. What
/// needs data is a comparison: `iota<Key, X>(b) < lengths`, or of segments (packed documents) `of_queries == of_keys`.
template <dimension Query, dimension Key, layout_type Layout, class Backend>
constexpr auto attention_mask(Backend& b, visible const& seen) {
  using positions = tensor<std::int32_t, shape<Query, Key>, Layout, partial<>, Backend>;
  return map(detail::sees{seen}, iota<Query, positions>(b), iota<Key, positions>(b));
}

}  // namespace mtf
