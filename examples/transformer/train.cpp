// Trains the language model of model.hpp on a text or a file of tokens. See --help.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mtf/train/loop.hpp>
#include <mtf/train/text_output.hpp>

#include "corpus.hpp"
#include "loop_setup.hpp"
#include "optimizers.hpp"
#include "options.hpp"
#include "peak.hpp"
#include "planned.hpp"
#include "plot.hpp"
#include "setup.hpp"

namespace transformer {
namespace {

using model_type = language_model;
constexpr std::int64_t batch = config::batch::extent, sequence = config::sequence::extent,
                       vocab = config::vocab::extent;
constexpr int evaluation_batches = 8;

/// What this executable is.
executable const built{.mesh = MTF_EXAMPLE_MESH,
                       .layout = MTF_EXAMPLE_LAYOUT,
                       .upper_layout = MTF_EXAMPLE_UPPER_LAYOUT,
                       .takes_any_layout = MTF_EXAMPLE_ANY_LAYOUT,
                       .has_ranks_as_threads = MTF_EXAMPLE_RANKS_AS_THREADS,
                       .batch = batch,
                       .sequence = sequence,
                       .layers = config::layers,
                       .d_model = config::d_model::extent,
                       .heads = config::heads::extent,
                       .d_ff = config::d_ff::extent,
                       .vocab = vocab};

/// "data:2 model:2"
std::string mesh_text(options const& o) {
  auto text = o.mesh;
  std::replace(text.begin(), text.end(), ';', ' ');
  return text;
}

// By a function: nvcc 13.0 forgets the `typename` of model_type::noise{...} in a lambda of a template.
model_type::noise noise_of(double rate, mtf::random_key key) { return {rate, key}; }

template <class Backend>
struct token_batch {
  tokens_on<Backend> ids, labels;
};

/// One part of a batch of examples, `read(row, part, column, to)`: each rank reads its own of it.
template <class Backend, class Read>
tokens_on<Backend> part_of_batch(Backend& machine, example_part which, Read const& read) {
  return mtf::from_rows<tokens_on<Backend>>(machine, [&](std::int64_t row, std::int64_t column,
                                                         std::span<std::int32_t> to) { read(row, which, column, to); });
}
/// Both.
template <class Backend, class Read>
token_batch<Backend> batch_from(Backend& machine, Read const& read) {
  return {part_of_batch(machine, example_part::ids, read), part_of_batch(machine, example_part::labels, read)};
}

template <class Backend>
double validation_bits(Backend& machine, parameters_on<Backend> const& p, corpus const& data) {
  double sum = 0;
  for (int i = 0; i < evaluation_batches; ++i) {
    auto const b = batch_from(machine, [&](std::int64_t row, auto... where) {
      data.validation(i * batch + row, evaluation_batches * batch, where...);
    });
    sum += mtf::item(model_type::loss(p, b.ids, b.labels));
  }
  return sum / evaluation_batches / std::log(2.0);
}

/// Goes on from the corpus's prompt, token by token: each is drawn from the softmax of the logits at temperature 0.8.
/// The model sees the last `sequence` tokens; all ranks draw the same.
template <class Backend>
std::string generate(Backend& machine, parameters_on<Backend> const& p, corpus const& data, int count,
                     mtf::random_key key) {
  auto written = data.prompt();
  for (int n = 0; n < count; ++n) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(batch * sequence));
    auto const seen = std::min(static_cast<std::int64_t>(written.size()), sequence);
    std::copy(written.end() - seen, written.end(), ids.begin());
    auto const logits = mtf::to_global(
        mtf::cast<float>(model_type::logits(p, mtf::from_global<tokens_on<Backend>, config::vocab>(machine, ids))));
    double const uniform = static_cast<double>(key.of(static_cast<std::uint64_t>(n)).bits() >> 11U) * 0x1p-53;
    written.push_back(drawn_token({logits.data() + (seen - 1) * vocab, static_cast<std::size_t>(vocab)}, uniform, 0.8));
  }
  return data.written(written);
}

