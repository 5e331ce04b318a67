#pragma once
// Sums, maxima and minima over loops.
#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// out[kept] = op over the reduced loops of in, combined with out's value if `accumulate`. Sums are taken by blocks:
/// their error does not grow with the number of terms. R: T, or what sums of T are taken in.
template <class T, class R = T>
struct reduce {
  static constexpr char const* name = "mtf::reduce";
  combine op;
  reduction of;
  R* out;
  T const* in;
  bool accumulate = false;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<R>(of.kept, 0) + bytes_moved<T>(of.kept, 1) * static_cast<double>(of.reduced.size());
  }
};

/// *out += sum x^2.
template <class T>
struct square_sum {
  static constexpr char const* name = "mtf::square_sum";
  index n;
  double* out;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(n); }
};

}  // namespace mtf::primitives
