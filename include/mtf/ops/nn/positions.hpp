#pragma once
// What positions say, as tensors: the biases of ALiBi, the buckets of T5, sines and cosines. All are made where they
// are needed, of `iota` under a layout: nothing is sent.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/iota.hpp>
#include <mtf/ops/elementwise/map.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/nn/rotary.hpp>
#include <mtf/tensor/extent.hpp>

namespace mtf {

/// Into which buckets distances between positions fall: as many of them as `count`, of which half are for distances of
/// one position each and the others for ever more, up to `max_distance`; the last has all beyond. In both directions:
/// half of the buckets are for keys before the query, half for those behind it; else these all are in bucket 0.
struct position_buckets {
  bool bidirectional = true;
  std::int32_t count = 32, max_distance = 128;
};

namespace detail {

template <class Layout, class Backend, class... D>
using position_numbers = tensor<std::int32_t, shape<D...>, Layout, partial<>, Backend>;

/// 2^-(8 (i + 1) / n) of n heads; where n is no power of two those of the power below it, then every other one of the
/// power above.
template <class R>
struct alibi_slope {
  static constexpr char const* name = "alibi_slopes";
  std::int32_t heads;
  MTF_FUNCTION R operator()(std::int32_t head) const {
    std::int32_t power = 1;
    while (2 * power <= heads) power *= 2;
    double const exponent = head < power ? 8.0 * (head + 1) / power : 4.0 * (2 * (head - power) + 1) / power;
    return static_cast<R>(std::exp2(-exponent));
  }
};

template <class R>
struct alibi_distance {
  static constexpr char const* name = "alibi_bias";
  alibi_slope<R> slope;
  std::int64_t offset;
  MTF_FUNCTION R operator()(std::int32_t head, std::int32_t query, std::int32_t key) const {
    std::int64_t const apart = query + offset - key;
    return -slope(head) * static_cast<R>(apart < 0 ? -apart : apart);
  }
};

struct bucket_of_distance {
  static constexpr char const* name = "relative_position_bucket";
  position_buckets to;
  std::int64_t offset;
  MTF_FUNCTION std::int32_t operator()(std::int32_t query, std::int32_t key) const {
    std::int64_t ahead = key - (query + offset);
    std::int32_t count = to.count, first = 0;
    if (to.bidirectional) {
      count /= 2;
      if (ahead > 0) first = count;
    } else if (ahead > 0) {
      ahead = 0;
    }
    std::int64_t const distance = ahead < 0 ? -ahead : ahead;
    std::int32_t const exact = count / 2;
    if (distance < exact) return first + static_cast<std::int32_t>(distance);
    // Where the logarithm is a whole number it may be computed as a little less.
    double const share = std::log(static_cast<double>(distance) / exact) /
                         std::log(static_cast<double>(to.max_distance) / exact) * (count - exact);
    double const most = count - 1 - exact;
    return first + exact + static_cast<std::int32_t>(share + 1e-9 < most ? share + 1e-9 : most);
  }
};

template <class R>
struct sinusoid {
  static constexpr char const* name = "sinusoids";
  rotary_pairs pairs;
  std::int64_t offset;
  std::int32_t extent;
  MTF_FUNCTION R operator()(std::int32_t position, std::int32_t i) const {
    bool const halves = pairs == rotary_pairs::halves;
    std::int32_t const half = extent / 2, pair = halves ? i % half : i / 2;
    bool const is_sine = halves ? i < half : i % 2 == 0;
    double const angle = static_cast<double>(position + offset) * std::pow(10000.0, -2.0 * pair / extent);
    return static_cast<R>(is_sine ? std::sin(angle) : std::cos(angle));
  }
};

[[noreturn]] inline void are_no_buckets(position_buckets const& b) {
  throw user_error("relative_position_bucket: there must be at least " + std::string(b.bidirectional ? "4" : "2") +
                   " buckets" + (b.bidirectional ? ", an even number," : "") +
                   " and a max_distance above those of one position each; not " + std::to_string(b.count) + " and " +
                   std::to_string(b.max_distance));
}

[[noreturn]] inline void are_no_pairs(std::string_view dim, std::int64_t extent) {
  throw user_error("sinusoids: the elements of " + std::string(dim) + " are sines and cosines, but they are " +
                   std::to_string(extent) + ", an odd number");
}

}  // namespace detail

/// The slope of each head's bias (Press et al. 2022, ALiBi), of any number of heads: as elements T over Heads.
template <dimension Heads, layout_type Layout, class T = float, class Backend>
constexpr auto alibi_slopes(Backend& b) {
  using R = compute_t<T>;
  auto const head = iota<Heads, detail::position_numbers<Layout, Backend, Heads>>(b);
  return cast<T>(map(detail::alibi_slope<R>{static_cast<std::int32_t>(extent<Heads>(head))}, head));
}

/// What ALiBi adds to scores: each head's slope times minus the distance of query and key, over Heads, Query and Key.
/// `offset`: the position of query 0 among the keys.
template <dimension Heads, dimension Query, dimension Key, layout_type Layout, class T = float, class Backend>
constexpr auto alibi_bias(Backend& b, std::int64_t offset = 0) {
  using R = compute_t<T>;
  auto const head = iota<Heads, detail::position_numbers<Layout, Backend, Heads, Query>>(b);
  auto const query = iota<Query, detail::position_numbers<Layout, Backend, Query>>(b);
  auto const key = iota<Key, detail::position_numbers<Layout, Backend, Query, Key>>(b);
  return cast<T>(
      map(detail::alibi_distance<R>{{static_cast<std::int32_t>(extent<Heads>(head))}, offset}, head, query, key));
}

/// The bucket of the distance of each query and key (Raffel et al. 2020, T5), int32 over Query and Key: `embedding` of
/// it is the bias that a model learns. `offset`: the position of query 0 among the keys. Refused, by a user_error:
/// buckets that are too few, or of which the last begins before it could.
template <dimension Query, dimension Key, layout_type Layout, class Backend>
constexpr auto relative_position_bucket(Backend& b, position_buckets const& buckets = {}, std::int64_t offset = 0) {
  auto const of_one = (buckets.bidirectional ? buckets.count / 2 : buckets.count) / 2;
  if (of_one < 1 || (buckets.bidirectional && buckets.count % 2 != 0) || buckets.max_distance <= of_one)
    detail::are_no_buckets(buckets);
  auto const query = iota<Query, detail::position_numbers<Layout, Backend, Query>>(b);
  auto const key = iota<Key, detail::position_numbers<Layout, Backend, Query, Key>>(b);
  return map(detail::bucket_of_distance{buckets, offset}, query, key);
}

/// Sines and cosines of positions along Length, of wavelengths that grow along Model (Vaswani et al. 2017, 3.5), as
/// elements T: sine and cosine of one wavelength are neighbours, as in the paper, or all sines come before all cosines.
/// `offset`: the position of the first. An odd extent of Model is a user_error.
template <dimension Length, dimension Model, layout_type Layout, class T = float, class Backend>
constexpr auto sinusoids(Backend& b, rotary_pairs pairs = rotary_pairs::neighbours, std::int64_t offset = 0) {
  using R = compute_t<T>;
  auto const position = iota<Length, detail::position_numbers<Layout, Backend, Length>>(b);
  auto const i = iota<Model, detail::position_numbers<Layout, Backend, Length, Model>>(b);
  auto const n = static_cast<std::int32_t>(extent<Model>(i));
  if (n % 2 != 0) detail::are_no_pairs(Model::name, n);
  return cast<T>(map(detail::sinusoid<R>{pairs, offset, n}, position, i));
}

}  // namespace mtf
