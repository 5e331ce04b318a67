#pragma once
// The program `train`, for any task: int main(int argc, char** argv) { return mtf::tools::train<program>(argc, argv);
// }, where program is an under_any_layout or an under_layout (program.hpp). mtf_add_tool of CMake writes it, and the
// source that the plan of the task is compiled in (plan_step.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/backend/profile.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/core/error.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/describe.hpp>
#include <mtf/train/loop.hpp>
#include <mtf/train/run_report.hpp>
#include <mtf/train/text_output.hpp>

#include "../program.hpp"
#include "../speaks.hpp"
#include "../task.hpp"
#include "../text_of.hpp"
#include "loop_setup.hpp"
#include "optimizers.hpp"
#include "options.hpp"
#include "peak.hpp"
#include "planned.hpp"
#include "plot.hpp"
#include "trainer.hpp"

namespace mtf::tools {

/// What an executable runs on, if a rank is a process.
using process_backend = mtf::kokkos_backend<>;

/// What config files call the element type of parameters.
template <class Precision>
std::string element_name() {
  struct one : mtf::dim<"one", 1> {};
  using stored = typename mtf::place<Precision, mtf::any_layout<>>::template tensor<one>::element_type;
  return std::is_same_v<stored, double> ? "float64" : std::is_same_v<stored, float> ? "float32" : "bfloat16";
}

/// What this executable is.
template <class Program>
executable executable_of(bool has_ranks_as_threads) {
  using task = typename Program::task;
  using backend = process_backend;
  executable built{.mesh = Program::mesh_text(),
                   .layout = Program::layout_text(),
                   .upper_layout = Program::upper_layout_text(),
                   .takes_any_layout = Program::takes_any_layout,
                   .has_ranks_as_threads = has_ranks_as_threads,
                   .has_dropout = has_noise<task>,
                   .can_recompute = can_recompute<task>,
                   .has_upper_layout = has_upper_layout<typename Program::plain_task>,
                   .has_samples = has_sample<task, backend, typename Program::template parameters_on<backend>,
                                             typename Program::template batch_on<backend>>,
                   .has_buckets = Program::takes_any_layout && has_buckets<task>,
                   .sizes = sizes_of<typename Program::plain_task, task>()};
  if constexpr (requires { task::reads; }) built.reads = task::reads;
  built.element = element_name<typename Program::precision>();
  return built;
}

/// "data:2 model:2"
inline std::string mesh_text(options const& o) {
  auto text = o.mesh;
  std::replace(text.begin(), text.end(), ';', ' ');
  return text;
}

/// "bits/byte" as people say it.
inline std::string spoken(std::string unit) {
  if (auto const at = unit.find('/'); at != std::string::npos) unit.replace(at, 1, " per ");
  return unit;
}

/// The batches of a step. One is held at a time: the first is there at once, another when it is asked for.
template <class Batch, class Read>
class step_batches {
 public:
  explicit step_batches(Read const& read) : read_(read), held_(std::make_shared<held>(held{0, read_(0)})) {}
  Batch const& operator()(std::size_t i) const {
    if (held_->number != i) {
      held_->batch.reset();
      *held_ = {i, read_(i)};
    }
    return *held_->batch;
  }

