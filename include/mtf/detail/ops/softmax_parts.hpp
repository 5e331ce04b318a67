#pragma once
// Sums weighted by a softmax over parts of its rows, merged: functions of elements. Of each part there are the largest
// exponent of a row and the sum of the exponentials relative to it.
#include <mtf/core/host_device.hpp>
#include <mtf/math/functions.hpp>

namespace mtf::detail {

/// In place of a share: of a row that has nothing in a part there is nothing to multiply.
inline constexpr int no_share = -1;

/// A sum relative to the larger of two maxima.
struct part_sum {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A max, A sum, A other_max) const {
    if (sum == A(0)) return A(0);
    return other_max > max ? sum * math::exp(max - other_max) : sum;
  }
};
/// The share that a sum has of another; `no_share` if it is none.
struct part_share {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A sum, A of) const {
    return sum == A(0) ? A(no_share) : sum / of;
  }
};
struct part_larger {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A x, A y) const {
    return y > x ? y : x;
  }
};
struct part_plus {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A x, A y) const {
    return x + y;
  }
};
/// Two results by their shares. (Where neither sees anything both are 0, or what scores that are -infinity made of
/// them.)
struct part_merged {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A x, A y, A of_x, A of_y) const {
    if (of_x == A(no_share)) return of_y == A(no_share) ? x + y : y;
    return of_y == A(no_share) ? x : x * of_x + y * of_y;
  }
};
/// One of several results; `total`: the sum of all.
struct part_term {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A x, A share, A total) const {
    if (share == A(no_share)) return total == A(0) ? x : A(0);
    return x * share;
  }
};

}  // namespace mtf::detail
