#pragma once
// What a server counts, as Prometheus reads it (its text format 0.0.4).
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace mtf::tools {

/// How often a number of seconds was at most each of some.
class seconds_histogram {
 public:
  void add(double seconds);
  /// Its lines under a name.
  [[nodiscard]] std::string lines(std::string const& name, std::string const& help) const;

 private:
  static constexpr std::array bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                     0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// Names are vLLM's, after "mtf:".
struct metrics {
  std::map<std::string, std::uint64_t> ended;  // texts, by why: stop, length, error, abort
  std::map<int, std::uint64_t> refused;        // requests, by HTTP's status
  std::uint64_t prompt_tokens = 0, generation_tokens = 0;
  seconds_histogram first_token, between_tokens, whole_request;

  [[nodiscard]] std::string text(std::size_t running, std::size_t waiting) const;
};

}  // namespace mtf::tools
