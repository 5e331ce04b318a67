#pragma once
// Learning rates.
#include <numbers>

#include <mtf/math/fast_math.hpp>

namespace mtf {

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

}  // namespace mtf
