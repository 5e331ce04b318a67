// What a training step takes beside what its plan says that it takes, on this computer as it was measured in the same
// run, and the memory of both: mpirun -n 2 prices [--operations] MESH LAYOUT [LAYOUT...], each as train takes it,
// those of the lower and the upper half of the layers with a slash between them. A line for each layout; then how far
// off the plans are, and whether they rank the layouts as the runs do. With --operations also, for each layout, where
// one profiled step differs most from its plan.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <mtf/backend/profile.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/tools/program.hpp>
#include <mtf/tools/step_options.hpp>

#include "../machine/measure_machine.hpp"
#include "../measure.hpp"

namespace {

// `program`: GPT-2 of a config, under any layout (mtf_add_tool).
using backend = mtf::kokkos_backend<>;
using state_split = program::state_split;
using language_model = program::task;
using parameters = program::parameters_on<backend>;
using tokens = std::tuple_element_t<0, program::batch_on<backend>>;
using mtf::tools::layouts_of;
constexpr auto gradients_are_completed = program::gradients_are_completed;
constexpr std::tuple_element_t<0, language_model::inputs> planned_tokens;

mtf::tools::step_options options_of(std::string const& mesh, std::string const& layout) {
  mtf::tools::step_options o;
  o.mesh = mesh;
  o.layout = layout.substr(0, layout.find('/'));
  if (auto const at = layout.find('/'); at != std::string::npos) o.upper_layout = layout.substr(at + 1);
  return o;
}

/// A training program, and of the steps that it ran last the median time, and the most memory.
class timed_program {
 public:
  explicit timed_program(backend& machine) : machine_(machine), before_(machine.memory().live) {
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
    std::vector<double> taken;
    for (int i = 0; i < steps; ++i) {
      machine_.ranks().barrier();
      taken.push_back(measure::seconds([&] {
        auto const [value, gradients] = gradient(p_, x_, y_);
        optimizer_->update(machine_, p_, gradients, 1e-4);
        machine_.fence();
        machine_.ranks().barrier();
      }));
    }
    seconds_ = measure::median(taken);
    memory_ = static_cast<double>(machine_.memory().peak - before_);
  }
  /// One step, by operation.
  mtf::profile_table profiled() {
    mtf::profile_table table;
    machine_.profile(&table);
    run(1);
    machine_.profile(nullptr);
    return table;
  }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double memory() const { return memory_; }

 private:
  backend& machine_;
  std::size_t before_;  // the measurement's own
  parameters p_;
  std::optional<program::optimizer_on<backend>> optimizer_;
  tokens x_, y_;
  double seconds_ = 0, memory_ = 0;
};

/// One layout, and what was measured: the median step of each round.
struct row {
  std::vector<mtf::layout_value> layouts;
  std::vector<double> rounds;
  double memory = 0, planned = 0;
  mtf::profile_table profile;

  [[nodiscard]] double seconds() const { return *std::min_element(rounds.begin(), rounds.end()); }
  [[nodiscard]] double slowest() const { return *std::max_element(rounds.begin(), rounds.end()); }
};

/// Kendall's tau-b of plans and runs: 1 if both rank all layouts alike, -1 if one is the other's reverse. Runs whose
/// rounds overlap are ties.
double kendalls_tau(std::vector<row> const& rows) {
  double agree = 0, pairs = 0, ties = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      auto const &a = rows[i], &b = rows[j];
      ++pairs;
      if (a.seconds() <= b.slowest() && b.seconds() <= a.slowest())
        ++ties;
      else
        agree += (a.seconds() < b.seconds()) == (a.planned < b.planned) ? 1 : -1;
    }
  return pairs > ties ? agree / std::sqrt(pairs * (pairs - ties)) : 1;
}

