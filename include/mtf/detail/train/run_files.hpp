#pragma once
// What the first rank of a run writes.
#include <string>
#include <vector>

#include <mtf/detail/train/run_progress.hpp>
#include <mtf/train/event_file.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/run_history.hpp>
#include <mtf/train/run_log.hpp>
#include <mtf/train/run_report.hpp>
#include <mtf/train/run_screen.hpp>
#include <mtf/train/step_record.hpp>
#include <mtf/train/text_output.hpp>

namespace mtf::detail {

/// Screen, log, event file and report. Of other ranks than the first, nothing.
class run_files {
 public:
  explicit run_files(bool first) : first_(first), screen(first) {}

  /// The run goes on after a step; 0: it begins.
  void open(loop_options const& o, int after) {
    if (!first_) return;
    evaluation_ = evaluation_name(o);
    if (!o.log.empty()) log_.open(o.log, after, evaluation_, history_);
    if (!o.report.empty()) open_report(o, "a");  // whether it can be written
    report_.close();
    if (!o.tensorboard.empty() && failure().empty()) events_.open(o.tensorboard, after);
  }
  /// What could not be written, and why; empty if all could.
  [[nodiscard]] std::string const& failure() const {
    for (auto const* f : {&log_.failure(), &events_.failure(), &report_.failure()})
      if (!f->empty()) return *f;
    return screen.failure();
  }
  /// A step, or an evaluation before the first. Logs repeat the last evaluation's value, pictures do not.
  void add(step_record r, bool evaluated) {
    if (!first_) return;
    if (r.step > 0) log_.add(r);
    std::erase_if(r.numbers, [&](auto const& n) { return n.first == evaluation_ ? !evaluated : r.step == 0; });
    events_.add(r.step, r.numbers);
    history_.add(r);
  }
  void report(loop_options const& o, run_state const& now) {
    if (!first_ || o.report.empty()) return;
    open_report(o, "w");
    report_.write(o.page(report_json(o.about, now, history_)));
    report_.close();
  }

 private:
  void open_report(loop_options const& o, char const* mode) { report_.open("the report", o.report, mode); }

  bool first_;
  std::string evaluation_;
  run_log log_;
  event_file events_;
  text_output report_;
  run_history history_;

 public:
  run_screen screen;
};

}  // namespace mtf::detail
