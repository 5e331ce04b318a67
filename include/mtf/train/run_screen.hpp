#pragma once
// What a person at a terminal sees of a run.
#include <string>

#include <mtf/checkpoint/part.hpp>
#include <mtf/core/shown_text.hpp>
#include <mtf/train/text_output.hpp>

namespace mtf {

/// Lines on the standard output. On a terminal the last one can be progress, which the next takes the place of.
class run_screen {
 public:
  /// Of the ranks only one `speaks`.
  MTF_CHECKPOINT_CODE explicit run_screen(bool speaks);
  run_screen(run_screen const&) = delete;
  run_screen& operator=(run_screen const&) = delete;
  /// Whoever writes next, an error perhaps, begins a line.
  ~run_screen() {
    if (line_is_open_) to_.write("\n");
  }

  /// A line that stays, or several; of each as `shown_text` has it.
  void say(std::string const& line) {
    to_.write((terminal_ ? "\r\033[K" : "") + shown_text(line, "\n\t") + "\n");
    line_is_open_ = false;
  }
  /// A line that the next one replaces; on terminals only.
  void progress(std::string const& line) {
    if (!terminal_) return;
    to_.write("\r\033[K" + shown_text(line));
    line_is_open_ = true;
  }
  /// As text_output's.
  [[nodiscard]] std::string const& failure() const { return to_.failure(); }

 private:
  bool terminal_, line_is_open_ = false;
  text_output to_;
};

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/train/code/run_screen.hpp>  // IWYU pragma: export
#endif