template <class Plan>
void print_operations(Plan const& plan, mtf::profile_table const& table, mtf::machine_description const& here) {
  struct line {
    mtf::profile_table::row measured;
    double planned = 0;
  };
  std::vector<line> lines;
  for (auto const& r : table.rows()) {
    if (r.bound == mtf::limit::network) continue;
    line l{r};
    for (auto const& w : plan.work)
      if (w.when == r.when && w.bound == r.bound && std::string_view(w.operation) == r.operation)
        l.planned += here.seconds(w);
    lines.push_back(l);
  }
  std::sort(lines.begin(), lines.end(), [](line const& a, line const& b) {
    return std::abs(a.planned - a.measured.seconds) > std::abs(b.planned - b.measured.seconds);
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(8, lines.size()); ++i) {
    auto const& l = lines[i];
    std::printf("    %-18s %-9s %-9s %8.2fms %7.2fms %7.3f\n", l.measured.operation, mtf::name_of(l.measured.when),
                l.measured.bound == mtf::limit::matrix ? "products" : "kernels", 1e3 * l.planned,
                1e3 * l.measured.seconds, l.planned / l.measured.seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool const operations = argc > 1 && std::string_view(argv[1]) == "--operations";
  int const first = operations ? 2 : 1;
  if (argc < first + 2) {
    std::fprintf(stderr, "usage: prices [--operations] MESH LAYOUT [LAYOUT...]\n");
    return 2;
  }
  std::string const mesh = argv[first];
  std::vector<std::string> const layouts(argv + first + 1, argv + argc);
  return mtf::run_under<backend>(
      argc, argv, [&] { return layouts_of<program>(options_of(mesh, layouts.front())); },
      [&](backend& b) {
        // The computer's speeds and the steps are measured in turns: others use it too, now more, now less.
        measured::measurement<backend> measurement(b);
        auto here = measurement.machine("here", true);
        std::vector<row> rows;
        for (auto const& text : layouts) {
          auto const given = layouts_of<program>(options_of(mesh, text));
          rows.emplace_back().layouts.assign(given.begin(), given.end());
        }
        for (int round = 0; round < 3; ++round) {
          for (auto& r : rows) {
            b.layouts().clear();
            for (auto const& l : r.layouts) b.layouts().add(l);
            timed_program p(b);
            p.run(7);
            r.rounds.push_back(p.seconds());
            r.memory = p.memory();
            if (operations) r.profile = p.profiled();
          }
          here = measured::fastest(here, measurement.machine("here", true));
        }
        if (b.ranks().rank() != 0) return 0;
        std::printf("%-44s %9s %9s %7s  %8s %8s %8s %8s  %9s %7s\n", "layout", "planned", "measured", "ratio",
                    "products", "kernels", "between", "hidden", "memory", "ratio");
        std::vector<double> errors;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          auto const plan = mtf::plan_under<gradients_are_completed, state_split, mtf::updated_by<mtf::adamw>>(
              mtf::tools::planned_loss<program>{}, rows[i].layouts, program::planned_parameters, planned_tokens,
              planned_tokens);
          auto const price = plan.price(here);
          auto& r = rows[i];
          r.planned = price.seconds();
          errors.push_back(std::abs(r.planned / r.seconds() - 1));
          std::printf("%-44s %7.2fms %7.2fms %7.3f  %6.2fms %6.2fms %6.2fms %6.2fms  %7.2fMB %7.3f\n",
                      layouts[i].c_str(), 1e3 * r.planned, 1e3 * r.seconds(), r.planned / r.seconds(),
                      1e3 * price.products, 1e3 * price.kernels, 1e3 * price.collectives, 1e3 * price.hidden,
                      static_cast<double>(plan.peak_bytes) / 1e6, static_cast<double>(plan.peak_bytes) / r.memory);
          if (operations) print_operations(plan, r.profile, here);
        }
        std::printf("error: median %.1f %%, largest %.1f %%; Kendall's tau of the ranking %.2f\n",
                    100 * measure::median(errors), 100 * *std::max_element(errors.begin(), errors.end()),
                    kendalls_tau(rows));
        return 0;
      });
}
