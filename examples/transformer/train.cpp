// Trains the language model of model.hpp on the bytes of a text. See --help.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <mtf/checkpoint/checkpoints.hpp>

#include "options.hpp"
#include "peak.hpp"
#include "report.hpp"
#include "setup.hpp"
#include "stop_signal.hpp"
#include "text.hpp"

namespace transformer {
namespace {

using model_type = language_model;
constexpr std::int64_t batch = config::batch::extent, sequence = config::sequence::extent,
                       vocab = config::vocab::extent;
constexpr int evaluation_batches = 8;

/// "data:2 model:2"
std::string mesh_text(options const& o) {
  auto text = o.mesh;
  std::replace(text.begin(), text.end(), ';', ' ');
  return text;
}

// By a function: nvcc 13.0 forgets the `typename` of model_type::noise{...} in a lambda of a template.
model_type::noise noise_of(double rate, mtf::random_key key) { return {rate, key}; }

template <class Backend>
double validation_bits(Backend& machine, parameters_on<Backend> const& p, text const& data) {
  using tokens = tokens_on<Backend>;
  double sum = 0;
  for (int i = 0; i < evaluation_batches; ++i) {
    auto const b = data.validation(batch, i, evaluation_batches);
    sum += mtf::item(model_type::loss(p, mtf::from_global<tokens, config::vocab>(machine, b.ids),
                                      mtf::from_global<tokens, config::vocab>(machine, b.labels)));
  }
  return sum / evaluation_batches / std::log(2.0);
}

/// Continues a few words of the text, byte by byte: each is drawn from the softmax of the logits at temperature 0.8.
/// The model sees the last `sequence` bytes; all ranks draw the same.
template <class Backend>
std::string generate(Backend& machine, parameters_on<Backend> const& p, int count, mtf::random_key key) {
  std::string written = "And ";
  for (int n = 0; n < count; ++n) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(batch * sequence), ' ');
    auto const seen = std::min(static_cast<std::int64_t>(written.size()), sequence);
    for (std::int64_t i = 0; i < seen; ++i)
      ids[static_cast<std::size_t>(i)] =
          static_cast<unsigned char>(written[written.size() - static_cast<std::size_t>(seen - i)]);
    auto const logits = mtf::to_global(
        mtf::cast<float>(model_type::logits(p, mtf::from_global<tokens_on<Backend>, config::vocab>(machine, ids))));
    double const uniform = static_cast<double>(key.of(static_cast<std::uint64_t>(n)).bits() >> 11U) * 0x1p-53;
    written += drawn_byte({logits.data() + (seen - 1) * vocab, static_cast<std::size_t>(vocab)}, uniform, 0.8);
  }
  return written;
}

/// Rank 0 writes, and all ranks end when it cannot: it alone says why.
template <class Backend>
void end_if_failed(Backend& machine, report const& out) {
  if (machine.ranks().any(!out.failure().empty())) throw mtf::user_error(out.failure());
}

/// Ends training where a number is not finite; `again` repeats what gave it.
template <class Backend>
[[noreturn]] void not_finite(Backend& machine, parameters_on<Backend> const& p, int step, char const* what,
                             double found, std::function<void()> const& again) {
  auto const first = mtf::first_not_finite(machine, p, again);
  throw mtf::user_error("step " + std::to_string(step) + ": the " + what +
                        (std::isnan(found) ? " is NaN" : " is infinite") +
                        ", training stops; the first operation whose result is not finite: " +
                        (first.empty() ? "none when the step runs again" : first) +
                        "; a lower --learning-rate or more --warmup may help");
}

/// What a run must have in common with the one that it goes on with.
mtf::checkpoint_notes identity(options const& o, text const& data) {
  return {{"seed", std::to_string(o.seed)}, {"bytes of text", std::to_string(data.size())}};
}

/// Restores the newest checkpoint, and returns its step; 0 if there is none.
template <class Backend, class Optimizer>
int go_on(Backend& machine, options const& o, text const& data, mtf::checkpoints& saved, parameters_on<Backend>& p,
          Optimizer& optimizer) {
  auto const newest = saved.newest();
  if (!newest) return 0;
  auto const where = saved.directory_of(*newest);
  if (!o.resume)
    throw mtf::user_error(where + " is there: --resume goes on from it; another --checkpoint directory begins anew");
  auto const notes = saved.read(machine, *newest, mtf::stored_as("model", p), mtf::stored_as("optimizer", optimizer));
  for (auto const& [name, now] : identity(o, data))
    if (auto const then = notes.find(name); then == notes.end() || then->second != now)
      throw mtf::user_error(where + " was written with another " + name + ": " +
                            (then == notes.end() ? "unknown" : then->second) + ", now " + now);
  return static_cast<int>(*newest);
}

