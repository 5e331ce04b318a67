#pragma once
// Which position of a row of logits a uniform number draws. Host and devices, however many threads share a row, find
// the same one: weights are whole numbers, of operations that round alike everywhere, and sums of whole numbers know no
// order. Nothing is sorted: thresholds and positions are found by bisection, each step of which sums over a row.
#include <cstdint>
#include <limits>

#include <mtf/core/host_device.hpp>
#include <mtf/math/order.hpp>

namespace mtf::math {

/// What may be drawn, and how likely it is, in the order in which it is applied, which is vLLM's.
struct sample_options {
  /// What logits are divided by; not above 0: the largest is taken, the first of equal ones.
  float temperature = 1;
  /// Nothing is drawn that is less likely than this times the most likely position (Nguyen et al. 2024).
  float min_p = 0;
  /// Only the k most likely are drawn, and those as likely as the k-th; below 1: any (Fan et al. 2018).
  std::int32_t top_k = 0;
  /// Only the most likely that together have this probability, with the one that reaches it; of equal ones the first
  /// (Holtzman et al. 2020). From 1 on, and NaN: any.
  float top_p = 1;
};

/// The upper half of a product of 128 bits.
MTF_FUNCTION constexpr std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t const low = 0xffffffffU, a0 = a & low, a1 = a >> 32U, b0 = b & low, b1 = b >> 32U;
  std::uint64_t const first = a1 * b0 + (a0 * b0 >> 32U), second = a0 * b1 + (first & low);
  return a1 * b1 + (first >> 32U) + (second >> 32U);
}

/// The place of a logit among others: 0 and -0 have one, NaN and -infinity the lowest, at which nothing is drawn.
MTF_FUNCTION constexpr std::int32_t logit_order(float z) {
  return z != z ? std::numeric_limits<std::int32_t>::min() : order_of(z == 0 ? 0.0F : z);
}

/// The weights of a row's logits, as whole numbers: 2^bits e^((z - largest) / temperature) within 2^-24 of itself
/// and 1. So few bits that no sum over the row overflows, and not more than 40.
class sample_weights {
 public:
  /// n logits, of which `largest` is the largest, and finite; a temperature above 0.
  MTF_FUNCTION sample_weights(std::int64_t n, float largest, float temperature)
      : largest_(largest), scale_(0x1.71547652b82fep25 / static_cast<double>(temperature)) {
    for (std::int64_t rows = std::int64_t{1} << 23U; rows < n; rows *= 2) --bits_;
  }
  /// That of the largest.
  [[nodiscard]] MTF_FUNCTION std::uint64_t one() const { return std::uint64_t{1} << bits_; }
  /// That of z; 0: it is not drawn.
  [[nodiscard]] MTF_FUNCTION std::uint64_t of(float z) const {
    constexpr double lowest = -0x1.8p30;  // 2^-48
    // A difference and a product: nothing that a compiler may fuse. NaN, and what it has of infinities, becomes lowest.
    double const power = (static_cast<double>(z) - largest_) * scale_;
    auto const fixed = static_cast<std::int32_t>(power > lowest ? power : lowest);  // in units of 2^-25
    auto const whole = static_cast<std::uint32_t>(-(fixed >> 25));
    std::uint32_t const rest = static_cast<std::uint32_t>(fixed) << 7U;
    std::uint64_t const f = rest;  // 2^32 times it
    // 2^rest as 1 + rest times the polynomial that is (2^rest - 1) / rest at Chebyshev's six points of [0, 1].
    std::uint64_t p = 0xda4abU;
    p = (p * f >> 32U) + 0x532decU;
    p = (p * f >> 32U) + 0x27890f6U;
    p = (p * f >> 32U) + 0xe34fcc6U;
    p = (p * f >> 32U) + 0x3d7f87b2U;
    p = (p * f >> 32U) + 0xb17217ceU;
    p = (p * f >> 32U) + 0x100000000U;
    return (p << 8U) >> (40U - bits_ + whole);
  }
  /// The least weight that is at least this part of the largest one's.
  [[nodiscard]] MTF_FUNCTION std::uint64_t part(float p) const {
    if (!(p > 0)) return 1;
    if (p >= 1) return one();
    auto const exact = static_cast<double>(p) * static_cast<double>(one());
    auto const below = static_cast<std::uint64_t>(exact);
    return below + (static_cast<double>(below) < exact ? 1U : 0U);
  }

