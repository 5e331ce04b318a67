#pragma once
// A training loop, but for what depends on a program's types: compiled once.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/backend/profile.hpp>
#include <mtf/checkpoint/checkpoints.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/detail/train/run_progress.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/loss_watch.hpp>
#include <mtf/train/on_trouble.hpp>
#include <mtf/train/run_report.hpp>

namespace mtf::detail {

class run_files;

/// What mtf::training_loop is, whose functions tell what these do; it gives what is virtual here, and a step.
class training_run {
 public:
  training_run(training_run const&) = delete;
  training_run& operator=(training_run const&) = delete;

 protected:
  MTF_CHECKPOINT_CODE training_run(collectives& ranks, loop_options options);
  MTF_CHECKPOINT_CODE ~training_run();

  /// The rest of a constructor, which needs what is virtual.
  MTF_CHECKPOINT_CODE void begin();
  MTF_CHECKPOINT_CODE void say(std::string const& line);
  /// `step(n)`: step n, by the functions below.
  MTF_CHECKPOINT_CODE int run(std::function<void(int)> const& step);
  MTF_CHECKPOINT_CODE void finish();

  /// Before the data of step n. Whether its operations are to be timed.
  MTF_CHECKPOINT_CODE bool begin_step(int n);
  MTF_CHECKPOINT_CODE void data_is_there(int n);
  /// The step's loss is known. Whether the parameters are to be updated.
  MTF_CHECKPOINT_CODE bool updates_with(double loss);
  /// The parameters are updated, unless the gradients' norm is not finite.
  void has_norm(double norm) { now_.gradient_norm = norm; }
  /// `passes()`: what the step has computed since its data, once more. Nothing is updated by that: what is not finite
  /// will not be again.
  MTF_CHECKPOINT_CODE void end_step(int n, std::function<void()> const& passes);

  [[nodiscard]] double learning_rate() const { return now_.learning_rate; }

  /// Bytes of tensors on this rank: at most since reset_peak(), and now.
  struct memory {
    std::size_t peak, live;
  };

  virtual void reset_peak() = 0;
  [[nodiscard]] virtual memory memory_now() const = 0;
  [[nodiscard]] virtual std::string first_not_finite(std::function<void()> const& again) = 0;
  virtual void check_names() const = 0;  // of what `write` would write: a user_error
  virtual void write(checkpoints& to, std::int64_t step, checkpoint_notes const& notes) = 0;
  virtual void read(checkpoints const& from, std::int64_t step) = 0;

  machine_limits limits_;
  std::vector<std::pair<int, double>> evaluations_;
  int before_ = 0;  // steps that were done before this start
  profile_table profile_;
  double profiled_seconds_ = 0;
  std::size_t peak_bytes_ = 0;

 private:
  using clock = std::chrono::steady_clock;
  static double since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

  MTF_CHECKPOINT_CODE void check_files() const;
  MTF_CHECKPOINT_CODE void check_nothing_was_done() const;
  MTF_CHECKPOINT_CODE void go_on();
  MTF_CHECKPOINT_CODE void or_older(std::int64_t newest, std::function<void()> const& f);
  MTF_CHECKPOINT_CODE int stopped();
  MTF_CHECKPOINT_CODE void evaluate(bool told);
  MTF_CHECKPOINT_CODE void compare_with_best();
  [[nodiscard]] bool is_enough() const { return o_.patience > 0 && not_better_ >= o_.patience; }
  MTF_CHECKPOINT_CODE void write_step(bool evaluated);
  MTF_CHECKPOINT_CODE void not_finite(on_trouble then, std::string const& what, double found,
                                      std::function<void()> const& again);
  MTF_CHECKPOINT_CODE void jumped();
  MTF_CHECKPOINT_CODE void write_checkpoint();
  MTF_CHECKPOINT_CODE void finish_checkpoint(char const* ended);
  MTF_CHECKPOINT_CODE void end(std::string const& words);
  [[nodiscard]] MTF_CHECKPOINT_CODE run_state state(std::string const& words) const;

  collectives* ranks_;
  loop_options o_;
  std::unique_ptr<checkpoints> saved_;  // none: no checkpoints
  int skipped_ = 0;                     // in a row
  int steps_then_ = 0;                  // that the run had which this one goes on with; 0: unknown
  bool checkpoint_is_there_ = true;     // the last one that was begun
  double least_ = HUGE_VAL;             // of all evaluations
  int not_better_ = 0;                  // those in a row that were not below all before them
  loss_watch recent_;
  std::unique_ptr<run_files> files_;
  run_progress now_;
  std::string remark_;
  double trained_ = 0;  // seconds in training steps
  struct {
    double data = 0, passes = 0, update = 0, evaluation = 0, checkpoints = 0, files = 0;
  } phases_;
  int profiled_steps_ = 0;
  // Of the step that is under way:
  clock::time_point began_, at_data_, at_update_;
  std::vector<collectives::event> sent_;
  bool profiled_ = false, spike_ = false;
};

}  // namespace mtf::detail

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/detail/train/code/training_run.hpp>  // IWYU pragma: export
#endif