template <class Backend>
int train(Backend& machine, options const& o) {
  using parameters = parameters_on<Backend>;
  using tokens = tokens_on<Backend>;
  report out(machine.ranks().rank() == 0);
  text const data(o.data, sequence);
  auto const& plan = plan_of(o);
  int const ranks = machine.ranks().mesh().size();
  // Of the products of a step, on all ranks together; what several ranks compute alike counts for each.
  double const step_flops = plan.flops() * ranks;
  mtf::random_key const seed(o.seed);
  auto p = model_type::initial<parameters>(machine, seed.of("initial"));
  optimizer_on<Backend> optimizer(machine, {.beta2 = 0.95, .weight_decay = o.weight_decay, .clip_norm = o.clip});
  std::optional<mtf::checkpoints> saved;
  if (!o.checkpoint.empty())
    saved.emplace(machine.ranks(), mtf::checkpoint_options{.directory = o.checkpoint, .keep = o.keep});
  int const before = saved ? go_on(machine, o, data, *saved, p, optimizer) : 0;
  out.open(o.log, o.plot, before);
  end_if_failed(machine, out);
  if (saved) listen_for_stop();
  mtf::warmup_cosine const schedule{o.learning_rate, o.warmup, o.steps, o.learning_rate / 10};
  auto const step_function =
      mtf::value_and_grad<state_split>([](auto const& q, auto const& ids, auto const& labels,
                                          model_type::noise const& n) { return model_type::loss(q, ids, labels, n); },
                                       gradients_are_completed);

  double const peak = matrix_peak(machine, o.ranks_as_threads ? 512 : 2048), unigram = data.unigram_bits();
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(),
                "%lld parameters, mesh %s, layout \"%s\"; %lld bytes of text; matrix peak %.0f GFLOP/s on all ranks",
                static_cast<long long>(mtf::parameter_count(p)), mesh_text(o).c_str(), o.layout.c_str(),
                static_cast<long long>(data.size()), peak / 1e9);
  out.say(line.data());
  std::snprintf(line.data(), line.size(), "each rank sends %.2f MB a step in %llu collectives (--plan lists them)",
                static_cast<double>(plan.bytes_sent_per_rank()) / 1e6, static_cast<unsigned long long>(plan.count()));
  out.say(line.data());
  if (before > 0) out.say("goes on after step " + std::to_string(before) + ", from " + saved->directory_of(before));

  progress now{.step = before, .steps = o.steps};
  now.validation_bits = validation_bits(machine, p, data);
  if (before == 0) out.evaluation(now);
  double trained = 0;  // seconds in training steps
  mtf::profile_table profile;
  mtf::machine_limits const limits{peak / ranks, o.profile ? memory_bandwidth(machine) : 0};
  machine.reset_peak();
  for (int step = before; step < o.steps; ++step) {
    stopwatch const watch;
    std::vector<mtf::collectives::event> sent;
    if (step == before) machine.ranks().record(&sent);
    if (o.profile) machine.profile(&profile);
    auto const b = data.training(batch, seed.of("batch").of(static_cast<std::uint64_t>(step)));
    auto const ids = mtf::from_global<tokens, config::vocab>(machine, b.ids),
               labels = mtf::from_global<tokens, config::vocab>(machine, b.labels);
    auto const both_passes = [&] {
      return step_function(p, ids, labels,
                           noise_of(o.dropout, seed.of("dropout").of(static_cast<std::uint64_t>(step))));
    };
    now.learning_rate = schedule.at(step);
    {
      auto const [value, gradients] = both_passes();
      now.loss = mtf::item(value);
      // Without an update the parameters are still those that gave it.
      now.gradient_norm =
          std::isfinite(now.loss) ? optimizer.update(machine, p, gradients, now.learning_rate) : now.loss;
    }
    machine.profile(nullptr);
    machine.ranks().record(nullptr);
    if (!std::isfinite(now.gradient_norm))
      not_finite(machine, p, step + 1, std::isfinite(now.loss) ? "gradients' norm" : "loss", now.gradient_norm,
                 [&] { mtf::global_norm<state_split>(machine, both_passes().gradients); });
    if (step == before && sent != plan.unrolled())
      throw std::logic_error("the first step did not send what was planned: this is an error in mtf");
    trained += watch.seconds();
    now.step = step + 1;
    int const done = now.step - before;
    now.gflops = step_flops * done / trained / 1e9;
    now.peak_share = now.gflops * 1e9 / peak;
    now.tokens_per_second = static_cast<double>(batch * sequence * done) / trained;
    now.seconds_left = trained / done * (o.steps - now.step);
    bool const evaluate = now.step % o.eval_every == 0 || now.step == o.steps;
    if (evaluate) {
      now.validation_bits = validation_bits(machine, p, data);
      if (!std::isfinite(now.validation_bits))
        not_finite(machine, p, now.step, "validation", now.validation_bits, [&] { validation_bits(machine, p, data); });
    }
    out.step(now);
    if (evaluate) out.evaluation(now);
    end_if_failed(machine, out);
    if (!saved) continue;
    bool const stop = machine.ranks().any(stop_asked());
    if (stop || now.step % o.every == 0 || now.step == o.steps) {
      auto notes = identity(o, data);
      notes["mesh"] = o.mesh;
      notes["layout"] = o.layout;
      saved->write(now.step, notes, mtf::stored_as("model", p), mtf::stored_as("optimizer", optimizer));
    }
    if (stop && now.step < o.steps) {
      saved->finish();
      out.say("stopped by a signal after step " + std::to_string(now.step) + "; --resume goes on from " +
              saved->directory_of(now.step));
      return stopped;
    }
    saved->poll();
  }
  if (saved) saved->finish();

  out.plot(unigram, "counting letters");
  std::snprintf(line.data(), line.size(),
                "\nvalidation %.3f bits per byte; a unigram model has %.3f; peak memory %.1f MB a rank",
                now.validation_bits, unigram, static_cast<double>(machine.memory().peak) / 1e6);
  out.say(line.data());
  if (o.profile) out.profile(profile, trained, limits);
  if (o.sample > 0) {
    auto const written = generate(machine, p, o.sample, seed.of("sample"));
    out.say("\n--- a sample ---\n" + written + "\n----------------");
  }
  out.close(o.plot, unigram);
  end_if_failed(machine, out);
  return 0;
}

}  // namespace
}  // namespace transformer

