#pragma once
// Cross entropy of logits [outer, n, inner] with a global class number for each row: none where it is negative, NaN
// where it is not below `classes`, their global number. Losses and their gradients are in the compute type A.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// What a loss has besides -log p[label]: a share of the mean over all classes, and the square of the logsumexp.
template <class A>
struct loss_terms {
  A smoothing = 0, z = 0;
};

/// loss = log(sum) - (logits[label] - max) with the row's maximum and its sum of exp(logits - max), which the backward
/// pass gets: their logsumexp would be rounded as the maximum is, however small the differences in the row are. With
/// terms: log(sum) - (1 - smoothing) (logits[label] - max) - smoothing mean(logits - max) + z (max + log(sum))^2.
template <class T>
struct cross_entropy {
  static constexpr char const* name = "mtf::cross_entropy";
  using A = compute_t<T>;
  rows of;
  A* loss;
  A* max;
  A* sum;
  T const* logits;
  std::int32_t const* labels;
  loss_terms<A> terms = {};

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

/// dlogits = dloss * (exp(logits - max) / sum - [class == label]); class j here is class_offset + j. With terms:
/// dloss * (p (1 + 2 z logsumexp) - (1 - smoothing) [class == label] - smoothing / classes).
template <class T>
struct cross_entropy_vjp {
  static constexpr char const* name = "mtf::cross_entropy_vjp";
  using A = compute_t<T>;
  rows of;
  index class_offset;
  index classes;
  T* dlogits;
  T const* logits;
  std::int32_t const* labels;
  A const* max;
  A const* sum;
  A const* dloss;
  loss_terms<A> terms = {};

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

/// With global maxima: the sums of exponentials of the classes here, then the labels' logits (0 where not here), then,
/// if losses are smoothed, the sums of logits - max; all are summed over ranks.
template <class T>
struct cross_entropy_local {
  static constexpr char const* name = "mtf::cross_entropy_local";
  using A = compute_t<T>;
  rows of;
  index class_offset;
  A const* max;
  A* sum_and_picked;
  T const* logits;
  std::int32_t const* labels;
  bool smoothed = false;
  index apart = 0;  // how far apart these lists lie; 0: as many numbers as there are rows

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

/// What cross_entropy_local added up beside each rank's own maxima becomes what it is beside the largest of all; of n
/// rows, of `classes` here.
template <class A>
struct cross_entropy_rebase {
  static constexpr char const* name = "mtf::cross_entropy_rebase";
  index n;
  index classes;
  bool smoothed;
  A* sums;
  A const* own_max;
  A const* max;

  [[nodiscard]] constexpr double bytes() const { return 4 * bytes_moved<A>(n); }
};

/// The losses from the sums over all ranks.
template <class T>
struct cross_entropy_finish {
  static constexpr char const* name = "mtf::cross_entropy_finish";
  using A = compute_t<T>;
  index n;
  index classes;
  A* loss;
  A const* max;
  A const* sum_and_picked;
  std::int32_t const* labels;
  loss_terms<A> terms = {};

  [[nodiscard]] constexpr double bytes() const { return 4 * bytes_moved<A>(n); }
};

}  // namespace mtf::primitives
