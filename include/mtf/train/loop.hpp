#pragma once
// A training loop: steps, evaluations, checkpoints with resume and stop signals, logs, reports. Needs what
// mtf/checkpoint/save.hpp does: link mtf::checkpoint.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/backend/profile.hpp>
#include <mtf/checkpoint/checkpoints.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/detail/train/run_files.hpp>
#include <mtf/detail/train/run_progress.hpp>
#include <mtf/ops/create/to_global.hpp>
#include <mtf/train/first_not_finite.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/loss_watch.hpp>
#include <mtf/train/on_trouble.hpp>
#include <mtf/train/run_report.hpp>
#include <mtf/train/stop_signal.hpp>

namespace mtf {

/// Trains a structure of parameters. All ranks make one, with the same options, and call its functions alike; the first
/// rank writes and speaks. What goes wrong is a user_error on all ranks.
///
/// `Optimizer`: anything with update(machine, p, gradients, learning_rate), which returns the gradients' norm and, if
/// that is not finite, leaves p alone; what its visit_state tells of is stored in checkpoints.
template <class Backend, class Params, class Optimizer>
class training_loop {
 public:
  /// Goes on with the newest checkpoint, if the options say so: p and the optimizer then have its values. Opens what is
  /// written. With checkpoints SIGTERM and SIGUSR1 from now on ask for the last one, instead of ending the process.
  training_loop(Backend& machine, Params& p, Optimizer& optimizer, loop_options options)
      : machine_(&machine),
        p_(&p),
        optimizer_(&optimizer),
        o_(std::move(options)),
        recent_(o_.spike),
        files_(machine.ranks().rank() == 0) {
    if (!o_.report.empty() && !o_.page) throw user_error("a report needs a page: loop_options::page is empty");
    if (o_.on_failed_checkpoint != on_trouble::stop)
      o_.checkpoints.not_written = [this](std::string const& why) {
        say("a checkpoint was not written, training goes on: " + why);
      };
    if (!o_.checkpoints.directory.empty()) {
      saved_.emplace(machine.ranks(), o_.checkpoints);
      go_on();
    }
    files_.open(o_, before_);
    detail::agree(machine.ranks(), files_.failure());
    if (saved_) listen_for_stop();
    if (before_ > 0) say("goes on after step " + std::to_string(before_) + ", from " + saved_->directory_of(before_));
  }

  /// A line on the screen, by the first rank.
  void say(std::string const& line) { files_.screen.say(line); }
  /// What a rank can do at most: speeds are told as shares of it.
  void compare_with(machine_limits const& limits) { limits_ = limits; }

