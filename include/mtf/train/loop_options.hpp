#pragma once
// The options of a training loop.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/checkpoints.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/train/loss_watch.hpp>
#include <mtf/train/on_trouble.hpp>
#include <mtf/train/run_report.hpp>

namespace mtf {

/// What a training_loop does. What has no name is not written.
struct loop_options {
  int steps = 1;                                                        // in all, those before a resume too
  std::function<double(int)> learning_rate = [](int) { return 1e-3; };  // of a step, counted from 0

  // Called before the first step, after each `evaluate_every`-th and after the last; all ranks get the same value.
  std::function<double()> evaluate{};
  int evaluate_every = 100;
  // Early stopping: after so many evaluations in a row that were not below all before them the run ends, as after its
  // last step; 0: never. Checkpoints have the count.
  int patience = 0;
  std::function<void()> improved{};  // called on all ranks after an evaluation below all before it: to save parameters
  std::string evaluation = "validation", evaluation_unit{};  // such as "bits/byte"

  std::string log{};          // a file: a JSON object a line for each step (run_log)
  std::string tensorboard{};  // a directory: event files, which TensorBoard shows
  std::string report{};       // a file: `page` of report_json, written at each evaluation and at the end
  std::function<std::string(std::string const& json)> page{};
  run_description about{};
  std::vector<std::string> reads{};  // files that the program reads: none of those above may be one of them

  checkpoint_options checkpoints{};  // without a directory there are none
  int checkpoint_every = 100;        // steps; the last step, and the one at which a signal came, have one too
  // What is done about one that cannot be written. To go on is to say so, and to try the next one; but a run that ends
  // without its last one ends with an error. (Then `checkpoints.not_written` is the loop's.)
  on_trouble on_failed_checkpoint = on_trouble::stop;
  bool resume = false;       // from the newest checkpoint; false: one that is there is an error
  checkpoint_notes same{};   // what a run must have in common with the one that it goes on with
  checkpoint_notes notes{};  // what else a checkpoint tells

  spike_rule spike{};
  on_trouble on_spike = on_trouble::go_on;
  // Of the loss or the gradients' norm. An optimizer does not update then: to go on is to skip.
  on_trouble on_not_finite = on_trouble::stop;
  int most_skips = 20;  // in a row; then it is an error

  std::string item = "items";  // what `items` counts, for speeds
  double items = 0;            // in a step, on all ranks together
  double flops = 0;            // of matrix products, on a rank, in a step; 0: not told
  bool profile = false;        // time each operation of all steps; for a report that of a few is
  // What the first step shall send, such as plan.unrolled(). Anything else is an error in the program or in mtf.
  std::optional<std::vector<collectives::event>> sends{};
};

}  // namespace mtf
