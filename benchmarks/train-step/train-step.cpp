// Seconds for a training step of a 27 M parameter Transformer (forward, backward, AdamW) as a share of oneDNN's (on
// CUDA: cuBLASLt's) peak in the same run, and where the time goes. In mixed precision the peak is the better one of
// float's and bfloat16's products. Usage: train-step [steps], or train-step
// --start FILE: writes what the peers start from (start_file.hpp), and measures nothing; or train-step --recompute
// [steps]: steps of which each layer keeps its input alone, beside plain ones, and the memory of both; or train-step
// --graphs [steps]: as without it, with the steps launched as CUDA graphs.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>

#include <mtf/backend/step.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/tools/program.hpp>
#include <mtf/tools/train/peak.hpp>

#include "../measure.hpp"
#include "on_paper.hpp"
#include "start_file.hpp"

namespace {

// `program`: GPT-2 of a config, under a layout (mtf_add_tool).
using backend = mtf::kokkos_backend<>;
using mesh = program::mesh;
using layout = program::layout;
using state_split = program::state_split;
using language_model = program::task;
using parameters = program::parameters_on<backend>;
using tokens = std::tuple_element_t<0, program::batch_on<backend>>;
using activation = typename decltype(mtf::as_computed_t<parameters>{}.gamma_f)::element_type;
constexpr auto gradients_are_completed = program::gradients_are_completed;
constexpr auto planned_parameters = program::planned_parameters;
constexpr std::tuple_element_t<0, language_model::inputs> planned_tokens;

constexpr auto plan = mtf::plan_of<layout, gradients_are_completed, state_split>(
    mtf::tools::planned_loss<program>{}, planned_parameters, planned_tokens, planned_tokens);

/// As in on_paper.hpp.
double counted_bytes(bool recompute = false) {
  return bytes_on_paper<language_model, config, program::precision, layout, state_split>(recompute);
}

/// Adds the initial values by their names, global and row-major. All ranks call it.
void add_parameters(start_file& start, parameters const& p) {
  mtf::for_each_tensor(
      [&](std::string_view name, auto const& x) {
        using shape = typename std::remove_cvref_t<decltype(x)>::shape_type;
        start.add(std::string(name), {shape::extents.begin(), shape::extents.begin() + shape::ndim}, mtf::to_global(x));
      },
      p);
}

struct request {
  int steps = 9;
  bool recompute = false, graphs = false;
  char const* start = nullptr;
};

/// Times steps with and without recomputation by turns, and says their ratio, what the plan says of it, and both's
/// memory beside the plan's and what is counted on paper.
template <class Timed, class StepOf>
void compare_with_recomputed(backend& machine, int steps, Timed const& timed, StepOf const& step_of) {
  std::vector<double> kept, ratios;
  for (int i = 0; i <= steps; ++i) {
    std::array<double, 2> seconds{};
    for (bool const again : {false, true}) seconds[again ? 1 : 0] = timed([&] { step_of(again); });
    if (i == 0) continue;  // the second's first step asks for memory
    kept.push_back(seconds[0]);
    ratios.push_back(seconds[1] / seconds[0]);
  }
  auto const planned = [](bool again) {
    auto const f = [again](auto const& q, auto const& a, auto const& b) {
      return language_model::loss(q, a, b, {}, language_model::recomputed_if(again));
    };
    return mtf::plan_under<gradients_are_completed, state_split, mtf::updated_by<mtf::adamw>>(
        f, mtf::value_of<layout>, planned_parameters, planned_tokens, planned_tokens);
  };
  auto const plain = planned(false);
  bool const speaks = machine.ranks().rank() == 0;
  if (speaks)
    std::printf("step %.1f ms; recomputed %.3f times that (median of %d pairs; fastest %.3f, slowest %.3f)\n",
                1e3 * measure::median(kept), measure::median(ratios), steps, *std::ranges::min_element(ratios),
                *std::ranges::max_element(ratios));
  for (bool const again : {false, true}) {
    machine.reset_peak();
    step_of(again);
    auto const peak = static_cast<double>(machine.memory().peak), counted = counted_bytes(again);
    auto const plan = planned(again);
    if (speaks)
      std::printf("%-10s memory %.1f MB at most; planned %.1f; counted on paper %.1f; products %.3f times\n",
                  again ? "recomputed" : "plain", peak / 1e6, static_cast<double>(plan.peak_bytes) / 1e6, counted / 1e6,
                  plan.flops() / plain.flops());
  }
}

int run(backend& machine, request const& asked) {
  auto const [steps, recompute, graphs, start_path] = asked;
  if (graphs) machine.graphs(true);
  using model = language_model;
  bool const speaks = machine.ranks().rank() == 0;
  mtf::random_key const seed(1);
  auto p = model::initial<parameters>(machine, seed);
  program::optimizer_on<backend> optimizer(machine, {.weight_decay = 0.1});
  // One stream of tokens, each the label of the one before it, as in a text: llm.c takes nothing else.
  auto const count = static_cast<std::size_t>(tokens::shape_type::size);
  std::vector<std::int32_t> stream(count + 1);
  for (std::size_t i = 0; i < stream.size(); ++i)
    stream[i] = static_cast<std::int32_t>(seed.of(i).bits() % config::vocab::extent);
  std::span<std::int32_t const> const ids(stream.data(), count), labels(stream.data() + 1, count);
  auto const x = mtf::from_global<tokens>(machine, ids), y = mtf::from_global<tokens>(machine, labels);
  double loss = 0;
  auto const step_of = [&](bool again) {
    auto const gradient = mtf::value_and_grad<state_split>(
        [again](auto const& q, auto const& a, auto const& b) {
          return model::loss(q, a, b, {}, model::recomputed_if(again));
        },
        gradients_are_completed);
    mtf::backend::step<backend> const here(machine);
    auto const [value, gradients] = gradient(p, x, y);
    optimizer.update(machine, p, gradients, 1e-4);
    loss = mtf::item(value);
    machine.fence();
  };
  auto const step = [&] { step_of(false); };
  auto const timed = [&](auto const& f) {
    machine.ranks().barrier();
    return measure::seconds([&] {
      f();
      machine.ranks().barrier();
    });
  };
  if (recompute) {
    compare_with_recomputed(machine, steps, timed, step_of);
    return 0;
  }

  start_file start;
  if (start_path != nullptr) add_parameters(start, p);
  std::array<double, 2> first{};  // losses: the second shows gradients and update too
  for (auto& f : first) {
    step();
    f = loss;
  }
  if (start_path != nullptr) {
    std::vector<std::int64_t> const shape{config::batch::extent, config::sequence::extent};
    start.add("ids", shape, std::vector(ids.begin(), ids.end()));
    start.add("labels", shape, std::vector(labels.begin(), labels.end()));
    start.add("losses", {2}, std::vector<float>(first.begin(), first.end()));
    if (machine.ranks().any(speaks && !start.write(start_path)))
      throw mtf::user_error(std::string("--start ") + start_path + ": cannot be written");
    return 0;
  }
  // The peak is measured between the steps, so that both see the same machine; of a device before them, as its large
  // products heat it, and the steps of the programs beside have none between.
  std::vector<double> step_seconds, peaks;
  for (int i = 0; i < steps; ++i) {
    if (backend::memory_is_the_hosts || i == 0) peaks.push_back(mtf::tools::best_matrix_peak<activation>(machine));
    step_seconds.push_back(timed(step));
  }
  double const seconds = measure::median(step_seconds), peak = measure::median(peaks),
               flops = plan.flops() * mesh::size, rate = flops / seconds;

  machine.reset_peak();
  auto const before = machine.memory().system_allocations;
  machine.ranks().reset_counts();
  mtf::profile_table table;
  machine.profile(&table);
  double const profiled = timed(step);
  machine.profile(nullptr);
  auto const memory = machine.memory();
  double const bandwidth = mtf::tools::memory_bandwidth(machine);
  if (!speaks) return 0;

  std::printf("mesh %s, layout \"%s\", %.1f M parameters, first losses %.6f %.6f, %d steps\n", mesh::text().c_str(),
              program::layout_text().c_str(), static_cast<double>(mtf::parameter_count(p)) / 1e6, first[0], first[1],
              steps);
  std::printf(
      "step %.1f ms (median; fastest %.1f), %.0f tokens/s, %.1f GFLOP/s; matrix peak %.1f GFLOP/s; share of peak "
      "%.3f\n",
      1e3 * seconds, 1e3 * *std::min_element(step_seconds.begin(), step_seconds.end()),
      static_cast<double>(tokens::shape_type::size) / seconds, rate / 1e9, peak / 1e9, rate / peak);
  if (graphs) {
    auto const done = machine.graph_counts();
    std::printf("graphs: %zu launched, of %zu made and %zu updates\n", done.launched, done.instantiated, done.updated);
  }
  double const counted = counted_bytes();
  std::printf(
      "memory %.1f MB at most, %.2f times the %.1f MB counted on paper; %llu allocations from the system in a step\n\n",
      static_cast<double>(memory.peak) / 1e6, static_cast<double>(memory.peak) / counted, counted / 1e6,
      static_cast<unsigned long long>(memory.system_allocations - before));
  std::printf("one profiled step, %.1f ms\n%s", 1e3 * profiled,
              mtf::describe(table, profiled, {peak / mesh::size, bandwidth}).c_str());
  std::printf("\ncollective        axes   calls    payload bytes       sent bytes   (rank 0, a step)\n");
  for (auto const& c : machine.ranks().counts())
    std::printf("%-16s %5x %7llu %16llu %16llu\n", mtf::name_of(c.kind), c.axes,
                static_cast<unsigned long long>(c.calls), static_cast<unsigned long long>(c.payload),
                static_cast<unsigned long long>(c.sent));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  request asked;
  std::string_view const first = argc > 1 ? argv[1] : "";
  if (first == "--start" && argc > 2) asked.start = argv[2];
  asked.recompute = first == "--recompute";
  asked.graphs = first == "--graphs";
  int const at = asked.recompute || asked.graphs ? 2 : 1;
  if (argc > at) asked.steps = std::max(1, std::atoi(argv[at]));
  return mtf::run<mesh, backend>(argc, argv, [&](backend& machine) { return run(machine, asked); });
}