 private:
  double largest_, scale_;
  std::uint32_t bits_ = 40;
};

/// A team of one thread.
struct one_thread {
  static constexpr bool alone = true;
  /// f(j) for j < n, added up.
  template <class A, class F>
  [[nodiscard]] MTF_FUNCTION A sum(std::int64_t n, F f) const {
    A all{};
    for (std::int64_t j = 0; j < n; ++j) all += f(j);
    return all;
  }
  /// The largest of them; the least number there is if n is 0.
  template <class A, class F>
  [[nodiscard]] MTF_FUNCTION A max(std::int64_t n, F f) const {
    A largest = std::numeric_limits<A>::lowest();
    for (std::int64_t j = 0; j < n; ++j) {
      A const x = f(j);
      largest = x > largest ? x : largest;
    }
    return largest;
  }
};

/// A row of logits that lie beside each other.
struct dense_logits {
  float const* first;
  /// That at j.
  [[nodiscard]] MTF_FUNCTION float operator()(std::int64_t j) const { return first[j]; }
};

/// A row of logits, of which z(j) gives that at j < n, and who sums over it: `team.template sum<A>(n, f)` adds f(j) up
/// for j < n, and `max` has the largest; each of a team's threads gets it (mtf/kokkos/launch/team.hpp). One that says
/// that it is `alone` is one thread.
template <class Team, class Row>
class sampled_row {
 public:
  MTF_FUNCTION sampled_row(Team const& team, std::int64_t n, Row const& z) : team_(team), z_(z), n_(n) {}

  /// The position that a number of [0, 1) draws; -1: all logits are NaN or -infinity. Of +infinities the first.
  [[nodiscard]] MTF_FUNCTION std::int32_t drawn(sample_options const& how, double uniform) const {
    Row const z = z_;
    constexpr auto none = std::numeric_limits<std::int32_t>::min();
    auto const top =
        team_.template max<std::int32_t>(n_, [=](std::int64_t j) MTF_INLINE_LAMBDA { return logit_order(z(j)); });
    if (top == none) return -1;
    auto const largest = number_at<float>(top);
    if (!(how.temperature > 0) || largest == std::numeric_limits<float>::infinity())
      return first_beyond(0, [=](std::int64_t j) MTF_INLINE_LAMBDA { return logit_order(z(j)) == top ? 1U : 0U; });

    sample_weights const weights(n_, largest, how.temperature);
    std::uint64_t const least_weight = weights.part(how.min_p);
    std::int32_t least = none + 1;
    if (how.top_k > 0 && how.top_k < n_)
      least = larger(least, threshold(static_cast<std::uint64_t>(how.top_k), top,
                                      [=](float) MTF_INLINE_LAMBDA { return std::uint64_t{1}; }));
    // That of a logit in `least`'s place, or above it, if it is not too small by itself.
    auto const weight = [=](float x) MTF_INLINE_LAMBDA {
      std::uint64_t const w = logit_order(x) >= least ? weights.of(x) : 0;
      return w >= least_weight ? w : 0;
    };
    std::uint64_t total = sum(0, n_, [=](std::int64_t j) MTF_INLINE_LAMBDA { return weight(z(j)); });
    std::int64_t last = n_;  // of those in the place of `least`, where the first is that is not drawn
    if (how.top_p < 1) {
      std::uint64_t const needed = part_of(total, how.top_p);
      least = threshold(needed, top, weight);
      auto const at = least;
      std::uint64_t const above =
          sum(0, n_, [=](std::int64_t j) MTF_INLINE_LAMBDA { return logit_order(z(j)) > at ? weight(z(j)) : 0; });
      std::uint64_t const each = weight(number_at<float>(at)), taken = (needed - above + each - 1) / each;
      last =
          first_beyond(taken - 1, [=](std::int64_t j) MTF_INLINE_LAMBDA { return logit_order(z(j)) == at ? 1U : 0U; }) +
          1;
      total = above + taken * each;
    }
    auto const at = least;
    auto const end = last;
    return first_beyond(upper_product(of_64_bits(uniform), total), [=](std::int64_t j) MTF_INLINE_LAMBDA {
      auto const place = logit_order(z(j));
      return place > at || (place == at && j < end) ? weight(z(j)) : 0;
    });
  }

