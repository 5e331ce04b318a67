// What a training step takes beside what its plan says that it takes, on this computer as it was measured in the same
// run, and the memory of both: mpirun -n 2 prices MESH LAYOUT [LAYOUT...], each as train-any takes it, those of the
// lower and the upper half of the layers with a slash between them. A line for each layout.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../machine/measure_machine.hpp"
#include "../measure.hpp"
#include "setup.hpp"

namespace {

using namespace transformer;
using parameters = parameters_on<backend>;
using tokens = tokens_on<backend>;

options options_of(std::string const& mesh, std::string const& layout) {
  options o;
  o.mesh = mesh;
  o.layout = layout.substr(0, layout.find('/'));
  if (auto const at = layout.find('/'); at != std::string::npos) o.upper_layout = layout.substr(at + 1);
  return o;
}

/// A training program, and its fastest step and most memory so far.
class program {
 public:
  explicit program(backend& machine) : machine_(machine), before_(machine.memory().live) {
    machine.reset_peak();
    mtf::random_key const seed(1);
    p_ = language_model::initial<parameters>(machine, seed);
    optimizer_.emplace(machine, mtf::adamw_options{});
    auto const count = static_cast<std::size_t>(tokens::shape_type::size);
    std::vector<std::int32_t> stream(count + 1);
    for (std::size_t i = 0; i < stream.size(); ++i)
      stream[i] = static_cast<std::int32_t>(seed.of(i).bits() % config::vocab::extent);
    std::span<std::int32_t const> const ids(stream.data(), count), labels(stream.data() + 1, count);
    x_ = mtf::from_global<tokens>(machine, ids);
    y_ = mtf::from_global<tokens>(machine, labels);
  }
  void run(int steps) {
    auto const gradient = mtf::value_and_grad<state_split>(
        [](auto const& q, auto const& a, auto const& b) { return language_model::loss(q, a, b); },
        gradients_are_completed);
    for (int i = 0; i < steps; ++i) {
      machine_.ranks().barrier();
      double const taken = measure::seconds([&] {
        auto const [value, gradients] = gradient(p_, x_, y_);
        optimizer_->update(machine_, p_, gradients, 1e-4);
        machine_.fence();
        machine_.ranks().barrier();
      });
      seconds_ = std::min(seconds_, taken);
    }
    memory_ = static_cast<double>(machine_.memory().peak - before_);
  }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double memory() const { return memory_; }

 private:
  backend& machine_;
  std::size_t before_;  // the measurement's own
  parameters p_;
  std::optional<optimizer_on<backend>> optimizer_;
  tokens x_, y_;
  double seconds_ = 1e9, memory_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: prices MESH LAYOUT [LAYOUT...]\n");
    return 2;
  }
  std::string const mesh = argv[1];
  std::vector<std::string> const layouts(argv + 2, argv + argc);
  return mtf::run_under<backend>(
      argc, argv, [&] { return layouts_of(options_of(mesh, layouts.front())); },
      [&](backend& b) {
        // The computer's speeds and the steps are measured in turns: others use it too, now more, now less.
        measured::measurement<backend> measurement(b);
        auto here = measurement.machine("here", true);
        struct row {
          std::vector<mtf::layout_value> layouts;
          double seconds = 1e9, memory = 0;
        };
        std::vector<row> rows;
        for (auto const& text : layouts) {
          auto const given = layouts_of(options_of(mesh, text));
          rows.push_back({{given.begin(), given.end()}});
        }
        for (int round = 0; round < 3; ++round) {
          for (auto& r : rows) {
            b.layouts().clear();
            for (auto const& l : r.layouts) b.layouts().add(l);
            program p(b);
            p.run(6);
            r.seconds = std::min(r.seconds, p.seconds());
            r.memory = p.memory();
          }
          here = measured::fastest(here, measurement.machine("here", true));
        }
        if (b.ranks().rank() != 0) return 0;
        std::printf("%-44s %9s %9s %7s  %8s %8s %8s %8s  %9s %7s\n", "layout", "planned", "measured", "ratio",
                    "products", "kernels", "between", "hidden", "memory", "ratio");
        for (std::size_t i = 0; i < rows.size(); ++i) {
          auto const plan = mtf::plan_under<gradients_are_completed, state_split, mtf::updated_by<mtf::adamw>>(
              planned_loss, rows[i].layouts, planned_parameters, planned_tokens, planned_tokens);
          auto const price = plan.price(here);
          auto const& r = rows[i];
          std::printf("%-44s %7.2fms %7.2fms %7.3f  %6.2fms %6.2fms %6.2fms %6.2fms  %7.2fMB %7.3f\n",
                      layouts[i].c_str(), 1e3 * price.seconds(), 1e3 * r.seconds, price.seconds() / r.seconds,
                      1e3 * price.products, 1e3 * price.kernels, 1e3 * price.collectives, 1e3 * price.hidden,
                      static_cast<double>(plan.peak_bytes) / 1e6, static_cast<double>(plan.peak_bytes) / r.memory);
        }
        return 0;
      });
}
