#pragma once
// The program `generate`, for tasks of language models that go on from a cache of keys and values: int main(int argc,
// char** argv) { return mtf::tools::generate_by(argc, argv, {mtf::tools::generator_of<my_task>()}); }. mtf_add_tool of
// CMake writes it.
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/autodiff/as_computed.hpp>
#include <mtf/checkpoint/config_file.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/core/error.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>

#include "../program.hpp"
#include "../sizes.hpp"
#include "../task.hpp"
#include "generator.hpp"
#include "options.hpp"
#include "writer.hpp"

namespace mtf::tools {

/// Has a task what generation needs: files of another tool's, and, for tensors of `ids` [batch, sequence] and `places`
/// [sequence],
///   template <template <class...> class Tensor> struct cache { ...; MTF_FIELDS(...); };
///   static auto continued(p, cache& c, ids, places, std::int64_t start);   // logits [batch, newest, vocab]
template <class Task>
concept continues = has_files<Task> && requires {
  typename Task::template cache<mtf::place<float, mtf::any_layout<>>::template tensor>;
  typename Task::newest;
};

/// How many ranks split a dimension.
inline std::int64_t ranks_of(mtf::layout_value const& layout, std::uint64_t dim) {
  auto const axes = layout.split_of(dim);
  std::int64_t ranks = 1;
  for (int i = 0; i < axes.size; ++i) ranks *= layout.mesh.shape.extent[static_cast<std::size_t>(axes[i])];
  return ranks;
}

/// Pads the dimensions that a layout splits to what its ranks divide.
template <template <class...> class List, class... Dims>
void pad_to_ranks(List<Dims...> const*, mtf::layout_value const& layout, mtf::extents_value& extents) {
  auto const pad = [&](std::string_view name, std::uint64_t dim) {
    auto const n = extents.find(dim);
    if (auto const ranks = ranks_of(layout, dim); n && ranks > 1) extents.give(name, *n, ranks);
  };
  (pad(Dims::name, Dims::id), ...);
}

/// What a rank does, once it is there.
template <class Task, class Precision, class Backend>
int generate_on(Backend& machine, mtf::layout_value const& layout, generate_options const& o) {
  using layout_type = mtf::any_layout<>;
  using batch = typename Task::batch;
  using sequence = typename Task::sequence;
  using parameters = typename Task::template parameters<mtf::place<Precision, layout_type, Backend>::template tensor>;
  using computed = typename computed_in<Precision>::type;
  using cache = typename Task::template cache<mtf::place<computed, layout_type, Backend>::template tensor>;
  using numbers = mtf::place<std::int32_t, layout_type, Backend>;
  using tokens = typename numbers::template tensor<batch, sequence>;
  using places = typename numbers::template tensor<sequence>;

  [[maybe_unused]] auto const settings = [&] {
    if constexpr (has_settings<Task>)
      return Task::settings_from_config(mtf::config_from(o.model + "/config.json"));
    else
      return 0;
  }();
  auto const p = [&] {
    auto const loaded =
        mtf::load<parameters>(machine, o.model, {.names = Task::names_in_files(machine.layouts().extents())});
    return mtf::as_computed_t<parameters>(mtf::as_computed(loaded));
  }();
  cache kept;
  auto const extent = [&](char const* name) { return machine.layouts().extents().find(name).value(); };
  write_on(
      o,
      {.vocabulary = extent("vocab"),
       .positions = extent("positions"),
       .rows_of = ranks_of(layout, batch::id),
       .speaks = machine.ranks().rank() == 0,
       .begin =
           [&](std::int64_t rows, std::int64_t most) {
             auto const ranks = ranks_of(layout, Task::memory::id);
             machine.layouts().give({{"batch", rows}, {"memory", (most + ranks - 1) / ranks * ranks}});
             kept = mtf::sized<cache>(machine);
             mtf::for_each_tensor(
                 [&](auto const&, auto& x) { x = mtf::zeros<std::remove_reference_t<decltype(x)>>(machine); }, kept);
           },
       .continued =
           [&](std::vector<std::int32_t> const& ids, std::int64_t start) {
             auto const n = static_cast<std::int64_t>(ids.size()) / extent("batch");
             std::vector<std::int32_t> where(static_cast<std::size_t>(n));
             std::iota(where.begin(), where.end(), static_cast<std::int32_t>(start));
             mtf::extents_value const length{{"sequence", n}};
             auto const tokens_in = mtf::from_global<tokens>(machine, ids, length);
             auto const places_in = mtf::from_global<places>(machine, where, length);
             if constexpr (has_settings<Task>)
               return mtf::to_global(mtf::cast<float>(Task::continued(p, kept, tokens_in, places_in, start, settings)));
             else
               return mtf::to_global(mtf::cast<float>(Task::continued(p, kept, tokens_in, places_in, start)));
           }});
  return 0;
}

/// A task's. Threads: also ranks as threads of one process, as train/ranks_as_threads.hpp starts them.
template <class Task, class Precision = float, class Threads = ranks_as_processes>
generator generator_of() {
  static_assert(continues<Task>,
                "mtf: generate needs a task that goes on from a cache: names_in_files, config_from_sizes, cache, "
                "newest, continued (tools/generate/generate.hpp)");
  generator of{.sizes = sizes_of<Task>(), .has_ranks_as_threads = Threads::are_threads};
  of.run = [](int& argc, char**& argv, generate_line const& line) {
    using from = layouts_for<typename Task::dimensions>;
    auto const& o = line.chosen;
    mtf::layout_value layout;
    auto const given = [&] {
      if (line.wrong) throw mtf::user_error(*line.wrong);
      layout = from::from(mtf::mesh_from(o.mesh), o.layout);
      auto extents = o.extents;
      extents.give({{"batch", ranks_of(layout, Task::batch::id)}, {"sequence", 1}});
      extents = Task::extents_from(extents);
      // What ranks do not divide, such as an odd vocabulary, is padded.
      pad_to_ranks(static_cast<typename Task::dimensions const*>(nullptr), layout, extents);
      return mtf::sized_layouts{std::array{layout}, extents};
    };
    auto const on_rank = [&](auto& machine) { return generate_on<Task, Precision>(machine, layout, o); };
    if constexpr (Threads::are_threads)
      if (o.ranks_as_threads) return Threads::run_under(argc, argv, given, on_rank);
    return mtf::run_under<mtf::kokkos_backend<>>(argc, argv, given, on_rank);
  };
  return of;
}

}  // namespace mtf::tools
