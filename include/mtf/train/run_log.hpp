#pragma once
// The log of a run: a JSON object a line for each step. Needs nlohmann-json; a program that links
// mtf::checkpoint_compiled does not parse it.
#include <cstdint>
#include <string>

#include <mtf/checkpoint/part.hpp>
#include <mtf/train/run_history.hpp>
#include <mtf/train/step_record.hpp>
#include <mtf/train/text_output.hpp>

namespace mtf {

namespace detail {
/// The last step that a log has a line of; 0: none, or there is no such file.
MTF_CHECKPOINT_CODE std::int64_t last_step_of_log(std::string const& path);
}  // namespace detail

/// A line {"step": 1, "loss": 5.5, ...} for each step; "remark" is there if there is one. A number that is not finite
/// is null, as JSON has none.
class run_log {
 public:
  /// Begins the file, or goes on after step `after` (0: from the start): lines until then stay, and are told to
  /// `history`; later ones, of a run that was killed, go. Of the number `repeated`, which a line has from an earlier
  /// one if it did not change, only changes are told. At no time is the file half written.
  MTF_CHECKPOINT_CODE void open(std::string const& path, std::int64_t after, std::string const& repeated,
                                run_history& history);
  /// A line, if a file is open.
  MTF_CHECKPOINT_CODE void add(step_record const& r);
  /// As text_output's.
  void close() { to_.close(); }
  /// As text_output's.
  [[nodiscard]] std::string const& failure() const { return to_.failure(); }

 private:
  text_output to_;
};

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/train/code/run_log.hpp>  // IWYU pragma: export
#endif