 private:
  struct held {
    std::size_t number = 0;
    std::optional<Batch> batch;
  };
  Read read_;
  std::shared_ptr<held> held_;
};

// By a function: nvcc 13.0 forgets the `typename` of noise{...} in a lambda of a template.
template <class Noise>
Noise noise_from(double rate, mtf::random_key key) {
  if constexpr (std::is_same_v<Noise, no_noise>)
    return {};
  else
    return {rate, key};
}

/// The parameters before the first step.
template <class Program, class Parameters, class Backend>
Parameters first_values(Backend& machine, options const& o, mtf::random_key key) {
  using task = typename Program::task;
  if constexpr (has_files<task>)
    if (!o.from.empty())
      return mtf::load<Parameters>(machine, o.from, {.names = task::names_in_files(values_of(o.sizes))});
  return task::template initial<Parameters>(machine, key);
}

/// What a rank does, once it is there.
template <class Program, class Backend>
int train_on(Backend& machine, options const& o) {
  using task = typename Program::task;
  using parameters = typename Program::template parameters_on<Backend>;
  using batch = typename Program::template batch_on<Backend>;
  using noise = typename Program::noise;
  if (o.graphs) machine.graphs(true);
  mtf::random_key const seed(o.seed);
  task const data(data_options{.data = o.data,
                               .seed = seed,
                               .batches = o.accumulate,
                               .validation_share = o.validation_share,
                               .extents = o.extents,
                               .config = o.config,
                               .buckets = o.buckets});
  auto const plan = plan_of_step<typename Program::plain_task, typename Program::precision>(o);
  double flops = plan.flops();
  if constexpr (has_buckets<task>)
    if (!o.buckets.empty()) {
      flops = 0;
      for (auto const& [extents, share] : data.batch_extents()) {
        step_options of_these = o;
        of_these.extents.give(extents);
        // (Extents that cannot be under the layout are refused here.)
        flops += share * plan_of_step<typename Program::plain_task, typename Program::precision>(of_these).flops();
      }
    }
  auto p = first_values<Program, parameters>(machine, o, seed.of("initial"));
  chosen_optimizer<Program, Backend> optimizer(machine, o);
  auto const count = mtf::parameter_count(p);
  mtf::run_description about{.title = "A model learns " + o.data.substr(o.data.rfind('/') + 1)};
  if constexpr (requires { data.about(); }) about = data.about();
  std::string facts;
  for (auto const& [name, value] : about.facts) facts += "; " + value;
  std::string const unit = about.loss_unit;
  auto const reference = about.reference;
  auto asked = loop_options_from(o, count, std::move(about), plan, flops);
  if constexpr (requires { data.same(); }) asked.same.merge(data.same());
  if constexpr (requires {
                  task::item;
                  data.items();
                }) {
    asked.item = task::item;
    asked.items = static_cast<double>(data.items());
  } else {
    asked.item = "batches";
    asked.items = 1;
  }
  asked.items *= o.accumulate;
  asked.evaluate = [&]() -> double { return data.template metric<batch>(machine, p); };
  mtf::training_loop loop(machine, p, optimizer, std::move(asked));

  mtf::save_options written;
  if constexpr (has_files<task>) {
    written = {.names = task::names_in_files(values_of(o.sizes)), .texts = o.texts};
    if (!o.write.empty()) mtf::check_can_save(machine.ranks(), o.write, written);
  }
  double const peak = best_matrix_peak<typename computed_in<typename Program::precision>::type>(
      machine, o.ranks_as_threads ? 512 : telling_extent<Backend>);
  mtf::machine_limits const limits{peak / machine.ranks().mesh().size(),
                                   o.profile || !o.report.empty() ? memory_bandwidth(machine) : 0};
  loop.compare_with(limits);
  loop.say(std::to_string(count) + " parameters, mesh " + mesh_text(o) + ", layout \"" + o.layout + "\"" + facts +
           text_of("; matrix peak %.0f GFLOP/s on all ranks", peak / 1e9));
  loop.say(
      text_of(o.buckets.empty()
                  ? "each rank sends %.2f MB a step in %llu collectives (--plan lists them)"
                  : "each rank sends %.2f MB a step of the longest sequences in %llu collectives (--plan lists them)",
              static_cast<double>(plan.bytes_sent_per_rank()) / 1e6, static_cast<unsigned long long>(plan.count())));

  training_loss<Program> const loss{o.recompute, settings_in<task>(o.config)};
  auto const when = when_completed(o);
  auto const several = static_cast<std::size_t>(o.accumulate);
  int const code = loop.run(
      [&](int step) {
        auto const read = [&, step](std::size_t i) -> batch {
          return data.template batch_of<batch>(machine, step, static_cast<std::int64_t>(i));
        };
        return step_batches<batch, std::remove_const_t<decltype(read)>>(read);
      },
      [&](auto const& q, auto const& batches, int step) {
        auto const key = seed.of("dropout").of(static_cast<std::uint64_t>(step));
        return with_state_split<Program>(o, [&]<class Split>(Split) {
          // Only where a program takes any layout, whose plan is made when it runs, may there be several.
          if constexpr (Program::takes_any_layout)
            if (several > 1) {
              auto const noises = [&](std::size_t i) { return noise_from<noise>(o.dropout, i == 0 ? key : key.of(i)); };
              auto const weight = [&]([[maybe_unused]] std::size_t i) {
                if constexpr (requires { data.weight_of(0, std::int64_t{0}); })
                  return static_cast<double>(data.weight_of(step, static_cast<std::int64_t>(i)));
                else
                  return 1.0;
              };
              auto const part = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
                return [&](std::size_t i) { return std::get<K>(batches(i)); };
              };
              return [&]<std::size_t... K>(std::index_sequence<K...>) {
                return mtf::value_and_grad<Split>(mtf::accumulated(loss, several, weight), when)(
                    q, noises, part(std::integral_constant<std::size_t, K>{})...);
              }(std::make_index_sequence<Program::inputs::count>{});
            }
          return std::apply(
              [&](auto const&... in) {
                return mtf::value_and_grad<Split>(loss, when)(q, noise_from<noise>(o.dropout, key), in...);
              },
              batches(0));
        });
      });
  if (code != 0) return code;