 private:
  template <class F>
  MTF_FUNCTION std::uint64_t sum(std::int64_t from, std::int64_t to, F f) const {
    return team_.template sum<std::uint64_t>(
        to - from, [=](std::int64_t j) MTF_INLINE_LAMBDA { return std::uint64_t{f(from + j)}; });
  }
  /// The first position up to which f adds up to more than this; it does so over the row.
  template <class F>
  MTF_FUNCTION std::int32_t first_beyond(std::uint64_t bound, F f) const {
    std::int64_t from = 0, to = n_;
    while (to - from > 1) {
      std::int64_t const middle = from + (to - from) / 2;
      std::uint64_t const half = sum(from, middle, f);
      if (half > bound) {
        to = middle;
      } else {
        bound -= half;
        from = middle;
      }
    }
    return static_cast<std::int32_t>(from);
  }
  /// The highest place, not above `top`, of which f of the logits that are there or above it adds up to `needed`; that
  /// of all logits does.
  template <class F>
  MTF_FUNCTION std::int32_t threshold(std::uint64_t needed, std::int32_t top, F f) const {
    if constexpr (requires { Team::alone; }) return threshold_alone(needed, f);
    Row const z = z_;
    std::uint32_t const most = static_cast<std::uint32_t>(top) ^ sign;
    std::uint32_t found = 0;
    for (std::uint32_t bit = sign; bit != 0; bit >>= 1U) {
      if ((found | bit) > most) continue;
      auto const place = static_cast<std::int32_t>((found | bit) ^ sign);
      std::uint64_t const there = sum(0, n_, [=](std::int64_t j) MTF_INLINE_LAMBDA {
        return logit_order(z(j)) >= place ? f(z(j)) : std::uint64_t{0};
      });
      if (there >= needed) found |= bit;
    }
    return static_cast<std::int32_t>(found ^ sign);
  }
  /// The same in three passes: what f adds up to in each of equally large ranges of places, then in those of one of
  /// them. (A device's threads would write to the same ranges; passes that only read are short there.)
  template <class F>
  MTF_FUNCTION std::int32_t threshold_alone(std::uint64_t needed, F f) const {
    std::uint32_t found = 0;
    for (std::uint32_t shift = 22; shift < 32U; shift -= 11) {  // the last ranges are one place
      std::uint64_t in[2048] = {};
      for (std::int64_t j = 0; j < n_; ++j) {
        float const x = z_(j);
        std::uint32_t const place = static_cast<std::uint32_t>(logit_order(x)) ^ sign;
        if (std::uint64_t{place ^ found} >> (shift + 11U) == 0) in[place >> shift & 2047U] += f(x);
      }
      std::uint32_t range = 2047;
      for (; range > 0 && in[range] < needed; --range) needed -= in[range];
      found |= range << shift;
    }
    return static_cast<std::int32_t>(found ^ sign);
  }
  /// The least whole number that is at least this part of a sum, and at least 1; p < 1.
  static MTF_FUNCTION std::uint64_t part_of(std::uint64_t total, float p) {
    if (!(p > 0x1p-64F)) return 1;
    auto const fixed = static_cast<std::uint64_t>(static_cast<double>(p) * 0x1p64);
    return upper_product(fixed, total) + (fixed * total != 0 ? 1U : 0U);
  }
  /// 2^64 times a number of [0, 1), to 53 bits.
  static MTF_FUNCTION std::uint64_t of_64_bits(double uniform) {
    if (!(uniform > 0)) return 0;
    return uniform < 1 ? static_cast<std::uint64_t>(uniform * 0x1p53) << 11U : ~std::uint64_t{0};
  }

  static constexpr std::uint32_t sign = 0x80000000U;  // unsigned numbers in the places' order
  Team team_;
  Row z_;
  std::int64_t n_;
};

}  // namespace mtf::math
