#pragma once
// Which keys a query of attention sees, as far as positions say: one small value for masks, softmax and attention.
#include <cstdint>
#include <string>
#include <type_traits>

#include <mtf/core/error.hpp>

namespace mtf {

/// The keys that one query sees: those in [0, prefix) and in [first, last); prefix <= first <= last.
struct visible_range {
  std::int64_t prefix = 0, first = 0, last = 0;
  /// How many they are.
  [[nodiscard]] constexpr std::int64_t count() const { return prefix + last - first; }
  bool operator==(visible_range const&) const = default;
};

/// Which keys a query sees, of their positions alone, which are global: the same under every layout. Positions of
/// queries and of keys begin at 0; an offset is the position, among the keys, of query 0: with a cache, how many keys
/// came before. a & b is what both see; a | visible::prefix(n) sees the first n keys as well:
///
///   visible::everything()                              an encoder
///   visible::causal()                                  a decoder (Vaswani et al. 2017, 3.2.3)
///   visible::causal(cached)                            a decoder that goes on after a cache of keys
///   visible::window(1024)                              of those the 1024 most recent (Beltagy et al. 2020)
///   visible::causal() | visible::prefix(n)             a prefix that all see (Raffel et al. 2020, 3.2.1)
///   visible::causal() & (visible::window(1024) | visible::prefix(4))    sinks (Xiao et al. 2024)
///
/// A query may see nothing: its weights are 0, as is what it gathers, and so are the gradients. What needs data rides
/// beside: the lengths of sequences are an operand of `masked_softmax` and `attention`, a bias and the segments of
/// packed documents are operands of `attention` (mtf/ops/nn.hpp).
class visible {
 public:
  /// Counts and differences of positions.
  using position = std::int64_t;

  /// Each query sees all keys.
  static constexpr visible everything() { return {}; }
  /// A query at position i sees the keys up to i + offset.
  static constexpr visible causal(position offset = 0) {
    visible v;
    v.high_ = offset;
    v.ahead_ = 0;
    return v;
  }
  /// A query at position i sees the n most recent of the keys up to i + offset.
  static constexpr visible window(position n, position offset = 0) {
    if (n < 0) throw user_error("visible::window: a window has at least 0 keys");
    visible v = causal(offset);
    v.low_ = offset - n + 1;
    v.kept_ = 0;
    return v;
  }
  /// The first n keys: for what | adds.
  struct first_keys {
    position n;
  };
  /// The first n keys, which all queries see: visible::causal() | visible::prefix(n).
  static constexpr first_keys prefix(position n) { return {n < 0 ? 0 : n}; }

  /// As `a`, and the first keys besides.
  friend constexpr visible operator|(visible a, first_keys b) {
    a.ahead_ = larger(a.ahead_, b.n);
    a.kept_ = larger(a.kept_, b.n);
    return a;
  }
  /// What both see. Refused, by a user_error: two bounds of which neither hides all that the other hides, as the one
  /// has the longer prefix and the other the larger offset.
  friend constexpr visible operator&(visible const& a, visible const& b) {
    visible v = a;
    if (b.high_ <= a.high_ && b.ahead_ <= a.ahead_)
      v.high_ = b.high_, v.ahead_ = b.ahead_;
    else if (b.high_ < a.high_ || b.ahead_ < a.ahead_)
      no_intersection(a, b);
    if (b.low_ >= a.low_ && b.kept_ <= a.kept_)
      v.low_ = b.low_, v.kept_ = b.kept_;
    else if (b.low_ > a.low_ || b.kept_ < a.kept_)
      no_intersection(a, b);
    return v;
  }
  bool operator==(visible const&) const = default;

  /// "k <= i + 3 or k < 5, k >= i - 7": of a query at i and a key at k.
  friend std::string to_string(visible const& v) {
    if (v.is_everything()) return "everything";
    auto const side = [](char const* is, position by, position exceptions) {
      return "k " + std::string(is) + " i " + (by < 0 ? "- " : "+ ") + std::to_string(by < 0 ? -by : by) +
             (exceptions > 0 ? " or k < " + std::to_string(exceptions) : "");
    };
    if (v.low_ == -unbounded) return side("<=", v.high_, v.ahead_);
    return side("<=", v.high_, v.ahead_) + ", " + side(">=", v.low_, v.kept_);
  }

