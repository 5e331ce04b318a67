#pragma once
// The command line of `train`.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include <mtf/train/on_trouble.hpp>

namespace transformer {

struct options {
  std::string data, log, report;
  std::string tensorboard, checkpoint;  // directories
  std::string mesh, layout;             // those of the executable, or, where it takes any, those asked for
  std::optional<std::string> upper_layout;
  int every = 100, keep = 3, keep_every = 0;  // steps between checkpoints, and which are kept
  bool resume = false;
  int steps = 300, warmup = 30, eval_every = 50, sample = 200;
  std::uint64_t seed = 1;
  bool plan = false, profile = false;
  int accumulate = 1;             // micro-batches in a step
  bool recompute = false;         // layers in the backward pass, instead of keeping what they computed
  bool state_is_split = true;     // the optimizer's
  bool gradients_overlap = true;  // their completion, with the backward pass
  double validation_share = 0.1;
  std::string optimizer = "adamw";
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
  std::int64_t batch = 0, sequence = 0, layers = 0, d_model = 0, heads = 0, d_ff = 0, vocab = 0;
};

/// What parsing came to: options, or a reason to end at once.
struct command_line {
  options chosen;
  std::optional<std::string> wrong;  // what is wrong with the command line
  std::optional<std::string> help;   // what to print, when help was asked for
};
command_line parse(int argc, char** argv, executable const& built);

/// Is this the first rank? Asked before MPI runs, so that --help needs no mpirun.
bool speaks();

}  // namespace transformer
