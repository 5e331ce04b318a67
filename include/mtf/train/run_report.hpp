#pragma once
// What a page about a run shows, as JSON. Needs nlohmann-json; a program that links mtf::checkpoint_compiled does not
// parse it.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/profile.hpp>
#include <mtf/checkpoint/part.hpp>

namespace mtf {

class run_history;

/// What a report says beside the curves: texts for people.
struct run_description {
  std::string title = "A training run";
  std::vector<std::pair<std::string, std::string>> facts{};  // name and value: the model, its layout, the data
  std::string plan{};                                        // what a step was planned to send and compute: many lines
  // A loss times this is in the unit of evaluations: then both are in one picture.
  double loss_scale = 1;
  std::string loss_unit{};
  // What is to be beaten, in the same unit; no name: nothing.
  std::pair<std::string, double> reference{};
};

/// How far a run is, for a report.
struct run_state {
  std::string words = "goes on";  // or "finished", "stopped early", "stopped by a signal", an error
  std::int64_t step = 0, steps = 0, resumed_after = 0;
  std::string evaluation = "validation", item = "items";  // what the curves call them
  double items = 0;                                       // in a step
  std::vector<std::pair<std::string, double>> phases{};   // seconds since this start, by what took them
  // Some steps of which each operation was timed, and what they took.
  profile_table const* profile = nullptr;
  std::int64_t profiled_steps = 0;
  double profiled_seconds = 0;
  machine_limits limits{};
};

/// {"title", "state", "step", "steps", "curves": {name: [[step, mean, least, largest], ...]}, "remarks", "phases",
/// "profile", "facts", "plan", ...}. (In a page's script no "<" of it may end the script: write it as "\\u003c".)
MTF_CHECKPOINT_CODE std::string report_json(run_description const& about, run_state const& now,
                                            run_history const& history);

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/train/code/run_report.hpp>  // IWYU pragma: export
#endif