  auto const has_reference = !reference.first.empty();
  if (auto const plot = plot_of(loop.evaluations(), has_reference ? std::optional(reference.second) : std::nullopt);
      !plot.empty())
    loop.say("\nvalidation" + (unit.empty() ? "" : ", " + spoken(unit)) +
             (has_reference ? " (dashes: " + reference.first + ")\n" : "\n") + plot);
  loop.say(text_of("\nvalidation %.3f %s", loop.evaluations().back().second, spoken(unit).c_str()) +
           (has_reference ? text_of("; %s gives %.3f", reference.first.c_str(), reference.second) : "") +
           text_of("; peak memory %.1f MB a rank", static_cast<double>(loop.peak_bytes()) / 1e6));
  if (o.profile)
    loop.say("\nthe training steps, on rank 0:\n" + mtf::describe(loop.profile(), loop.profiled_seconds(), limits));
  if constexpr (has_sample<task, Backend, parameters, batch>)
    if (o.sample > 0)
      loop.say("\n--- a sample ---\n" + data.template sample<batch>(machine, p, o.sample, seed.of("sample")) +
               "\n----------------");
  if constexpr (has_files<task>)
    if (!o.write.empty()) {
      mtf::save(o.write, p, written);
      loop.say("\nwritten to " + o.write);
    }
  loop.finish();
  return 0;
}

/// If a search is to say how a step is done, that is asked for.
template <class Program>
void choose([[maybe_unused]] options& o, [[maybe_unused]] int ranks) {
  if constexpr (Program::takes_any_layout)
    if (!o.choose.empty())
      choose_layout<typename Program::plain_task, typename Program::precision>(o, o.choose, o.machine, ranks,
                                                                               o.two_layouts);
}

/// What the program does, as its command line says.
template <class Program, class Threads>
int train_as(int argc, char** argv, command_line line) {
  using backend = process_backend;
  if (!line.chosen.checkpoint.empty())
    mtf::listen_for_stop();  // from here on: the run ends with a checkpoint, or begins
  if (line.help || (line.chosen.plan && !line.wrong)) try {
      mtf::text_output screen("standard output", speaks() ? stdout : nullptr);
      if (!line.help) choose<Program>(line.chosen, line.chosen.ranks);
      screen.write(line.help ? *line.help
                             : mtf::describe(plan_of_step<typename Program::plain_task, typename Program::precision>(
                                   line.chosen)));
      if (!screen.failure().empty()) throw mtf::user_error(screen.failure());
      return 0;
    } catch (mtf::user_error const& e) {
      std::fprintf(stderr, "mtf: %s\n", e.what());
      return 2;
    }
  auto const on_rank = [&](auto& machine) {
    if (line.wrong) throw mtf::user_error(*line.wrong);
    return train_on<Program>(machine, line.chosen);
  };
  if constexpr (Program::takes_any_layout) {
    auto const layouts = [&](int ranks) {
      if (line.wrong) throw mtf::user_error(*line.wrong);
      choose<Program>(line.chosen, ranks);
      return mtf::sized_layouts{layouts_of<Program>(line.chosen), line.chosen.extents};
    };
    if constexpr (Threads::are_threads)
      if (line.chosen.ranks_as_threads)
        return Threads::run_under(argc, argv, [&] { return layouts(line.chosen.ranks); }, on_rank);
    return mtf::run_under<backend>(argc, argv, layouts, on_rank);
  } else {
    if constexpr (Threads::are_threads)
      if (line.chosen.ranks_as_threads) return Threads::template run<typename Program::mesh>(argc, argv, on_rank);
    return mtf::run<typename Program::mesh, backend>(argc, argv, on_rank);
  }
}

/// Of a task under layouts. Threads: also ranks as threads of one process, as ranks_as_threads.hpp starts them.
template <class Program, class Threads>
trainer trainer_under() {
  if constexpr (described<typename Program::plain_task>) {  // else its base has said what is missing
    using task = typename Program::task;
    using place = mtf::place<typename Program::precision, typename Program::layout, process_backend>;
    constexpr auto lacks = missing_for_plan<task, place, Program::takes_any_layout>();
    if constexpr (checked_task<task, lacks>::value) {
      using parameters = typename Program::template parameters_on<process_backend>;
      using batch = typename Program::template batch_on<process_backend>;
      constexpr auto lacks_for_training = missing_for_training<task, process_backend, parameters, batch>();
      if constexpr (checked_task<task, lacks_for_training>::value)
        return {.built = executable_of<Program>(Threads::are_threads), .run = &train_as<Program, Threads>};
    }
  }
  return {};
}

/// A task's, of several that a program has.
template <class Task, class Precision = float, class Threads = ranks_as_processes>
trainer trainer_of() {
  static_assert(has_model_type<Task>,
                "mtf: each task of a program that has several says what its model is called: static constexpr char "
                "const* model_type");
  return trainer_under<under_any_layout<Task, Precision>, Threads>();
}

/// The whole program, for one task.
template <class Program, class Threads = ranks_as_processes>
int train(int argc, char** argv) {
  return train_by(argc, argv, {trainer_under<Program, Threads>()});
}

}  // namespace mtf::tools
