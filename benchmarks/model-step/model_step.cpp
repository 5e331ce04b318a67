// Seconds for a training step (forward, backward, AdamW) of a model of the tools whose sizes are values, its logits
// made in chunks, beside PaLM's count of flops, and where the time goes. Usage: model-step SIZES [STEPS [TFLOPS]],
// sizes such as "layers:48;batch:16"; of a peak of so many TFLOP/s the share is said too (a GPU's by its data sheet:
// 989 of Hopper's in bfloat16). Two steps before those that are measured ask for memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include <mtf/backend/profile.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/models/common/loss_in_chunks.hpp>
#include <mtf/mpi.hpp>
#include <mtf/tools/program.hpp>
#include <mtf/tools/step_options.hpp>
#include <mtf/tools/train/peak.hpp>

#include "../measure.hpp"
#include "palm_flops.hpp"

namespace {

// `program`: a language model of sizes that are values (mtf_add_tool).
using backend = mtf::kokkos_backend<>;
using state_split = program::state_split;
using language_model = program::task;
using parameters = program::parameters_on<backend>;
using tokens = std::tuple_element_t<0, program::batch_on<backend>>;
using activation = typename mtf::tools::computed_in<program::precision>::type;

struct request {
  std::string sizes;
  mtf::tools::step_options step;
  int steps = 5;
  double tflops = 0;
};

/// The model's, as PaLM counts them.
palm_sizes palm_sizes_of(mtf::extents_value const& sizes, double parameter_count) {
  auto const size = [&](char const* name) { return static_cast<double>(sizes.find(name).value_or(0)); };
  // Queries' heads: a Llama says how many there are for each head of keys.
  double const heads = sizes.find("heads") ? size("heads") : size("kv_heads") * size("group");
  return {parameter_count, size("layers") + size("upper_layers"), heads, size("d_head"), size("sequence")};
}

int run(backend& machine, request const& asked) {
  bool const speaks = machine.ranks().rank() == 0;
  mtf::random_key const seed(1);
  auto p = language_model::initial<parameters>(machine, seed);
  program::optimizer_on<backend> optimizer(machine, {.weight_decay = 0.1});
  auto const& sizes = asked.step.extents;
  auto const batch = *sizes.find("batch"), sequence = *sizes.find("sequence"), vocabulary = *sizes.find("vocab");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(batch * sequence));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(seed.of(i).bits() % static_cast<std::uint64_t>(vocabulary));
  std::vector<std::int32_t> next(ids.begin() + 1, ids.end());
  next.push_back(ids.front());
  auto const x = mtf::from_global<tokens>(machine, ids), y = mtf::from_global<tokens>(machine, next);
  auto const gradient = mtf::value_and_grad<state_split>(
      [](auto const& q, auto const& a, auto const& b) { return mtf::models::loss_in_chunks<language_model>(q, a, b); },
      program::gradients_are_completed);
  auto const step = [&] {
    auto const [value, gradients] = gradient(p, x, y);
    optimizer.update(machine, p, gradients, 1e-4);
    double const loss = mtf::item(value);
    machine.fence();
    return loss;
  };
  auto const timed = [&] {
    machine.ranks().barrier();
    return measure::seconds([&] {
      step();
      machine.ranks().barrier();
    });
  };
  std::array<double, 2> const first{step(), step()};
  std::vector<double> all;
  for (int i = 0; i < asked.steps; ++i) all.push_back(timed());
  machine.reset_peak();
  mtf::profile_table table;
  machine.profile(&table);
  double const profiled = timed();
  machine.profile(nullptr);
  auto const memory = machine.memory();
  // (Last: large products heat a device.)
  double const peak = mtf::tools::best_matrix_peak<activation>(machine),
               bandwidth = mtf::tools::memory_bandwidth(machine);
  if (!speaks) return std::isfinite(first[1]) ? 0 : 1;

  double const count = static_cast<double>(mtf::parameter_count(p)), seconds = measure::median(all),
               number = static_cast<double>(ids.size()),
               rate = palm_flops_per_token(palm_sizes_of(sizes, count)) * number / seconds;
  std::printf("%s %s: %.1f M parameters, first losses %.6f %.6f, %d steps\n", language_model::model_type,
              asked.sizes.c_str(), count / 1e6, first[0], first[1], asked.steps);
  std::printf("step %.1f ms (median; fastest %.1f), %.0f tokens/s, %.1f TFLOP/s by PaLM's count", 1e3 * seconds,
              1e3 * *std::min_element(all.begin(), all.end()), number / seconds, rate / 1e12);
  if (asked.tflops > 0) std::printf(", %.3f of %g TFLOP/s", rate / 1e12 / asked.tflops, asked.tflops);
  std::printf("; measured matrix peak %.1f TFLOP/s\nmemory %.2f GB at most\n\n", peak / 1e12,
              static_cast<double>(memory.peak) / 1e9);
  std::printf("one profiled step, %.1f ms\n%s", 1e3 * profiled,
              mtf::describe(table, profiled, {peak / machine.ranks().mesh().size(), bandwidth}).c_str());
  return std::isfinite(first[1]) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  request asked;
  auto const layouts = [&](int) {
    if (argc < 2 || argc > 4) throw mtf::user_error("usage: model-step SIZES [STEPS [TFLOPS]]");
    auto sizes = language_model::default_sizes();
    asked.sizes = argv[1];
    sizes.give(mtf::extents_from(asked.sizes));
    asked.step.extents = language_model::extents_from(sizes);
    asked.step.mesh = program::mesh_text();
    if (argc > 2) asked.steps = std::max(1, std::atoi(argv[2]));
    if (argc > 3) asked.tflops = std::atof(argv[3]);
    return mtf::sized_layouts{mtf::tools::layouts_of<program>(asked.step), asked.step.extents};
  };
  return mtf::run_under<backend>(argc, argv, layouts, [&](backend& machine) { return run(machine, asked); });
}
