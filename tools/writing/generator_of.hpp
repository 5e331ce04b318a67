#pragma once
// The models of the programs `generate` and `serve`, of tasks of language models that go on from a cache of keys and
// values: int main(int argc, char** argv) { return mtf::tools::generate_by(argc, argv,
// {mtf::tools::generator_of<my_task>()}); }. mtf_add_tool of CMake writes it.
#include <type_traits>

#include <mtf/core/error.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>

#include "../model_under_layout.hpp"
#include "../program.hpp"
#include "../sizes.hpp"
#include "../task.hpp"
#include "cached_model.hpp"
#include "generator.hpp"
#include "searched_writing.hpp"

namespace mtf::tools {

/// A task's. Threads: also ranks as threads of one process, as train/ranks_as_threads.hpp starts them.
template <class Task, class Precision = float, class Threads = ranks_as_processes>
generator generator_of() {
  static_assert(continues<Task>,
                "mtf: generate needs a task that goes on from a cache: names_in_files, config_from_sizes, cache, "
                "newest, continued (tools/writing/cached_model.hpp)");
  generator of{.sizes = sizes_of<Task>(), .has_ranks_as_threads = Threads::are_threads};
  of.run = [](int& argc, char**& argv, model_choice const& o, writing const& write) {
    mtf::layout_value layout;
    auto const given = [&](int ranks) {
      if (o.wrong) throw mtf::user_error(*o.wrong);
      auto const laid = laid_out<Task>(
          layout_for(o, ranks, extents_of_pass<Task>(o, 1), &search_writing<Task, Precision>, "a token of each text"),
          o.extents);
      layout = laid.layouts.front();
      return laid;
    };
    auto const on_rank = [&](auto& machine) {
      cached_model<Task, Precision, std::remove_reference_t<decltype(machine)>> model(machine, layout, *o.model);
      write(model.on_ranks());
      return 0;
    };
    if constexpr (Threads::are_threads)
      if (o.ranks_as_threads) return Threads::run_under(argc, argv, [&] { return given(0); }, on_rank);
    return mtf::run_under<mtf::kokkos_backend<>>(argc, argv, given, on_rank);
  };
  return of;
}

}  // namespace mtf::tools
