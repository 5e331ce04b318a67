// Seconds for a training step of a 27 M parameter Transformer (forward, backward, AdamW) as a share of oneDNN's (on CUDA:
// cuBLASLt's) sgemm peak in the same run, and where the time goes. Usage: train-step [steps]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "../measure.hpp"
#include "peak.hpp"
#include "profile.hpp"
#include "setup.hpp"

namespace {

using namespace transformer;
using parameters = parameters_on<backend>;
using tokens = tokens_on<backend>;

/// The part of the step that a kernel or region belongs to. The regions of operations hold what is not in the backend.
char const* part_of(std::string const& name) {
  if (name == "mtf::contract") return "contractions";
  for (char const* c : {"mtf::all_reduce", "mtf::reduce_scatter", "mtf::all_gather", "mtf::all_to_all", "mtf::permute"})
    if (name == c) return "communication";
  return name.starts_with("mtf::") ? "kernels" : "other";
}

int run(backend& machine, int steps) {
  using model = language_model;
  bool const speaks = machine.ranks().rank() == 0;
  mtf::random_key const seed(1);
  auto p = model::initial<parameters>(machine, seed);
  mtf::adamw<parameters> optimizer(machine, {.weight_decay = 0.1});
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens::shape_type::size)), labels(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(seed.of(i).bits() % config::vocab::extent);
    labels[i] = static_cast<std::int32_t>(seed.of(i + ids.size()).bits() % config::vocab::extent);
  }
  auto const x = mtf::from_global<tokens>(machine, ids), y = mtf::from_global<tokens>(machine, labels);
  auto const gradient = mtf::value_and_grad([](auto const& q, auto const& a, auto const& b) { return model::loss(q, a, b); });
  double loss = 0;
  auto const step = [&] {
    auto const [value, gradients] = gradient(p, x, y);
    optimizer.update(machine, p, gradients, 1e-4);
    loss = mtf::item(value);
    machine.fence();
  };
  auto const timed = [&](auto const& f) {
    machine.ranks().barrier();
    return measure::seconds([&] {
      f();
      machine.ranks().barrier();
    });
  };

  for (int i = 0; i < 2; ++i) step();
  // The peak is measured between the steps, so that both see the same machine.
  std::vector<double> step_seconds, peaks;
  for (int i = 0; i < steps; ++i) {
    peaks.push_back(matrix_peak(machine));
    step_seconds.push_back(timed(step));
  }
  double const seconds = measure::median(step_seconds), peak = measure::median(peaks), rate = model::step_flops() / seconds;

  auto& table = profile::table::instance();
  machine.ranks().reset_counts();
  table.start();
  double const profiled = timed(step);
  table.stop();
  if (!speaks) return 0;

  std::printf("mesh %s, layout \"%s\", %.1f M parameters, loss %.4f, %d steps\n", mesh::text().c_str(), MTF_EXAMPLE_LAYOUT,
              static_cast<double>(mtf::parameter_count(p)) / 1e6, loss, steps);
  std::printf("step %.1f ms (median; fastest %.1f), %.0f tokens/s, %.1f GFLOP/s; sgemm peak %.1f GFLOP/s; share of peak %.3f\n",
              1e3 * seconds, 1e3 * *std::min_element(step_seconds.begin(), step_seconds.end()),
              static_cast<double>(tokens::shape_type::size) / seconds, rate / 1e9, peak / 1e9, rate / peak);
  std::printf("memory %.1f MB at most\n\n", static_cast<double>(machine.memory().peak) / 1e6);

  std::map<std::string, double> parts;
  std::vector<std::pair<double, std::string>> rows;
  double known = 0;
  for (auto const& [name, e] : table.entries()) {
    parts[part_of(name)] += e.seconds;
    known += e.seconds;
    rows.push_back({e.seconds, name});
  }
  parts["other"] += profiled - known;
  std::printf("part                 ms   share   (one profiled step, %.1f ms)\n", 1e3 * profiled);
  for (auto const& [name, s] : parts) std::printf("%-15s %7.1f   %5.1f%%\n", name.c_str(), 1e3 * s, 100 * s / profiled);
  std::printf("\nkernel or region                        calls      ms\n");
  std::sort(rows.rbegin(), rows.rend());
  for (auto const& [s, name] : rows)
    std::printf("%-38s %6ld %7.1f\n", name.c_str(), table.entries().at(name).calls, 1e3 * s);
  std::printf("\ncollective        axes   calls    payload bytes       sent bytes   (rank 0, a step)\n");
  for (auto const& c : machine.ranks().counts())
    std::printf("%-16s %5x %7llu %16llu %16llu\n", mtf::name_of(c.kind), c.axes, static_cast<unsigned long long>(c.calls),
                static_cast<unsigned long long>(c.payload), static_cast<unsigned long long>(c.sent));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 9;
  return mtf::run<mesh, backend>(argc, argv, [&](backend& machine) { return run(machine, std::max(1, steps)); });
}
