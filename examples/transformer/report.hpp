#pragma once
// What a person sees of a training run: a line of progress, a log, a plot. Only rank 0 makes one that speaks.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/profile.hpp>

#include "output.hpp"

namespace transformer {

struct progress {
  int step = 0, steps = 0;
  double loss = 0;             // nats, of the last step
  double validation_bits = 0;  // bits a byte
  double tokens_per_second = 0, gflops = 0, peak_share = 0;
  double seconds_left = 0;
  double learning_rate = 0, gradient_norm = 0;
};

class report {
 public:
  explicit report(bool speaks);
  ~report();
  report(report const&) = delete;
  report& operator=(report const&) = delete;

  /// Opens the log, and looks whether the plot can be written when all is done; without a path there is none. A run
  /// that goes on after step `after` keeps the log's lines until then.
  void open(std::string const& log, std::string const& plot, int after);
  /// What could not be written, and why; empty if all could.
  [[nodiscard]] std::string const& failure() const;
  void say(std::string const& line);
  /// A training step: logged, and shown on a terminal, over the last line.
  void step(progress const& p);
  void evaluation(progress const& p);
  /// Where the time of the training steps went.
  void profile(mtf::profile_table const& of, double seconds, mtf::machine_limits const& limits);
  /// The validation figures so far against the steps, in rows of characters; `reference` is drawn as a dashed line.
  void plot(double reference, char const* name);
  /// The last files: the same as an SVG file, and the log as it is.
  void close(std::string const& plot, double reference);

 private:
  [[nodiscard]] std::pair<double, double> range(double reference) const;
  /// The validation figure at a share of all steps, between evaluations on a line.
  [[nodiscard]] double at(double share) const;

  bool speaks_, terminal_, line_is_open_ = false;
  output screen_, log_, plot_;
  std::vector<progress> steps_;
};

/// Seconds since construction.
class stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace transformer
