#pragma once
// A model of Hugging Face's, on the ranks of a layout that the command line says: for programs that
// have several models, and take the one which it is.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <mtf/autodiff/as_computed.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/mtf.hpp>

#include "model_choice.hpp"
#include "model_source.hpp"
#include "program.hpp"
#include "task.hpp"

namespace mtf::tools {

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

/// How a model of these sizes lies under the layout that texts say. What ranks do not divide, such as an odd
/// vocabulary, is padded. The batch is one row for each of its ranks, the sequence one token: programs give others as
/// they need.
template <class Task>
mtf::sized_layouts<std::array<mtf::layout_value, 1>> laid_out(mesh_and_layout const& under,
                                                              mtf::extents_value extents) {
  auto const layout = layouts_for<typename Task::dimensions>::from(mtf::mesh_from(under.mesh), under.layout);
  extents.give({{"batch", ranks_of(layout, Task::batch::id)}, {"sequence", 1}});
  extents = Task::extents_from(extents);
  pad_to_ranks(static_cast<typename Task::dimensions const*>(nullptr), layout, extents);
  return {{layout}, extents};
}

/// Those of a pass over `o`'s rows and positions, of each row so many tokens at once: what a layout is searched for.
template <class Task>
mtf::extents_value extents_of_pass(model_choice const& o, std::int64_t sequence) {
  auto extents = o.extents;
  extents.give({{"batch", o.rows}, {"sequence", sequence}});
  extents = Task::extents_from(extents);
  extents.give({{"memory", o.positions}});
  return extents;
}

/// The numbers that are no sizes, as the model's config.json has them; of a task without such, nothing.
template <class Task>
typename settings_of_task<Task>::type settings_of_source([[maybe_unused]] model_source const& model) {
  if constexpr (has_settings<Task>)
    return settings_in<Task>(model.config());
  else
    return {};
}

/// f(settings), or f() of a task without such.
template <class Task>
auto with_settings([[maybe_unused]] typename settings_of_task<Task>::type const& settings, auto const& f) {
  if constexpr (has_settings<Task>)
    return f(settings);
  else
    return f();
}

/// The model's weights, as they are computed with.
template <class Task, class Precision, class Backend>
auto parameters_of_source(Backend& machine, model_source const& model) {
  using parameters =
      typename Task::template parameters<mtf::place<Precision, mtf::any_layout<>, Backend>::template tensor>;
  auto const loaded = mtf::load<parameters>(
      machine, model.path(), {.names = Task::names_in_files(machine.layouts().extents()), .arrays = model.arrays()});
  return mtf::as_computed_t<parameters>(mtf::as_computed(loaded));
}

}  // namespace mtf::tools