int main(int argc, char** argv) {
  auto const line = transformer::parse(argc, argv,
                                       {.mesh = MTF_EXAMPLE_MESH,
                                        .layout = MTF_EXAMPLE_LAYOUT,
                                        .takes_any_layout = MTF_EXAMPLE_ANY_LAYOUT,
                                        .has_ranks_as_threads = MTF_EXAMPLE_RANKS_AS_THREADS,
                                        .batch = config::batch::extent,
                                        .sequence = config::sequence::extent,
                                        .layers = config::layers,
                                        .d_model = config::d_model::extent,
                                        .heads = config::heads::extent,
                                        .d_ff = config::d_ff::extent,
                                        .vocab = config::vocab::extent});
  if (line.help || (line.chosen.plan && !line.wrong)) try {
      transformer::output screen("standard output", transformer::speaks() ? stdout : nullptr);
      screen.write(line.help ? *line.help : mtf::describe(transformer::plan_of(line.chosen)));
      if (!screen.failure().empty()) throw mtf::user_error(screen.failure());
      return 0;
    } catch (mtf::user_error const& e) {
      std::fprintf(stderr, "mtf: %s\n", e.what());
      return 2;
    }
  auto const train = [&](auto& machine) {
    if (line.wrong) throw mtf::user_error(*line.wrong);
    return transformer::train(machine, line.chosen);
  };
  [[maybe_unused]] bool const threads = line.chosen.ranks_as_threads;
#if MTF_EXAMPLE_RANKS_AS_THREADS
  using one_of_many = mtf::kokkos_backend<Kokkos::Serial>;
#endif
#if MTF_EXAMPLE_ANY_LAYOUT
  auto const layouts = [&] {
    if (line.wrong) throw mtf::user_error(*line.wrong);
    return transformer::layouts_of(line.chosen);
  };
#if MTF_EXAMPLE_RANKS_AS_THREADS
  if (threads) return mtf::run_threads_under<one_of_many>(argc, argv, layouts, train);
#endif
  return mtf::run_under<transformer::backend>(argc, argv, layouts, train);
#else
#if MTF_EXAMPLE_RANKS_AS_THREADS
  if (threads) return mtf::run_threads<transformer::mesh, one_of_many>(argc, argv, train);
#endif
  return mtf::run<transformer::mesh, transformer::backend>(argc, argv, train);
#endif
}
