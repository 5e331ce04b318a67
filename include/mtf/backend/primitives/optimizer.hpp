#pragma once
// Steps of optimizers over the elements of a parameter, or of a rank's part of it. Parameters, gradients and state have
// element types of their own, P, G and S; all is computed in the compute type of P.
//
// Gradients are multiplied by *grad_scale first, which clip_factor has computed; null: by 1. Where it is NaN, as the
// norm is not finite, parameters and state stay as they are. It is read when the work is done, so that the host, which
// starts the work, need not wait for the norm.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// *grad_scale = updates::clip_factor(*square_sum, limit).
struct clip_factor {
  static constexpr char const* name = "mtf::clip_factor";
  double const* square_sum;
  double* grad_scale;
  double limit;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<double>(1); }
};

/// Where random numbers come from, for elements at these places of the global tensor. Only bfloat16 state draws.
struct draws {
  placement of;
  std::uint64_t key = 0;
};

/// p = with(p, g, state), where `with` is of mtf/math/updates.hpp. State of bfloat16 is rounded up or down at random,
/// by what its bits leave out: its mean is the number itself.
template <class Formula, class P, class G = P, class S = compute_t<P>>
struct update {
  static constexpr char const* name = Formula::name;
  using A = compute_t<P>;
  index n;
  P* p;
  G const* g;
  S* state[Formula::kept > 0 ? Formula::kept : 1];
  Formula with;
  double const* grad_scale;
  draws random{};

  [[nodiscard]] constexpr double bytes() const {
    return 2 * bytes_moved<P>(n) + bytes_moved<G>(n) + 2 * Formula::kept * bytes_moved<S>(n);
  }
};

/// out = g^2 + epsilon; 0 where *grad_scale is NaN.
template <class G>
struct adafactor_squares {
  static constexpr char const* name = "mtf::adafactor_squares";
  using A = compute_t<G>;
  index n;
  A* out;
  G const* g;
  double const* grad_scale;
  A epsilon;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<G>(n) + bytes_moved<A>(n); }
};

/// mean = mean + rest (sum / count - mean). Sums are of gradients that are scaled already: what is at grad_scale only
/// says whether the mean stays.
template <class A>
struct adafactor_mean {
  static constexpr char const* name = "mtf::adafactor_mean";
  index n;
  A* mean;
  A const* sum;
  double const* grad_scale;
  A rest, count;

  [[nodiscard]] constexpr double bytes() const { return 3 * bytes_moved<A>(n); }
};

/// x = g / sqrt(rows columns / mean), where mean is the rows' sum divided by `count`. The loops' operands: x, rows,
/// columns, the rows' sum.
template <class G>
struct adafactor_factored {
  static constexpr char const* name = "mtf::adafactor_factored";
  using A = compute_t<G>;
  loops<4> of;
  A* x;
  G const* g;
  A const* rows;
  A const* columns;
  A const* row_sum;
  double const* grad_scale;
  A count;

  [[nodiscard]] constexpr double bytes() const {
    auto const n = of.size();
    return bytes_moved<G>(n) + bytes_moved<A>(n) + bytes_moved<A>(of, 1) + bytes_moved<A>(of, 2);
  }
};

/// v = v + rest (g^2 + epsilon - v); x = g / sqrt(v), 0 where *grad_scale is NaN.
template <class G>
struct adafactor_whole {
  static constexpr char const* name = "mtf::adafactor_whole";
  using A = compute_t<G>;
  index n;
  A* x;
  A* v;
  G const* g;
  double const* grad_scale;
  A epsilon, rest;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<G>(n) + 3 * bytes_moved<A>(n); }
};

/// p -= rate (x / max(1, rms(x) / clip) + weight_decay p), with rate = lr max(epsilon, rms(p)) if `scaled`, else lr,
/// where sums[0] and sums[1] are sum x^2 and sum p^2 over the `count` elements of the global tensor. x is of gradients
/// that are scaled already: what is at grad_scale only says whether p stays.
template <class P>
struct adafactor_apply {
  static constexpr char const* name = "mtf::adafactor_apply";
  using A = compute_t<P>;
  index n;
  P* p;
  A const* x;
  double const* sums;
  double const* grad_scale;
  double count, lr, epsilon, clip, weight_decay;
  bool scaled;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<P>(n) + bytes_moved<A>(n); }
};

}  // namespace mtf::primitives
