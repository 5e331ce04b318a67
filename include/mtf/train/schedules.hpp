#pragma once
// Learning rates by step, counted from 0. A schedule is a value with `double at(int step) const`; a * b is the product
// of two, or of a number and a schedule: constexpr but for what has a
// cosine or a root.
#include <array>
#include <concepts>
#include <cstddef>
#include <numbers>

#include <mtf/math/fast_math.hpp>

namespace mtf {

/// A learning rate, or a factor of one, for each step.
template <class S>
concept schedule = requires(S const& s) {
  { s.at(0) } -> std::same_as<double>;
};

/// The learning rate at a step counted from 0: a linear rise to `peak` over `warmup` steps, then half a cosine down to
/// `floor` at step `total` (Loshchilov & Hutter 2017).
struct warmup_cosine {
  double peak = 1e-3;
  int warmup = 0;
  int total = 1;
  double floor = 0;

  /// The rate of this step.
  [[nodiscard]] double at(int step) const {
    if (step < warmup) return peak * (step + 1) / warmup;
    if (step >= total) return floor;
    double const progress = static_cast<double>(step - warmup) / (total - warmup);
    return floor + 0.5 * (peak - floor) * (1 + math::library_cos(std::numbers::pi * progress));
  }
};

/// The same number at each step.
struct constant_rate {
  double value = 1;
  /// The number of this step.
  [[nodiscard]] constexpr double at(int /*step*/) const { return value; }
};

/// From 0 at step 0 to 1 at step `steps`, and 1 from there on (Mesh-TensorFlow's linear_warmup).
struct linear_warmup {
  int steps = 10000;
  /// The number of this step.
  [[nodiscard]] constexpr double at(int step) const { return step >= steps ? 1.0 : static_cast<double>(step) / steps; }
};

/// 1, and over the last `steps` of `total` down to 0 (Mesh-TensorFlow's linear_decay; its default is a tenth of
/// `total`).
struct linear_decay {
  int total = 1;
  int steps = 1;
  /// The number of this step.
  [[nodiscard]] constexpr double at(int step) const {
    if (step >= total) return 0;
    return total - step >= steps ? 1.0 : static_cast<double>(total - step) / steps;
  }
};

/// From 1 at step 0 by half a cosine to `floor` at step `total`.
struct cosine_decay {
  int total = 1;
  double floor = 0;
  /// The number of this step.
  [[nodiscard]] double at(int step) const { return warmup_cosine{1, 0, total, floor}.at(step); }
};

/// 1 / sqrt(max(step, warmup)) (Mesh-TensorFlow's truncated_rsqrt).
struct rsqrt_decay {
  int warmup = 10000;
  /// The number of this step.
  [[nodiscard]] double at(int step) const {
    return 1 / math::library_sqrt(static_cast<double>(step > warmup ? step : warmup));
  }
};

/// d_model^-0.5 min(t^-0.5, t warmup^-1.5) at t = step + 1 (Vaswani et al. 2017).
struct noam {
  int d_model = 512;
  int warmup = 4000;
  /// The number of this step.
  [[nodiscard]] double at(int step) const {
    double const t = step + 1, rise = t / warmup / math::library_sqrt(static_cast<double>(warmup)),
                 fall = 1 / math::library_sqrt(t);
    return (rise < fall ? rise : fall) / math::library_sqrt(static_cast<double>(d_model));
  }
};

/// min(0.01, 1 / sqrt(step + 1)): Adafactor's relative step (Shazeer & Stern 2018).
struct relative_step {
  /// The number of this step.
  [[nodiscard]] double at(int step) const {
    double const fall = 1 / math::library_sqrt(step + 1.0);
    return fall < 0.01 ? fall : 0.01;
  }
};

/// values[i] before step boundaries[i], the last value from the last boundary on; boundaries rise.
template <std::size_t N>
struct piecewise {
  std::array<int, N> boundaries;
  std::array<double, N + 1> values;
  /// The number of this step.
  [[nodiscard]] constexpr double at(int step) const {
    std::size_t i = 0;
    while (i < N && step >= boundaries[i]) ++i;
    return values[i];
  }
};

/// The product of two schedules.
template <schedule A, schedule B>
struct product_of {
  A a;
  B b;
  /// The number of this step.
  [[nodiscard]] constexpr double at(int step) const { return a.at(step) * b.at(step); }
};
template <schedule A, schedule B>
constexpr product_of<A, B> operator*(A const& a, B const& b) {
  return {a, b};
}
template <schedule A>
constexpr product_of<constant_rate, A> operator*(double factor, A const& a) {
  return {{factor}, a};
}

}  // namespace mtf
