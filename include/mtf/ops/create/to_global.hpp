#pragma once
// Tensors back on the host.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/relayout.hpp>

namespace mtf {

namespace detail {

/// The elements of a whole tensor that are no pads.
template <class Elements>
Elements without_pads(sharding const& s, Elements all) {
  if (!s.padded) return all;
  Elements kept(static_cast<std::size_t>(s.global_size()));
  std::size_t n = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    bool is_pad = false;
    for (int d = s.ndim - 1; d >= 0; --d) {
      is_pad = is_pad || rest % s[d].extent >= s[d].logical();
      rest /= s[d].extent;
    }
    if (!is_pad) kept[n++] = all[i];
  }
  return kept;
}

/// The rank's shard, copied to the host; bools as a std::vector<bool>.
template <class X>
auto elements_here(X const& x) {
  if constexpr (std::is_same_v<typename X::element_type, bool>) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(place_of(x).local_size()));
    x.backend().to_host(bytes.data(), x.value().data(), bytes.size());
    return std::vector<bool>(bytes.begin(), bytes.end());
  } else {
    return x.local();
  }
}

}  // namespace detail

/// All elements of the global tensor, row-major over its shape, on every rank: partial tensors are reduced, shards
/// gathered. A std::vector of the elements; from_global takes it.
template <tensor_type X>
auto to_global(X const& x) {
  auto const whole = relayout<layout<typename X::mesh_type>>(complete(x));
  return detail::without_pads(detail::place_of(whole).spec(), detail::elements_here(whole));
}

/// The number in a tensor without dimensions, reduced. Refused: a tensor with dimensions.
template <tensor_type X>
auto item(X const& x) {
  if constexpr (X::shape_type::ndim == 0) {
    return static_cast<typename X::element_type>(detail::elements_here(complete(x))[0]);
  } else {
    static_assert(detail::never<X>,
                  "mtf: item takes a tensor without dimensions, which holds one number: write mtf::item(mtf::mean(x)) "
                  "or sum, or all of its elements, mtf::to_global(x)");
    return typename X::element_type{};
  }
}
inline double item(refused const&) { return 0; }
inline std::vector<float> to_global(refused const&) { return {}; }

}  // namespace mtf
