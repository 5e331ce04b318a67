#pragma once
// Losses that jump.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace mtf {

/// What a spike is: a loss that is more than `deviations` standard deviations above the median of the last `window`
/// losses. The deviation is estimated from the median of the distances to the median, times 1.4826, as for a normal
/// distribution: one spike among them changes neither median. It counts as at least a thousandth of the median, as a
/// loss that hardly moves is no reason. Before `window` losses there are none.
struct spike_rule {
  int window = 50;
  double deviations = 8;
};

/// The last losses of a run. A function of the losses alone, so all ranks, which have the same, find the same spikes.
class loss_watch {
 public:
  explicit loss_watch(spike_rule rule = {}) : rule_(rule) {}

  /// Above this a loss is a spike; infinite while there are too few.
  [[nodiscard]] double limit() const {
    if (rule_.window < 1 || losses_.size() < static_cast<std::size_t>(rule_.window)) return HUGE_VAL;
    double const middle = median(losses_);
    std::vector<double> distances;
    for (double const x : losses_) distances.push_back(std::abs(x - middle));
    return middle + rule_.deviations * std::max(1.4826 * median(std::move(distances)), 1e-3 * std::abs(middle));
  }
  /// One more loss, which is finite.
  void add(double loss) {
    losses_.push_back(loss);
    if (losses_.size() > static_cast<std::size_t>(std::max(rule_.window, 1))) losses_.erase(losses_.begin());
  }

  /// The losses as a text that has every bit of them, for a checkpoint.
  [[nodiscard]] std::string text() const {
    std::string all;
    char one[40];
    for (double const x : losses_) {
      std::snprintf(one, sizeof one, "%a ", x);
      all += one;
    }
    return all;
  }
  /// Goes on with the losses of a text, instead of those that it has.
  void restore(std::string const& text) {
    losses_.clear();
    char const* at = text.c_str();
    for (char* end = nullptr;; at = end) {
      double const x = std::strtod(at, &end);
      if (end == at) return;
      add(x);
    }
  }

 private:
  static double median(std::vector<double> of) {
    auto const middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::nth_element(of.begin(), middle, of.end());
    return *middle;
  }

  spike_rule rule_;
  std::vector<double> losses_;  // the oldest first
};

}  // namespace mtf
