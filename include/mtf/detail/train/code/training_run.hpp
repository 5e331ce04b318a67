#pragma once
// What a training loop does around its steps.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/checkpoints.hpp>
#include <mtf/checkpoint/distinct_files.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/train/run_files.hpp>
#include <mtf/detail/train/run_progress.hpp>
#include <mtf/detail/train/training_run.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/train/loop_options.hpp>
#include <mtf/train/on_trouble.hpp>
#include <mtf/train/run_log.hpp>
#include <mtf/train/run_report.hpp>
#include <mtf/train/stop_signal.hpp>

namespace mtf::detail {

training_run::training_run(collectives& ranks, loop_options options)
    : ranks_(&ranks),
      o_(std::move(options)),
      recent_(o_.spike),
      files_(std::make_unique<run_files>(ranks.rank() == 0)) {
  if (!o_.report.empty() && !o_.page) throw user_error("a report needs a page: loop_options::page is empty");
  if (o_.on_failed_checkpoint != on_trouble::stop)
    o_.checkpoints.not_written = [this](std::string const& why) {
      say("a checkpoint was not written, training goes on: " + why);
    };
  if (!o_.checkpoints.directory.empty()) listen_for_stop();
  agree(ranks, ranks.rank() == 0 ? failure_of([&] { check_files(); }) : "");
  if (!o_.checkpoints.directory.empty()) saved_ = std::make_unique<checkpoints>(ranks, o_.checkpoints);
}
training_run::~training_run() = default;

/// Nothing that is written is read, or written twice.
void training_run::check_files() const {
  distinct_files all;
  for (auto const& path : o_.reads) all.reads("the input", path);
  all.writes("the log", o_.log);
  all.writes("the report", o_.report);
}

void training_run::begin() {
  if (saved_) check_names();
  if (saved_) go_on();
  files_->open(o_, before_);
  agree(*ranks_, files_->failure());
  if (before_ == 0) return;
  say("goes on after step " + std::to_string(before_) + ", from " + saved_->directory_of(before_));
  if (steps_then_ > 0 && steps_then_ != o_.steps)
    say("this run has " + std::to_string(o_.steps) + " steps, that one had " + std::to_string(steps_then_) +
        ": a learning rate that depends on their number does not go on from where it was, the next is " +
        std::to_string(o_.learning_rate(before_)));
}

void training_run::say(std::string const& line) { files_->screen.say(line); }

void training_run::finish() { agree(*ranks_, files_->failure()); }

int training_run::run(std::function<void(int)> const& step) try {
  now_.step = before_;
  if (o_.evaluate) evaluate(before_ == 0);
  if (saved_ && before_ < o_.steps && !is_enough() && ranks_->any(stop_asked()))
    return stopped();  // before a step that nobody asked for
  for (int n = before_; n < o_.steps && !is_enough(); ++n) {
    step(n);
    bool const due = now_.step % o_.evaluate_every == 0 || now_.step == o_.steps;
    if (o_.evaluate && due) evaluate(true);
    bool const last = now_.step == o_.steps || is_enough();
    write_step(due);
    if (!saved_) continue;
    auto const begin = clock::now();
    bool const stop = ranks_->any(stop_asked());
    if (stop || last || now_.step % o_.checkpoint_every == 0) write_checkpoint();
    if (stop && !last) {
      finish_checkpoint("stopped by a signal after");
      return stopped();
    }
    checkpoint_is_there_ = saved_->poll() || checkpoint_is_there_;
    phases_.checkpoints += since(begin);
  }
  bool const early = now_.step < o_.steps;
  if (saved_) finish_checkpoint(early ? "stopped early after" : "finished with");
  if (early)
    say("stopped early after step " + std::to_string(now_.step) + ": of the last " + std::to_string(not_better_) +
        " evaluations none was below " + std::to_string(least_));
  end(early ? "stopped early" : "finished");
  return 0;
} catch (user_error const& e) {
  files_->report(o_, state(e.what()));
  throw;
}

int training_run::stopped() {
  say("stopped by a signal " + (now_.step == 0 ? "before the first step" : "after step " + std::to_string(now_.step)) +
      "; resume " + (now_.step == 0 ? "begins" : "goes on from " + saved_->directory_of(now_.step)));
  end("stopped by a signal");
  return run_stopped;
}

bool training_run::begin_step(int n) {
  began_ = clock::now();
  reset_peak();
  if (n == before_ && o_.sends) ranks_->record(&sent_);
  // For a report ten steps tell enough; the first are slower than others.
  profiled_ = o_.profile || (!o_.report.empty() && n >= before_ + 2 && n < before_ + 12);
  return profiled_;
}

void training_run::data_is_there(int n) {
  at_data_ = clock::now();
  now_.learning_rate = o_.learning_rate(n);
}

bool training_run::updates_with(double loss) {
  now_.loss = now_.gradient_norm = loss;
  at_update_ = clock::now();
  spike_ = std::isfinite(loss) && loss > recent_.limit();
  return std::isfinite(loss) && (!spike_ || o_.on_spike == on_trouble::go_on);
}

void training_run::end_step(int n, std::function<void()> const& passes) {
  ranks_->record(nullptr);
  now_.step = n + 1;
  remark_.clear();
  phases_.data += std::chrono::duration<double>(at_data_ - began_).count();
  phases_.passes += std::chrono::duration<double>(at_update_ - at_data_).count();
  phases_.update += since(at_update_);
  bool const updated = std::isfinite(now_.gradient_norm) && (!spike_ || o_.on_spike == on_trouble::go_on);
  if (!std::isfinite(now_.gradient_norm))
    not_finite(o_.on_not_finite, std::isfinite(now_.loss) ? "gradients' norm" : "loss", now_.gradient_norm, passes);
  else if (spike_)
    jumped();
  if (updated && n == before_ && o_.sends && sent_ != *o_.sends)
    throw std::logic_error("the first step did not send what was planned: this is an error in mtf");
  skipped_ = updated ? 0 : skipped_ + 1;
  if (skipped_ > o_.most_skips)
    throw user_error("step " + std::to_string(now_.step) + ": more than " + std::to_string(o_.most_skips) +
                     " steps in a row were skipped (" + remark_ + "), training stops; a lower learning rate may help");
  if (updated) recent_.add(now_.loss);
  now_.seconds = since(began_);
  trained_ += now_.seconds;
  if (profiled_) {
    profiled_seconds_ += now_.seconds;
    ++profiled_steps_;
  }
  now_.mean_seconds = trained_ / (now_.step - before_);
  // What several ranks compute alike counts for each.
  auto const ranks = static_cast<double>(ranks_->mesh().size());
  now_.flops = o_.flops * ranks / now_.mean_seconds;
  now_.peak = limits_.flops * ranks;
  auto const used = memory_now();
  now_.peak_bytes = static_cast<double>(used.peak);
  now_.live_bytes = static_cast<double>(used.live);
  peak_bytes_ = std::max(peak_bytes_, used.peak);
}

void training_run::evaluate(bool told) {
  auto const begin = clock::now();
  reset_peak();
  now_.evaluation = o_.evaluate();
  // Parameters that give no number are of no use, whatever is done about steps.
  if (!std::isfinite(now_.evaluation))
    not_finite(on_trouble::stop, o_.evaluation, now_.evaluation, [&] { o_.evaluate(); });
  peak_bytes_ = std::max(peak_bytes_, memory_now().peak);
  phases_.evaluation += since(begin);
  evaluations_.emplace_back(now_.step, now_.evaluation);
  if (told) compare_with_best();
  if (now_.step > 0 || !told) return;
  say(now_.line(o_));
  files_->add({0, now_.numbers(o_)}, true);
}

/// Of an evaluation that is not a repetition, as that at the start of a run that goes on is.
void training_run::compare_with_best() {
  ++not_better_;
  if (!(now_.evaluation < least_)) return;
  least_ = now_.evaluation;
  not_better_ = 0;
  if (o_.improved) o_.improved();
}

void training_run::write_step(bool evaluated) {
  auto const begin = clock::now();
  files_->add({now_.step, now_.numbers(o_), remark_}, evaluated);
  if (evaluated)
    say(now_.line(o_));
  else
    files_->screen.progress(now_.line(o_));
  if (evaluated) files_->report(o_, state("goes on"));
  phases_.files += since(begin);
  finish();
}

/// A number that is not finite; `again` repeats what gave it.
void training_run::not_finite(on_trouble then, std::string const& what, double found,
                              std::function<void()> const& again) {
  auto const first = first_not_finite(again);
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
void training_run::jumped() {
  auto const said = "step " + std::to_string(now_.step) + ": the loss jumped to " + std::to_string(now_.loss) +
                    ", above " + std::to_string(recent_.limit()) + ", which the losses before let expect";
  if (o_.on_spike == on_trouble::stop)
    throw user_error(said +
                     ", training stops; the step was not done; to skip such steps, a lower learning rate or "
                     "clipped gradients may help");
  say(said + (o_.on_spike == on_trouble::skip ? ", the step is skipped" : ""));
  remark_ = o_.on_spike == on_trouble::skip ? "spike, skipped" : "spike";
}

void training_run::write_checkpoint() {
  auto notes = o_.notes;
  notes.insert(o_.same.begin(), o_.same.end());
  notes["recent losses"] = recent_.text();
  notes["skipped in a row"] = std::to_string(skipped_);
  if (o_.evaluate) {
    std::array<char, 40> least{};
    std::snprintf(least.data(), least.size(), "%a", least_);  // every bit
    notes["least evaluation"] = least.data();
    notes["evaluations since"] = std::to_string(not_better_);
  }
  notes["steps"] = std::to_string(o_.steps);
  checkpoint_is_there_ = false;
  write(*saved_, now_.step, notes);
}

/// Waits for the last one. Without it the run cannot go on from where it ended, whatever was done about others.
void training_run::finish_checkpoint(char const* ended) {
  if (saved_->finish() || checkpoint_is_there_) return;
  auto const newest = saved_->newest();
  throw user_error(
      std::string(ended) + " step " + std::to_string(now_.step) + ", but its checkpoint was not written; " +
      (newest ? "the newest is " + saved_->directory_of(*newest) + ": resume goes on from it" : "there is no other"));
}

void training_run::go_on() {
  auto const newest = saved_->newest();
  if (!newest) {
    if (o_.resume) agree(*ranks_, ranks_->rank() == 0 ? failure_of([&] { check_nothing_was_done(); }) : "");
    return;
  }
  auto const where = saved_->directory_of(*newest);
  if (!o_.resume) throw user_error(where + " is there: resume goes on from it; another directory begins anew");
  checkpoint_notes notes;
  // First the notes, as another optimizer's tensors have other names.
  or_older(*newest, [&] { notes = read_checkpoint(*ranks_, where, {}); });
  for (auto const& [name, now] : o_.same)
    if (auto const then = notes.find(name); then == notes.end() || then->second != now)
      throw user_error(where + " was written with another " + name + ": " +
                       (then == notes.end() ? "unknown" : then->second) + ", now " + now);
  if (auto const step = notes.find("step"); step != notes.end() && step->second != std::to_string(*newest))
    throw user_error(where + " is the checkpoint of step " + step->second +
                     ", as its manifest says: give it back the name of that step, or move it away");
  if (*newest > std::numeric_limits<int>::max())
    throw user_error(where + ": a run has at most " + std::to_string(std::numeric_limits<int>::max()) + " steps");
  or_older(*newest, [&] { read(*saved_, *newest); });
  recent_.restore(notes["recent losses"]);
  skipped_ = std::atoi(notes["skipped in a row"].c_str());
  if (auto const least = notes.find("least evaluation"); least != notes.end()) {
    least_ = std::strtod(least->second.c_str(), nullptr);
    not_better_ = std::atoi(notes["evaluations since"].c_str());
  }
  before_ = static_cast<int>(*newest);
  steps_then_ = std::atoi(notes["steps"].c_str());
}

/// What f says is wrong with the newest checkpoint, and what to do if an older one is whole.
void training_run::or_older(std::int64_t newest, std::function<void()> const& f) {
  try {
    f();
  } catch (user_error const& e) {
    for (auto older = saved_->newest(newest); older; older = saved_->newest(*older)) {
      if (!failure_of([&] { read(*saved_, *older); }).empty()) continue;
      throw user_error(std::string(e.what()) + "; " + saved_->directory_of(*older) + " is whole: move " +
                       saved_->directory_of(newest) + " away, and resume goes on from there");
    }
    throw;
  }
}

/// To begin where a log has steps would empty it: its checkpoints are elsewhere. Unless the run may have been killed
/// before its first one was complete, which it is when the second is begun.
void training_run::check_nothing_was_done() const {
  auto const last = o_.log.empty() ? 0 : last_step_of_log(o_.log);
  if (last > 2 * std::int64_t{o_.checkpoint_every})
    throw user_error("the log " + o_.log + " has steps until " + std::to_string(last) + ", but " +
                     o_.checkpoints.directory +
                     " has no checkpoint to go on from: is it the right directory, and is its disk there? To begin "
                     "anew, move the log away");
}

run_state training_run::state(std::string const& words) const {
  run_state s{.words = words, .step = now_.step, .steps = o_.steps, .resumed_after = before_};
  s.evaluation = evaluation_name(o_);
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

void training_run::end(std::string const& words) {
  files_->report(o_, state(words));
  finish();
}

}  // namespace mtf::detail
