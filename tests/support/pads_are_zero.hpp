#pragma once
#include <cstddef>
#include <cstdint>

#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>

/// Are the pads of a rank's shard 0?
template <class X>
bool pads_are_zero(X const& x) {
  auto const& s = mtf::detail::place_of(x).spec();
  auto const& ranks = x.backend().ranks();
  auto const all = x.local();
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    bool pad = false;
    for (int d = s.ndim - 1; d >= 0; --d) {
      auto const n = s.local_extent(d, ranks.mesh());
      pad = pad || rest % n >= mtf::detail::logical_extent(s, d, ranks.mesh(), ranks.rank());
      rest /= n;
    }
    if (pad && !(all[i] == 0)) return false;
  }
  return true;
}
