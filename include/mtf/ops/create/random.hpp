#pragma once
// Random numbers that depend neither on the layout nor on the number of ranks: they are functions of a key and of the
// element's position in the global tensor (Philox4x32-10, Salmon et al. 2011).
#include <cstdint>
#include <string_view>

#include <mtf/backend/primitives/random.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

/// What a stream of random numbers is named by. `key.of("dropout")`, `key.of(layer)` name sub-streams.
class random_key {
 public:
  explicit MTF_FUNCTION constexpr random_key(std::uint64_t seed) : bits_(mix(seed)) {}
  /// The key that has these bits.
  [[nodiscard]] static MTF_FUNCTION constexpr random_key of_bits(std::uint64_t bits) {
    random_key key(0);
    key.bits_ = bits;
    return key;
  }
  /// The key of a sub-stream.
  [[nodiscard]] constexpr random_key of(std::string_view name) const {
    return random_key(bits_ ^ detail::hash_of(name));
  }
  [[nodiscard]] MTF_FUNCTION constexpr random_key of(std::uint64_t number) const {
    return random_key(bits_ ^ mix(number + 0x632be59bd9b4e019ULL));
  }
  /// What generators are keyed by.
  [[nodiscard]] MTF_FUNCTION constexpr std::uint64_t bits() const { return bits_; }
  bool operator==(random_key const&) const = default;

 private:
  static MTF_FUNCTION constexpr std::uint64_t mix(std::uint64_t z) {  // splitmix64
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  std::uint64_t bits_;
};

namespace detail {

/// So many elements drawn as the primitive says, between or about two numbers. Pads are 0.
template <class Primitive, class T, class Backend>
constexpr value<Backend, T> drawn_elements(Backend& b, sharding const& where, std::int64_t n, random_key key,
                                           double first, double second) {
  auto const v = make_value<T>(b, n);
  b.run(Primitive{placement_of(where, b.ranks().mesh(), b.ranks().rank()), key.bits(), v.data(), first, second});
  zero_pads(b, where, v.data());
  return v;
}
template <template <class> class Draw, class X>
constexpr X drawn(typename X::backend_type& b, tensor_place<X> const& place, random_key key, double first,
                  double second) {
  using T = typename X::element_type;
  return place.tensor(drawn_elements<Draw<T>, T>(b, place.spec(), place.local_size(), key, first, second));
}

}  // namespace detail

/// Uniform in [low, high). Nothing is sent, here and below.
template <tensor_type X>
constexpr X random_uniform(typename X::backend_type& b, random_key key, double low = 0, double high = 1) {
  return detail::drawn<primitives::random_uniform>(b, detail::place_for<X>(b), key, low, high);
}
/// Normal (Box-Muller).
template <tensor_type X>
constexpr X random_normal(typename X::backend_type& b, random_key key, double mean = 0, double stddev = 1) {
  return detail::drawn<primitives::random_normal>(b, detail::place_for<X>(b), key, mean, stddev);
}
/// Normal, drawn again beyond two standard deviations.
template <tensor_type X>
constexpr X random_truncated_normal(typename X::backend_type& b, random_key key, double mean = 0, double stddev = 1) {
  return detail::drawn<primitives::random_truncated_normal>(b, detail::place_for<X>(b), key, mean, stddev);
}

}  // namespace mtf