  /// Does the steps that are left. `data(n)`: the batch of step n, counted from 0. `step(p, batch, n)`: the loss, as a
  /// scalar tensor `value`, and its `gradients`, as a function that value_and_grad makes returns them; gradients of
  /// several small batches are summed inside of it. It may be called again for the same step, to find what is not
  /// finite. Returns 0, or run_stopped if a signal came first and the checkpoint is there from which the run can go on:
  /// a program's exit code.
  template <class Data, class Step>
  int run(Data const& data, Step const& step) try {
    now_.step = before_;
    if (o_.evaluate) evaluate(before_ == 0);
    for (int n = before_; n < o_.steps; ++n) {
      one_step(n, data, step);
      bool const last = now_.step == o_.steps, due = now_.step % o_.evaluate_every == 0 || last;
      if (o_.evaluate && due) evaluate(true);
      write_step(due);
      if (!saved_) continue;
      auto const begin = clock::now();
      bool const stop = machine_->ranks().any(stop_asked());
      if (stop || last || now_.step % o_.checkpoint_every == 0) write_checkpoint();
      if (stop && !last) {
        finish_checkpoint("stopped by a signal after");
        say("stopped by a signal after step " + std::to_string(now_.step) + "; resume goes on from " +
            saved_->directory_of(now_.step));
        end("stopped by a signal");
        return run_stopped;
      }
      checkpoint_is_there_ = saved_->poll() || checkpoint_is_there_;
      phases_.checkpoints += since(begin);
    }
    if (saved_) finish_checkpoint("finished with");
    end("finished");
    return 0;
  } catch (user_error const& e) {
    files_.report(o_, state(e.what()));
    throw;
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
  void finish() { detail::agree(machine_->ranks(), files_.failure()); }

 private:
  using clock = std::chrono::steady_clock;
  static double since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

  template <class Data, class Step>
  void one_step(int n, Data const& data, Step const& step) {
    auto const begin = clock::now();
    machine_->reset_peak();
    std::vector<collectives::event> sent;
    if (n == before_ && o_.sends) machine_->ranks().record(&sent);
    // For a report ten steps tell enough; the first are slower than others.
    bool const profiled = o_.profile || (!o_.report.empty() && n >= before_ + 2 && n < before_ + 12);
    if (profiled) machine_->profile(&profile_);
    auto const batch = data(n);
    auto const at_data = clock::now();
    auto const both_passes = [&] { return step(std::as_const(*p_), batch, n); };
    now_.learning_rate = o_.learning_rate(n);
    bool spike = false;
    auto at_update = at_data;
    {
      auto const found = both_passes();
      now_.loss = static_cast<double>(item(found.value));
      at_update = clock::now();
      now_.gradient_norm = now_.loss;
      if (std::isfinite(now_.loss)) {
        spike = now_.loss > recent_.limit();
        if (!spike || o_.on_spike == on_trouble::go_on)
          now_.gradient_norm = optimizer_->update(*machine_, *p_, found.gradients, now_.learning_rate);
      }
    }
    bool const updated = std::isfinite(now_.gradient_norm) && (!spike || o_.on_spike == on_trouble::go_on);
    machine_->profile(nullptr);
    machine_->ranks().record(nullptr);
    now_.step = n + 1;
    remark_.clear();
    if (!std::isfinite(now_.gradient_norm))
      not_finite(o_.on_not_finite, std::isfinite(now_.loss) ? "gradients' norm" : "loss", now_.gradient_norm, [&] {
        auto const again = both_passes();
        // The norm is as infinite as before, so nothing is updated.
        if (std::isfinite(now_.loss)) optimizer_->update(*machine_, *p_, again.gradients, now_.learning_rate);
      });
    else if (spike)
      jumped();
    if (updated && n == before_ && o_.sends && sent != *o_.sends)
      throw std::logic_error("the first step did not send what was planned: this is an error in mtf");
    skipped_ = updated ? 0 : skipped_ + 1;
    if (skipped_ > o_.most_skips)
      throw user_error("step " + std::to_string(now_.step) + ": more than " + std::to_string(o_.most_skips) +
                       " steps in a row were skipped (" + remark_ +
                       "), training stops; a lower learning rate may help");
    if (updated) recent_.add(now_.loss);
    phases_.data += std::chrono::duration<double>(at_data - begin).count();
    phases_.passes += std::chrono::duration<double>(at_update - at_data).count();
    phases_.update += since(at_update);
    now_.seconds = since(begin);
    trained_ += now_.seconds;
    if (profiled) {
      profiled_seconds_ += now_.seconds;
      ++profiled_steps_;
    }
    now_.mean_seconds = trained_ / (now_.step - before_);
    // What several ranks compute alike counts for each.
    auto const ranks = static_cast<double>(machine_->ranks().mesh().size());
    now_.flops = o_.flops * ranks / now_.mean_seconds;
    now_.peak = limits_.flops * ranks;
    auto const memory = machine_->memory();
    now_.peak_bytes = static_cast<double>(memory.peak);
    now_.live_bytes = static_cast<double>(memory.live);
    peak_bytes_ = std::max(peak_bytes_, memory.peak);
  }

  void evaluate(bool told) {
    auto const begin = clock::now();
    machine_->reset_peak();
    now_.evaluation = o_.evaluate();
    // Parameters that give no number are of no use, whatever is done about steps.
    if (!std::isfinite(now_.evaluation))
      not_finite(on_trouble::stop, o_.evaluation, now_.evaluation, [&] { o_.evaluate(); });
    peak_bytes_ = std::max(peak_bytes_, machine_->memory().peak);
    phases_.evaluation += since(begin);
    evaluations_.emplace_back(now_.step, now_.evaluation);
    if (now_.step > 0 || !told) return;
    say(now_.line(o_));
    files_.add({0, now_.numbers(o_)}, true);
  }

  void write_step(bool evaluated) {
    auto const begin = clock::now();
    files_.add({now_.step, now_.numbers(o_), remark_}, evaluated);
    if (evaluated)
      say(now_.line(o_));
    else
      files_.screen.progress(now_.line(o_));
    if (evaluated) files_.report(o_, state("goes on"));
    phases_.files += since(begin);
    detail::agree(machine_->ranks(), files_.failure());
  }

  /// A number that is not finite; `again` repeats what gave it.
  template <class F>
  void not_finite(on_trouble then, std::string const& what, double found, F const& again) {
    auto const first = first_not_finite(*machine_, *p_, again);
    auto const said =
        "step " + std::to_string(now_.step) + ": the " + what + (std::isnan(found) ? " is NaN" : " is infinite");
    auto const where = "; the first operation whose result is not finite: " +
                       (first.empty() ? std::string("none when the step runs again") : first);
    if (then == on_trouble::stop)
      throw user_error(said + ", training stops" + where + "; a lower learning rate or more warm-up may help");
    say(said + ", the step is skipped" + where);
    remark_ = "not finite, skipped";
  }
  /// A loss that is a spike.
  void jumped() {
    auto const said = "step " + std::to_string(now_.step) + ": the loss jumped to " + std::to_string(now_.loss) +
                      ", above " + std::to_string(recent_.limit()) + ", which the losses before let expect";
    if (o_.on_spike == on_trouble::stop)
      throw user_error(said +
                       ", training stops; the step was not done; to skip such steps, a lower learning rate or "
                       "clipped gradients may help");
    say(said + (o_.on_spike == on_trouble::skip ? ", the step is skipped" : ""));
    remark_ = o_.on_spike == on_trouble::skip ? "spike, skipped" : "spike";
  }

  /// Calls f(parts...) with what a checkpoint has.
  template <class F>
  void with_parts(F const& f) {
    if constexpr (detail::has_state<Optimizer>)
      f(stored_as("model", *p_), stored_as("optimizer", *optimizer_));
    else
      f(stored_as("model", *p_));
  }
  void write_checkpoint() {
    auto notes = o_.notes;
    notes.insert(o_.same.begin(), o_.same.end());
    notes["recent losses"] = recent_.text();
    notes["skipped in a row"] = std::to_string(skipped_);
    checkpoint_is_there_ = false;
    with_parts([&](auto const&... part) { saved_->write(now_.step, notes, part...); });
  }
  /// Waits for the last one. Without it the run cannot go on from where it ended, whatever was done about others.
  void finish_checkpoint(char const* ended) {
    if (saved_->finish() || checkpoint_is_there_) return;
    auto const newest = saved_->newest();
    throw user_error(
        std::string(ended) + " step " + std::to_string(now_.step) + ", but its checkpoint was not written; " +
        (newest ? "the newest is " + saved_->directory_of(*newest) + ": resume goes on from it" : "there is no other"));
  }
  void go_on() {
    auto const newest = saved_->newest();
    if (!newest) return;
    auto const where = saved_->directory_of(*newest);
    if (!o_.resume) throw user_error(where + " is there: resume goes on from it; another directory begins anew");
    auto notes = saved_->read(*machine_, *newest);  // first, as another optimizer's tensors have other names
    for (auto const& [name, now] : o_.same)
      if (auto const then = notes.find(name); then == notes.end() || then->second != now)
        throw user_error(where + " was written with another " + name + ": " +
                         (then == notes.end() ? "unknown" : then->second) + ", now " + now);
    with_parts([&](auto const&... part) { saved_->read(*machine_, *newest, part...); });
    recent_.restore(notes["recent losses"]);
    skipped_ = std::atoi(notes["skipped in a row"].c_str());
    before_ = static_cast<int>(*newest);
  }

  [[nodiscard]] run_state state(std::string const& words) const {
    run_state s{.words = words, .step = now_.step, .steps = o_.steps, .resumed_after = before_};
    s.evaluation = detail::evaluation_name(o_);
    s.item = o_.item;
    s.items = o_.items;
    s.phases = {{"forward and backward", phases_.passes},
                {"update", phases_.update},
                {"data", phases_.data},
                {"evaluations", phases_.evaluation},
                {"checkpoints", phases_.checkpoints},
                {"logs and reports", phases_.files}};
    s.profile = &profile_;
    s.profiled_steps = profiled_steps_;
    s.profiled_seconds = profiled_seconds_;
    s.limits = limits_;
    return s;
  }
  void end(std::string const& words) {
    files_.report(o_, state(words));
    finish();
  }

  Backend* machine_;
  Params* p_;
  Optimizer* optimizer_;
  loop_options o_;
  std::optional<mtf::checkpoints> saved_;
  int before_ = 0, skipped_ = 0;
  bool checkpoint_is_there_ = true;  // the last one that was begun
  loss_watch recent_;
  detail::run_files files_;
  detail::run_progress now_;
  std::string remark_;
  machine_limits limits_;
  std::vector<std::pair<int, double>> evaluations_;
  double trained_ = 0;  // seconds in training steps
  struct {
    double data = 0, passes = 0, update = 0, evaluation = 0, checkpoints = 0, files = 0;
  } phases_;
  profile_table profile_;
  double profiled_seconds_ = 0;
  int profiled_steps_ = 0;
  std::size_t peak_bytes_ = 0;
};

}  // namespace mtf
