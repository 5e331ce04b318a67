#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/train/adafactor.hpp>
#include <mtf/train/optimizers.hpp>
#include <mtf/train/schedules.hpp>

#include "../command_line.hpp"
#include "../model_files.hpp"
#include "../size_options.hpp"
#include "../sizes.hpp"
#include "../text_of.hpp"
#include "optimizer_numbers.hpp"

namespace mtf::tools {
namespace {

/// An option that chooses one of some words.
void add_trouble(CLI::App& app, char const* flag, mtf::on_trouble& to, std::vector<std::string> const& words,
                 char const* description) {
  std::map<std::string, mtf::on_trouble> const all{
      {"skip", mtf::on_trouble::skip}, {"stop", mtf::on_trouble::stop}, {"go-on", mtf::on_trouble::go_on}};
  std::string now;
  for (auto const& [word, value] : all)
    if (value == to) now = word;
  app.add_option_function<std::string>(
         flag, [&to, all](std::string const& word) { to = all.at(word); }, description)
      ->check(CLI::IsMember(words))
      ->default_str(now);
}

/// Of some optimizers.
struct optimizer_number {
  char const* flag;
  double high;
  char const* description;
};
constexpr double below_1 = 0.999999, any_float = std::numeric_limits<float>::max();
constexpr std::array<optimizer_number, 8> optimizer_numbers{
    {{"--beta1", below_1, "what the mean of gradients keeps in a step"},
     {"--beta2", below_1, "what the mean of their squares keeps in a step; lion's: what its mean of gradients keeps"},
     {"--epsilon", any_float, "added to the root of the squares' mean"},
     {"--momentum", below_1, "what the sum of gradients keeps in a step"},
     {"--decay-exponent", any_float, "of adafactor's mean of squares"},
     {"--clip-rms", any_float, "largest root mean square of adafactor's update"},
     {"--epsilon1", any_float, "added by adafactor to the squares of gradients"},
     {"--epsilon2", any_float, "least scale of a parameter in adafactor"}}};
template <class Options>
std::vector<std::string> flags_of() {
  std::vector<std::string> flags;
  Options x;
  each_number(x, [&](char const* flag, double) { flags.emplace_back(flag); });
  return flags;
}

/// The flags of each optimizer's numbers.
std::map<std::string, std::vector<std::string>> numbers_of_optimizers() {
  return {{"adamw", flags_of<mtf::adamw_options>()},       {"adam", flags_of<mtf::adam_options>()},
          {"lion", flags_of<mtf::lion_options>()},         {"adafactor", flags_of<mtf::adafactor_options>()},
          {"momentum", flags_of<mtf::momentum_options>()}, {"sgd", flags_of<mtf::sgd_options>()}};
}

/// "64,128,256"
std::vector<std::int64_t> lengths_in(std::string const& text) {
  std::vector<std::int64_t> all;
  auto const* at = text.data();
  auto const* const end = at + text.size();
  while (true) {
    std::int64_t n = 0;
    auto const [last, error] = std::from_chars(at, end, n);
    if (error != std::errc{} || n < 1 || n > mtf::max_extent || (last != end && *last != ','))
      throw CLI::ValidationError("--buckets", "expected numbers of tokens, as 64,128,256, found \"" + text + "\"");
    all.push_back(n);
    if (last == end) return all;
    at = last + 1;
  }
}

/// An optimizer is given its own numbers alone.
void check_numbers(options const& o) {
  auto const has = numbers_of_optimizers().at(o.optimizer);
  for (auto const& [flag, number] : o.numbers) {
    if (std::find(has.begin(), has.end(), flag) != has.end()) continue;
    std::string text = flag + ": " + o.optimizer + " has no such number; it has ";
    for (auto const& f : has) text += f + ", ";
    throw mtf::user_error(text + "--weight-decay and --clip");
  }
}

/// Values to begin with are read from a directory, or from one .safetensors file.
void check_from(std::string const& from) {
  std::error_code none;
  auto const said = "--from " + from + ": expected a directory of Hugging Face's or a .safetensors file, found ";
  if (from.ends_with(".gguf") && !std::filesystem::is_directory(from, none))
    throw mtf::user_error(said + "a GGUF file: make a directory of it first, by `convert " + shell_word(from) +
                          " DIRECTORY`");
  if (!from.ends_with(".safetensors") && std::filesystem::is_regular_file(from, none))
    throw mtf::user_error(said + "another file");
}

}  // namespace

std::function<double(int)> learning_rates(options const& o) {
  auto const rates_of = [](auto const& schedule) -> std::function<double(int)> {
    return [schedule](int step) { return schedule.at(step); };
  };
  if (o.schedule == "cosine")
    return rates_of(mtf::warmup_cosine{o.learning_rate, o.warmup, o.steps, o.learning_rate / 10});
  // Not linear_warmup: its first step, Mesh-TensorFlow's, does nothing.
  auto const rise = mtf::warmup_cosine{o.learning_rate, o.warmup, o.steps, o.learning_rate};
  if (o.schedule == "linear") return rates_of(rise * mtf::linear_decay{o.steps, o.steps - o.warmup});
  if (o.schedule == "rsqrt") {
    int const from = std::max(1, o.warmup);
    return rates_of(std::sqrt(static_cast<double>(from)) * (rise * mtf::rsqrt_decay{from}));
  }
  return rates_of(rise);
}

command_line parse(int argc, char** argv, executable const& built, std::vector<std::string> const& model_types) {
  command_line line;
  auto& o = line.chosen;
  CLI::App app{"Trains a model.\nThis executable " +
               (built.takes_any_layout
                    ? "takes any mesh and layout."
                    : "is built for the mesh \"" + built.mesh + "\" and the layout \"" + built.layout + "\".")};
  o.mesh = built.mesh;
  o.layout = built.layout;
  if (built.upper_layout != built.layout) o.upper_layout = built.upper_layout;
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // scripts give defaults first
  app.add_flag("--plan", o.plan, "list what each rank sends in a training step, and exit; needs no mpirun");
  constexpr int most = std::numeric_limits<int>::max();
  constexpr double least = std::numeric_limits<float>::min(),
                   largest = std::numeric_limits<float>::max();  // parameters are floats

  // The data.
  auto* const data =
      app.add_option("--data", o.data, built.reads.empty() ? "what to train on" : "what to train on: " + built.reads)
          ->check(is_path);
  add_number(app, "--validation-share", o.validation_share, 0.0, 0.5,
             "of the data, kept for evaluations; at least one example is");
  if (built.has_buckets)
    app.add_option_function<std::string>(
           "--buckets", [&o](std::string const& text) { o.buckets = lengths_in(text); },
           "lengths below --sequence, as 64,128,256: documents of a file of tokens are batched with others of about "
           "their length, and padded to the next of these; shorter ones are more in a batch")
        ->type_name("INT,...");

  // The steps.
  add_number(app, "--steps", o.steps, 1, most, "training steps");
  add_number(app, "--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
             "names all random numbers");
  if (built.has_dropout) add_number(app, "--dropout", o.dropout, 0.0, 0.99, "rate");
  if (built.takes_any_layout) {
    add_number(app, "--accumulate", o.accumulate, 1, most,
               "batches whose gradients are added up before an update; held in memory is one at a time");
    if (built.can_recompute)
      app.add_flag("--recompute", o.recompute,
                   "keep of each layer its input alone, and compute the rest again in the backward pass");
  }

  std::vector<std::string> states{"split"};
  if (built.takes_any_layout) states.emplace_back("whole");
  app.add_option_function<std::string>(
         "--state", [&o](std::string const& word) { o.state_is_split = word == "split"; },
         "the optimizer's: split over the ranks that hold the same parameters; or whole, which an executable for any "
         "layout has")
      ->check(CLI::IsMember(states))
      ->default_str("split");
  app.add_option_function<std::string>(
         "--gradients", [&o](std::string const& word) { o.gradients_overlap = word == "overlapped"; },
         "completed while the backward pass goes on, or later: after it")
      ->check(CLI::IsMember({"overlapped", "later"}))
      ->default_str("overlapped");

  // The optimizer and its schedule.
  std::vector<std::string> optimizers;
  for (auto const& [name, flags] : numbers_of_optimizers())
    if (built.takes_any_layout || name == o.optimizer) optimizers.push_back(name);
  app.add_option("--optimizer", o.optimizer,
                 "adam, adafactor and momentum are Mesh-TensorFlow's; an executable for one layout has adamw alone")
      ->check(CLI::IsMember(optimizers))
      ->capture_default_str();
  for (auto const& [flag, high, description] : optimizer_numbers) {
    add_number(app, flag, o.numbers[flag], 0.0, high, description);
    app.get_option(flag)->default_str("the optimizer's");
  }
  add_number(app, "--learning-rate", o.learning_rate, least, largest, "peak of the schedule");
  add_number(app, "--warmup", o.warmup, 0, most, "steps of linear rise; then comes the schedule");
  app.add_option("--schedule", o.schedule,
                 "half a cosine down to a tenth, a line down to 0, the inverse root of the step, or the peak")
      ->check(CLI::IsMember({"cosine", "linear", "rsqrt", "constant"}))
      ->capture_default_str();
  add_number(app, "--weight-decay", o.weight_decay, 0.0, largest, "of matrices, by any optimizer");
  add_number(app, "--clip", o.clip, 0.0, largest, "largest global norm of the gradients; 0: any");

  // What goes wrong.
  add_trouble(app, "--on-spike", o.on_spike, {"skip", "stop", "go-on"},
              "what to do about a loss far above the last ones: leave that step out, end, or go on");
  add_trouble(app, "--on-not-finite", o.on_not_finite, {"skip", "stop"},
              "what to do about a loss or gradients that are not finite: leave that step out, or end");
  add_trouble(app, "--on-failed-checkpoint", o.on_failed_checkpoint, {"stop", "go-on"},
              "what to do about a checkpoint that cannot be written: end, or go on and try the next one");

  // Another tool's files.
  if (built.sizes.to_config != nullptr) {
    app.add_option("--from", o.from,
                   "begin with the values in this directory of Hugging Face's, or one .safetensors file, in place of "
                   "random ones; the sizes are those of its config.json")
        ->check(is_path);
    app.add_option("--write", o.write,
                   "write the trained model into this directory, as transformers reads it: config.json, "
                   "model.safetensors, and the tokenizer.json of --from")
        ->check(is_path);
  }

  // What is written, and when.
  app.add_option("--log", o.log, "write one JSON object a line here, for each step")->check(is_path);
  app.add_option("--tensorboard", o.tensorboard, "write event files into this directory, for TensorBoard")
      ->check(is_path);
  app.add_option("--report", o.report,
                 "draw losses, speeds and where the time went as a page in this file, for any browser")
      ->check(is_path);
  app.add_flag("--profile", o.profile, "at the end, tell where the time of the training steps went, by operation");
  app.add_flag("--graphs", o.graphs, "launch the steps as CUDA graphs (not with NCCL)");
  auto* const checkpoint =
      app.add_option("--checkpoint", o.checkpoint, "write checkpoints into this directory, and on SIGTERM or SIGUSR1")
          ->check(is_path);
  add_number(app, "--every", o.every, 1, most, "steps between checkpoints");
  add_number(app, "--keep", o.keep, 0, most, "how many of them are kept, the newest; 0: all");
  add_number(app, "--keep-every", o.keep_every, 0, most, "and each whose step is a multiple of this; 0: no others");
  for (auto const* const flag : {"--every", "--keep", "--keep-every"}) app.get_option(flag)->needs(checkpoint);
  app.add_flag("--resume", o.resume,
               "go on from the newest checkpoint there; if there is none and the log has no steps, begin")
      ->needs(checkpoint);
  add_number(app, "--eval-every", o.eval_every, 1, most, "steps between evaluations");
  if (built.has_samples)
    add_number(app, "--sample", o.sample, 0, most, "how long a sample is that the model writes at the end; 0: none");
  CLI::Option const* mesh = nullptr;
  if (built.takes_any_layout) {
    mesh = app.add_option("--mesh", o.mesh, "the machine's axes with their ranks, such as \"data:2;model:2\"")
               ->capture_default_str();
    auto* const layout =
        app.add_option("--layout", o.layout,
                       "which dimensions are split over which axes, such as \"batch:data;heads:model\"")
            ->capture_default_str();
    auto* const choose =
        app.add_option("--choose", o.choose,
                       "find the layout of the least seconds, bytes or memory first, as `plan --choose` does, on the "
                       "--mesh or on all meshes of as many ranks as there are, and train under it")
            ->check(CLI::IsMember({"seconds", "bytes", "memory"}))
            ->excludes(layout)
            ->excludes(app.get_option("--state"))
            ->excludes(app.get_option("--gradients"));
    app.add_option("--machine", o.machine,
                   "--choose: h100 (nodes of eight), tpu-v2 (a pod), or a JSON file of benchmark-machine")
        ->capture_default_str()
        ->needs(choose);
    add_number(app, "--ranks", o.ranks, 1, 1 << 20, "--choose: how many ranks, where mpirun does not say it");
    app.get_option("--ranks")->needs(choose)->excludes(app.get_option("--mesh"))->default_str("");
    if (built.has_upper_layout) {
      choose->excludes(app.add_option("--upper-layout", o.upper_layout,
                                      "the same for the upper half of the layers, if it is another"));
      app.add_flag("--two-layouts", o.two_layouts,
                   "--choose: the upper half of the layers may have a layout of its own")
          ->needs(choose);
    }
  }
  if (built.has_ranks_as_threads) {
    app.add_flag("--ranks-as-threads", o.ranks_as_threads,
                 "all ranks are threads of this process, which starts without mpirun");
    // Also where the rest of the line is wrong: the flag decides who reports that.
    o.ranks_as_threads = std::find(argv, argv + argc, std::string_view("--ranks-as-threads")) != argv + argc;
  }

  size_options const sizes(app, built.sizes, model_types);
  parse_line(app, argc, argv, line.wrong, line.help, [&] {
    if (!o.plan && data->empty()) throw CLI::RequiredError(data->get_name());
    std::erase_if(o.numbers, [&](auto const& n) { return app.count(n.first) == 0; });
    check_numbers(o);
    check_from(o.from);
    auto const config = o.from.empty() || o.from.ends_with(".safetensors") ? "" : o.from + "/config.json";
    auto const found = sizes.result(config);
    o.extents = found.extents;
    o.sizes = found.sizes;
    o.size_flags = found.flags;
    o.config = found.config;
    if (!o.write.empty())
      o.texts = texts_beside(o.from, built.sizes.to_config(values_of(o.sizes), o.config), built.element);
    if (!o.choose.empty() && mesh->empty()) o.mesh.clear();
    if (!o.choose.empty() && (o.plan || o.ranks_as_threads) && o.mesh.empty() && o.ranks == 0)
      throw mtf::user_error("--choose without mpirun: expected --ranks, or a --mesh");
  });
  return line;
}

}  // namespace mtf::tools
