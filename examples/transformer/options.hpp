#pragma once
// The command line of `train`.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include <mtf/error.hpp>

namespace transformer {

struct options {
  std::string data, log, plot;
  int steps = 300, warmup = 30, eval_every = 50, sample = 200;
  std::uint64_t seed = 1;
  bool plan = false, profile = false;
  double learning_rate = 2e-3, dropout = 0, weight_decay = 0.1, clip = 1;
  bool ranks_as_threads = false;
};

/// What parsing came to: options, or a reason to end at once.
struct command_line {
  options chosen;
  std::optional<std::string> wrong;  // what is wrong with the command line
  bool help = false;                 // help was asked for, and printed
};

/// Is this the first rank? Asked before MPI runs, so that --help needs no mpirun.
inline bool speaks() {
  for (char const* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (char const* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

template <class Config>
command_line parse(int argc, char** argv, std::string const& mesh, std::string const& layout) {
  command_line line;
  auto& o = line.chosen;
  CLI::App app{"Trains a decoder-only Transformer on the bytes of a text.\nThis executable is built for the mesh \"" + mesh +
               "\" and the layout \"" + layout + "\"."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // scripts give defaults first
  auto* const data = app.add_option("--data", o.data, "text to train on, any file, read as bytes");
  app.add_flag("--plan", o.plan, "list what each rank sends in a training step, and exit; needs no mpirun");
  app.add_flag("--profile", o.profile, "at the end, tell where the time of the training steps went, by operation");
  app.add_option("--steps", o.steps, "training steps")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--seed", o.seed, "names all random numbers")->capture_default_str();
  app.add_option("--learning-rate", o.learning_rate, "peak of the schedule")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", o.warmup, "steps of linear rise; then half a cosine down to a tenth")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--dropout", o.dropout, "rate")->capture_default_str()->check(CLI::Range(0.0, 0.99));
  app.add_option("--weight-decay", o.weight_decay, "of matrices")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--clip", o.clip, "largest global norm of the gradients; 0: any")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--log", o.log, "write one JSON object a line here, for each evaluation");
  app.add_option("--plot", o.plot, "draw the loss into this SVG file");
  app.add_option("--eval-every", o.eval_every, "steps between evaluations")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--sample", o.sample, "bytes of text to generate at the end; 0: none")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
#if defined(MTF_EXAMPLE_RANKS_AS_THREADS)
  app.add_flag("--ranks-as-threads", o.ranks_as_threads, "all ranks are threads of this process, which starts without mpirun");
  // Also where the rest of the line is wrong: the flag decides who reports that.
  o.ranks_as_threads = std::find(argv, argv + argc, std::string_view("--ranks-as-threads")) != argv + argc;
#endif

  // Fixed in the executable's types: shown, and refused if asked to be otherwise.
  struct fixed {
    char const* flag;
    std::int64_t value, asked;
  };
  std::array<fixed, 7> in_types{{{"--batch", Config::batch::extent, 0},
                                 {"--sequence", Config::sequence::extent, 0},
                                 {"--layers", Config::layers, 0},
                                 {"--d-model", Config::d_model::extent, 0},
                                 {"--heads", Config::heads::extent, 0},
                                 {"--d-ff", Config::d_ff::extent, 0},
                                 {"--vocab", Config::vocab::extent, 0}}};
  for (auto& f : in_types) {
    f.asked = f.value;
    app.add_option(f.flag, f.asked, "fixed in this executable's types")->capture_default_str()->group("Fixed");
  }

  try {
    app.parse(argc, argv);
    if (!o.plan && data->empty()) throw CLI::RequiredError(data->get_name());
    for (auto const& f : in_types)
      if (f.asked != f.value)
        throw mtf::user_error(std::string(f.flag) + " " + std::to_string(f.asked) + ": this executable is built for " +
                              std::to_string(f.value) + "; copy examples/transformer/configs/demo.hpp, set it there and configure with "
                              "-DMTF_CONFIG=<your file> -DMTF_MESH=" + mesh + " -DMTF_LAYOUT=" + layout + " to build train-custom");
  } catch (CLI::CallForHelp const&) {
    if (speaks()) std::cout << app.help();
    line.help = true;
  } catch (CLI::ParseError const& e) {
    line.wrong = std::string(e.what()) + " (see --help)";
  } catch (mtf::user_error const& e) {
    line.wrong = e.what();
  }
  return line;
}

}  // namespace transformer