  /// Whether the query at one position sees the key at another.
  [[nodiscard]] constexpr bool sees(position query, position key) const {
    return (key - query <= high_ || key < ahead_) && (key - query >= low_ || key < kept_);
  }
  /// False: none of the queries in [query, query_end) sees any of the keys in [key, key_end), neither being empty.
  [[nodiscard]] constexpr bool sees_some(position query, position query_end, position key, position key_end) const {
    return (key - query_end < high_ || key < ahead_) && (key_end - query > low_ || key < kept_);
  }
  /// Of n keys the first that the query may see.
  [[nodiscard]] constexpr position first_key(position query, position n) const {
    return kept_ > 0 ? 0 : clamped(query + low_, 0, n);
  }
  /// And the one after the last that it sees.
  [[nodiscard]] constexpr position end_of_keys(position query, position n) const {
    return clamped(larger(query + high_ + 1, ahead_), 0, n);
  }
  /// Of n keys those that the query sees.
  [[nodiscard]] constexpr visible_range keys(position query, position n) const {
    position const last = end_of_keys(query, n), first = clamped(query + low_, 0, last), prefix = smaller(kept_, last);
    return first <= prefix ? visible_range{0, 0, last} : visible_range{prefix, first, last};
  }
  /// Of n queries the first that may see some of the keys from this one on.
  [[nodiscard]] constexpr position first_query(position key, position n) const {
    return key < ahead_ ? 0 : clamped(key - high_, 0, n);
  }
  /// Of n queries the one after the last that may see some of the keys in [key, end).
  [[nodiscard]] constexpr position end_of_queries(position key, position end, position n) const {
    return key < kept_ ? n : clamped(end - low_, 0, n);
  }
  /// Nothing is hidden.
  [[nodiscard]] constexpr bool is_everything() const { return high_ == unbounded && low_ == -unbounded; }
  /// Keys are hidden that earlier queries see.
  [[nodiscard]] constexpr bool forgets() const { return low_ != -unbounded; }
  /// The same on the positions of a shard whose queries and keys begin at these.
  [[nodiscard]] constexpr visible on_shard(position first_query, position first_key) const {
    visible v = *this;
    position const by = first_query - first_key;
    if (v.high_ != unbounded) v.high_ += by, v.ahead_ = larger(v.ahead_ - first_key, 0);
    if (v.low_ != -unbounded) v.low_ += by, v.kept_ = larger(v.kept_ - first_key, 0);
    return v;
  }
  /// How many pairs of the n queries and m keys see each other.
  [[nodiscard]] constexpr double pairs(position n, position m) const {
    if (low_ > high_ + 1) {  // no band is left: a combination that nobody needs
      double all = 0;
      for (position i = 0; i < n; ++i) all += static_cast<double>(keys(i, m).count());
      return all;
    }
    position const ahead = clamped(ahead_, 0, m), kept = clamped(kept_, 0, m);
    return static_cast<double>(n * ahead) + sum(high_ + 1 - ahead, n, m - ahead) - sum(low_ - kept, n, m - kept);
  }

 private:
  static constexpr position unbounded = position{1} << 60;
  // A query at i sees a key at k if (k - i <= high or k < ahead) and (k - i >= low or k < kept). A side without a bound
  // has no exceptions: `ahead` and `kept` are unbounded too.
  position high_ = unbounded, ahead_ = unbounded, low_ = -unbounded, kept_ = unbounded;

  static constexpr position smaller(position a, position b) { return a < b ? a : b; }
  static constexpr position larger(position a, position b) { return a < b ? b : a; }
  static constexpr position clamped(position x, position least, position most) {
    return x < least ? least : x > most ? most : x;
  }
  /// The sum of i + c, between 0 and m, over i in [0, n).
  static constexpr double sum(position c, position n, position m) {
    c = clamped(c, -n, m);
    auto const positive = [n](position by) {  // the sum of those of i + by that are above 0
      auto const triangle = [](position k) {
        return k <= 0 ? 0.0 : static_cast<double>(k) * static_cast<double>(k + 1);
      };
      return (triangle(by + n - 1) - triangle(by - 1)) / 2;
    };
    return positive(c) - positive(c - m);
  }
  [[noreturn]] static void no_intersection(visible const& a, visible const& b) {
    throw user_error("visible: what both of these see is no band of keys with a prefix: " + to_string(a) + "; " +
                     to_string(b));
  }
};
static_assert(std::is_trivially_copyable_v<visible>);

}  // namespace mtf
