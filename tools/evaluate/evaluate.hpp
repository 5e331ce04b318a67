#pragma once
// The program `evaluate`, for language models: int main(int argc, char** argv) { return mtf::tools::evaluate_by(argc,
// argv, {mtf::tools::evaluator_of<my_model>()}); }. mtf_add_tool of CMake writes it.
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>

#include "../model_under_layout.hpp"
#include "../program.hpp"
#include "../sizes.hpp"
#include "../task.hpp"
#include "evaluator.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "searched_evaluating.hpp"

namespace mtf::tools {

/// Has a task what evaluation needs: files of another tool's, and the dimensions batch, sequence, memory and vocab, for
///   static auto logits(p, ids);   // of ids [batch, sequence] the logits [batch, sequence, vocab]
template <class Task>
concept predicts = has_files<Task> && requires {
  typename Task::batch;
  typename Task::sequence;
  typename Task::memory;
  typename Task::vocab;
};

/// What a rank does, once it is there.
template <class Task, class Precision, class Backend>
int evaluate_on(Backend& machine, mtf::layout_value const& layout, evaluate_options const& o) {
  using numbers = mtf::place<std::int32_t, mtf::any_layout<>, Backend>;
  using tokens = typename numbers::template tensor<typename Task::batch, typename Task::sequence>;

  auto const settings = settings_of_source<Task>(*o.on.model);
  auto const p = parameters_of_source<Task, Precision>(machine, *o.on.model);
  auto const extent = [&](char const* name) { return machine.layouts().extents().find(name).value(); };
  measure(o, {.vocabulary = extent("vocab"),
              .positions = extent("positions"),
              .rows_of = ranks_of(layout, Task::batch::id),
              .tokens_of = std::lcm(ranks_of(layout, Task::sequence::id), ranks_of(layout, Task::memory::id)),
              .speaks = machine.ranks().rank() == 0,
              .losses = [&](std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& labels,
                            std::int64_t rows) {
                auto const length = static_cast<std::int64_t>(ids.size()) / rows;
                machine.layouts().give({{"batch", rows}, {"sequence", length}, {"memory", length}});
                auto const x = mtf::from_global<tokens>(machine, ids), y = mtf::from_global<tokens>(machine, labels);
                auto const logits =
                    with_settings<Task>(settings, [&](auto const&... more) { return Task::logits(p, x, more...); });
                return mtf::to_global(mtf::cast<float>(mtf::cross_entropy<typename Task::vocab>(logits, y)));
              }});
  return 0;
}

/// A task's. Threads: also ranks as threads of one process, as train/ranks_as_threads.hpp starts them.
template <class Task, class Precision = float, class Threads = ranks_as_processes>
evaluator evaluator_of() {
  static_assert(predicts<Task>,
                "mtf: evaluate needs a language model with files of another tool's: names_in_files, "
                "config_from_sizes, batch, sequence, memory, vocab, logits (tools/evaluate/evaluate.hpp)");
  evaluator of{.sizes = sizes_of<Task>(), .has_ranks_as_threads = Threads::are_threads};
  of.run = [](int& argc, char**& argv, evaluate_line const& line) {
    auto const& o = line.chosen;
    mtf::layout_value layout;
    auto const given = [&](int ranks) {
      if (o.on.wrong) throw mtf::user_error(*o.on.wrong);
      auto const laid =
          laid_out<Task>(layout_for(o.on, ranks, extents_of_pass<Task>(o.on, o.on.positions),
                                    &search_evaluating<Task, Precision>, "the windows that are worked on at once"),
                         o.on.extents);
      layout = laid.layouts.front();
      return laid;
    };
    auto const on_rank = [&](auto& machine) { return evaluate_on<Task, Precision>(machine, layout, o); };
    if constexpr (Threads::are_threads)
      if (o.on.ranks_as_threads) return Threads::run_under(argc, argv, [&] { return given(0); }, on_rank);
    return mtf::run_under<mtf::kokkos_backend<>>(argc, argv, given, on_rank);
  };
  return of;
}

}  // namespace mtf::tools
