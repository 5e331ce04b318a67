#pragma once
// The command line of `train`.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mtf/train/on_trouble.hpp>

#include "../sizes.hpp"
#include "../step_options.hpp"

namespace mtf::tools {

/// What the command line says.
struct options : step_options {
  // Or a search says how a step is done: of the least of this, on this machine, with these ranks as threads.
  std::string choose, machine = "h100";
  int ranks = 0;
  bool two_layouts = false;
  std::string data, log, report;
  std::string from, write;                    // directories of another tool's files
  std::map<std::string, std::string> texts;   // to be written beside the tensors there
  std::string tensorboard, checkpoint;        // directories
  int every = 100, keep = 3, keep_every = 0;  // steps between checkpoints, and which are kept
  bool resume = false;
  int steps = 300, warmup = 30, eval_every = 50, sample = 200;
  std::uint64_t seed = 1;
  bool plan = false, profile = false, graphs = false;
  double validation_share = 0.1;
  std::vector<std::int64_t> buckets;      // sequences that are shorter than the longest
  std::map<std::string, double> numbers;  // of the optimizer, by flag: those that were given
  std::string schedule = "cosine";
  double learning_rate = 2e-3, dropout = 0, weight_decay = 0.1, clip = 1;
  mtf::on_trouble on_spike = mtf::on_trouble::go_on, on_not_finite = mtf::on_trouble::stop,
                  on_failed_checkpoint = mtf::on_trouble::stop;
  bool ranks_as_threads = false;
};

/// The learning rate of each step, counted from 0, as the schedule says.
std::function<double(int)> learning_rates(options const& o);

/// What is fixed in an executable's types: shown by --help, and refused if asked to be otherwise.
struct executable {
  std::string mesh, layout, upper_layout;
  bool takes_any_layout = false;  // then those two are the defaults
  bool has_ranks_as_threads = false;
  std::string reads{};    // what --data takes
  std::string element{};  // of parameters, as config files call it
  // What the task has, beside what all have.
  bool has_dropout = false, can_recompute = false, has_upper_layout = false, has_samples = false, has_buckets = false;
  sizes_of_task sizes{};
};

/// What parsing came to: options, or a reason to end at once.
struct command_line {
  options chosen;
  std::optional<std::string> wrong;  // what is wrong with the command line
  std::optional<std::string> help;   // what to print, when help was asked for
};
/// `model_types`: of all models that the program has; `built` is of one of them.
command_line parse(int argc, char** argv, executable const& built, std::vector<std::string> const& model_types);

}  // namespace mtf::tools
