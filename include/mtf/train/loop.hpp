#pragma once
// A training loop: steps, evaluations, checkpoints with resume and stop signals, logs, reports. Needs what
// mtf/checkpoint/save.hpp does: link mtf::checkpoint.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/profile.hpp>
#include <mtf/backend/step.hpp>
#include <mtf/checkpoint/checkpoints.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/detail/train/training_run.hpp>
#include <mtf/ops/create/to_global.hpp>
#include <mtf/train/first_not_finite.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/stop_signal.hpp>  // IWYU pragma: export

namespace mtf {

/// Trains a structure of parameters. All ranks make one, with the same options, and make the same calls; the first rank
/// writes files and to the screen. What goes wrong is a user_error on all ranks.
///
/// `Optimizer`: anything with update(machine, p, gradients, learning_rate), which returns the gradients' norm and, if
/// that is not finite, leaves p alone; what its visit_state tells of is stored in checkpoints, each structure under a
/// suffix of its own. One made of several optimizers hands on theirs: first.visit_state([&](std::string_view suffix,
/// auto& s) { f("first." + std::string(suffix), s); }). Two tensors of one name are a user_error, if there are
/// checkpoints.
template <class Backend, class Params, class Optimizer>
class training_loop final : detail::training_run {
 public:
  /// Goes on with the newest checkpoint, if the options say so: p and the optimizer then have its values. Opens what is
  /// written. With checkpoints SIGTERM and SIGUSR1 from now on ask for the last one, instead of ending the process.
  training_loop(Backend& machine, Params& p, Optimizer& optimizer, loop_options options)
      : training_run(machine.ranks(), std::move(options)), machine_(&machine), p_(&p), optimizer_(&optimizer) {
    begin();
  }

  /// A line on the screen, by the first rank.
  void say(std::string const& line) { training_run::say(line); }
  /// What a rank can do at most: speeds are given as shares of it.
  void compare_with(machine_limits const& limits) { limits_ = limits; }

  /// Does the steps that are left. `data(n)`: the batch of step n, counted from 0. `step(p, batch, n)`: the loss, as a
  /// scalar tensor `value`, and its `gradients`, as a function that value_and_grad makes returns them; gradients of
  /// several small batches are summed inside of it. It may be called again for the same step, to find what is not
  /// finite. Returns 0, or run_stopped if a signal came first and the checkpoint is there from which the run can go on:
  /// a program's exit code.
  template <class Data, class Step>
  int run(Data const& data, Step const& step) {
    return training_run::run([&](int n) {
      if (begin_step(n)) machine_->profile(&profile_);
      auto const batch = data(n);
      data_is_there(n);
      std::function<void()> const passes = [&] {
        backend::step<Backend> const here(*machine_);
        auto const found = step(std::as_const(*p_), batch, n);
        if (updates_with(static_cast<double>(item(found.value))))
          has_norm(optimizer_->update(*machine_, *p_, found.gradients, learning_rate()));
      };
      try {
        passes();
      } catch (...) {
        machine_->profile(nullptr);  // the table may be gone before the backend
        throw;
      }
      machine_->profile(nullptr);
      end_step(n, passes);
    });
  }

  /// The steps that were done before this start.
  [[nodiscard]] int resumed_after() const { return before_; }
  /// Evaluations of this start: after which step, and the value.
  [[nodiscard]] std::vector<std::pair<int, double>> const& evaluations() const { return evaluations_; }
  /// Where the time of `profiled_seconds` went, on this rank, if the options ask for a profile.
  [[nodiscard]] profile_table const& profile() const { return profile_; }
  /// What the profiled steps took.
  [[nodiscard]] double profiled_seconds() const { return profiled_seconds_; }
  /// The most memory that this rank's tensors took, in steps and evaluations.
  [[nodiscard]] std::size_t peak_bytes() const { return peak_bytes_; }
  /// What `say` could not write becomes a user_error; a program that speaks after its run calls it last.
  void finish() { training_run::finish(); }

 private:
  void reset_peak() override { machine_->reset_peak(); }
  [[nodiscard]] memory memory_now() const override {
    auto const used = machine_->memory();
    return {used.peak, used.live};
  }
  [[nodiscard]] std::string first_not_finite(std::function<void()> const& again) override {
    return mtf::first_not_finite(*machine_, *p_, again);
  }
  void check_names() const override {
    with_parts([&](auto const&... part) { static_cast<void>(detail::parts_to_read(*machine_, part...)); });
  }
  void write(checkpoints& to, std::int64_t step, checkpoint_notes const& notes) override {
    with_parts([&](auto const&... part) { to.write(step, notes, part...); });
  }
  void read(checkpoints const& from, std::int64_t step) override {
    with_parts([&](auto const&... part) { from.read(*machine_, step, part...); });
  }
  /// Calls f(parts...) with what a checkpoint has.
  template <class F>
  void with_parts(F const& f) const {
    if constexpr (detail::has_state<Optimizer>)
      f(stored_as("model", *p_), stored_as("optimizer", *optimizer_));
    else
      f(stored_as("model", *p_));
  }

  Backend* machine_;
  Params* p_;
  Optimizer* optimizer_;
};

}  // namespace mtf
