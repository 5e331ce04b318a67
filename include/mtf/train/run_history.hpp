#pragma once
// What a report shows of a run's numbers: of any number of steps a few thousand points.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mtf/train/step_record.hpp>

namespace mtf {

/// A number over the steps of a run. Neighbours become one point when there would be more than `most`: so a run of any
/// length needs little memory, and no extreme is lost.
class run_curve {
 public:
  /// Some steps, up to `step`: their mean, and the least and the largest value.
  struct point {
    std::int64_t step = 0;
    double mean = 0, least = 0, largest = 0;
    std::int64_t steps = 1;  // how many
  };
  static constexpr std::size_t most = 2000;

  /// A later step's value. What is not finite is no part of a curve.
  void add(std::int64_t step, double value) {
    if (!std::isfinite(value)) return;
    point const one{step, value, value, value};
    if (points_.empty() || points_.back().steps >= together_)
      points_.push_back(one);
    else
      points_.back() = joined(points_.back(), one);
    if (points_.size() < most) return;
    for (std::size_t i = 0; i < most / 2; ++i) points_[i] = joined(points_[2 * i], points_[2 * i + 1]);
    points_.resize(most / 2);
    together_ *= 2;
  }
  /// In the order of the steps.
  [[nodiscard]] std::vector<point> const& points() const { return points_; }

 private:
  static point joined(point const& a, point const& b) {
    auto const n = static_cast<double>(a.steps), m = static_cast<double>(b.steps);
    return {b.step, (n * a.mean + m * b.mean) / (n + m), std::min(a.least, b.least), std::max(a.largest, b.largest),
            a.steps + b.steps};
  }

  std::vector<point> points_;
  std::int64_t together_ = 1;
};

/// The curves of a run, by name, and its first remarks.
class run_history {
 public:
  /// A later step.
  void add(step_record const& r) {
    for (auto const& [name, value] : r.numbers) curves_[name].add(r.step, value);
    if (!r.remark.empty() && remarks_.size() < 200) remarks_.emplace_back(r.step, r.remark);
  }
  /// Numbers by name.
  [[nodiscard]] std::map<std::string, run_curve> const& curves() const { return curves_; }
  /// Steps with what was unusual about them.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::string>> const& remarks() const { return remarks_; }

 private:
  std::map<std::string, run_curve> curves_;
  std::vector<std::pair<std::int64_t, std::string>> remarks_;
};

}  // namespace mtf