template <class Backend>
int train(Backend& machine, options const& o) {
  mtf::random_key const seed(o.seed);
  corpus const data(o.data, {.sequence = sequence,
                             .in_step = batch * o.accumulate,
                             .vocabulary = vocab,
                             .validation_share = o.validation_share,
                             .seed = seed});
  auto const plan = plan_of(o);
  auto p = model_type::initial<parameters_on<Backend>>(machine, seed.of("initial"));
  chosen_optimizer<Backend> optimizer(machine, o);
  auto const parameters = mtf::parameter_count(p);
  auto asked = loop_options_from(o, built, parameters, data, plan);
  asked.evaluate = [&] { return validation_bits(machine, p, data); };
  double const unigram = asked.about.reference.second;
  mtf::training_loop loop(machine, p, optimizer, std::move(asked));

  double const peak =
      best_matrix_peak<computed_on<Backend>>(machine, o.ranks_as_threads ? 512 : telling_extent<Backend>);
  mtf::machine_limits const limits{peak / machine.ranks().mesh().size(),
                                   o.profile || !o.report.empty() ? memory_bandwidth(machine) : 0};
  loop.compare_with(limits);
  loop.say(std::to_string(parameters) + " parameters, mesh " + mesh_text(o) + ", layout \"" + o.layout + "\"; " +
           data.description() + text_of("; matrix peak %.0f GFLOP/s on all ranks", peak / 1e9));
  loop.say(text_of("each rank sends %.2f MB a step in %llu collectives (--plan lists them)",
                   static_cast<double>(plan.bytes_sent_per_rank()) / 1e6,
                   static_cast<unsigned long long>(plan.count())));

  training_loss const loss{o.recompute};
  auto const when = when_completed(o);
  auto const several = static_cast<std::size_t>(o.accumulate);
  int const code = loop.run(
      [&](int step) {
        auto const read_from = [&, step](std::size_t i) {
          return [&, step, i](std::int64_t row, auto... where) {
            data.training(step, static_cast<std::int64_t>(i) * batch + row, where...);
          };
        };
        token_batch<Backend> one;
        if (several == 1) one = batch_from(machine, read_from(0));
        // Of several one is held at a time: each is read when it is asked for.
        return [&, read_from, one](std::size_t i, example_part which) {
          if (several > 1) return part_of_batch(machine, which, read_from(i));
          return which == example_part::ids ? one.ids : one.labels;
        };
      },
      [&](auto const& q, auto const& batches, int step) {
        auto const key = seed.of("dropout").of(static_cast<std::uint64_t>(step));
        auto const ids = [&](std::size_t i) { return batches(i, example_part::ids); };
        auto const labels = [&](std::size_t i) { return batches(i, example_part::labels); };
        auto const noise = [&](std::size_t i) { return noise_of(o.dropout, i == 0 ? key : key.of(i)); };
        auto const weight = [&](std::size_t i) {
          std::int64_t labels = 0;
          for (std::int64_t row = 0; row < batch; ++row)
            labels += data.training_labels(step, static_cast<std::int64_t>(i) * batch + row);
          return static_cast<double>(labels);
        };
        return with_state_split(o, [&]<class Split>(Split) {
          // Only where a program takes any layout, whose plan is made when it runs, may there be several.
          if constexpr (MTF_EXAMPLE_ANY_LAYOUT)
            if (several > 1)
              return mtf::value_and_grad<Split>(mtf::accumulated(loss, several, weight), when)(q, ids, labels, noise);
          return mtf::value_and_grad<Split>(loss, when)(q, ids(0), labels(0), noise(0));
        });
      });
  if (code != 0) return code;

  std::string const token = data.token_name();
  if (auto const plot = plot_of(loop.evaluations(), unigram); !plot.empty())
    loop.say("\nvalidation, bits per " + token + " (dashes: " + data.unigram_name() + ")\n" + plot);
  loop.say(text_of("\nvalidation %.3f bits per %s; a unigram model has %.3f; peak memory %.1f MB a rank",
                   loop.evaluations().back().second, token.c_str(), unigram,
                   static_cast<double>(loop.peak_bytes()) / 1e6));
  if (o.profile)
    loop.say("\nthe training steps, on rank 0:\n" + mtf::describe(loop.profile(), loop.profiled_seconds(), limits));
  if (o.sample > 0)
    loop.say("\n--- a sample ---\n" + generate(machine, p, data, o.sample, seed.of("sample")) + "\n----------------");
  loop.finish();
  return 0;
}

}  // namespace
}  // namespace transformer

int main(int argc, char** argv) {
  auto const line = transformer::parse(argc, argv, transformer::built);
  if (!line.chosen.checkpoint.empty())
    mtf::listen_for_stop();  // from here on: the run ends with a checkpoint, or begins
  if (line.help || (line.chosen.plan && !line.wrong)) try {
      mtf::text_output screen("standard output", transformer::speaks() ? stdout : nullptr);
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
