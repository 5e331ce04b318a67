#pragma once
// The program `inspect`, for language models that go on from a cache: int main(int argc, char** argv) { return
// mtf::tools::inspect_by(argc, argv, {mtf::tools::inspector_of<my_model>()}); }. mtf_add_tool of CMake writes it.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/backend/trace.hpp>
#include <mtf/mtf.hpp>

#include "../model_under_layout.hpp"
#include "../program.hpp"
#include "../sizes.hpp"
#include "inspector.hpp"

namespace mtf::tools {

/// The tensors of a structure as they would lie on the trace's mesh, in its first layout.
template <class Structure>
std::vector<laid_tensor> laid_tensors(mtf::trace& on) {
  std::vector<laid_tensor> all;
  auto p = mtf::sized<Structure>(on);
  mtf::for_each_tensor(
      [&]<class X>(std::string_view name, X& x) {
        x = mtf::zeros<X>(on);  // a trace has no memory for it
        all.push_back({std::string(name), x.where().spec, static_cast<int>(sizeof(typename X::element_type))});
      },
      p);
  return all;
}

/// Of the task's parameters and cache, as load and generate have them.
template <class Task, class Precision>
laid_model laid_model_of(layout_asked const& asked) {
  using parameters =
      typename Task::template parameters<mtf::place<Precision, mtf::any_layout<>, mtf::trace>::template tensor>;
  using computed = typename computed_in<Precision>::type;
  using cache = typename Task::template cache<mtf::place<computed, mtf::any_layout<>, mtf::trace>::template tensor>;

  auto const laid = laid_out<Task>({asked.mesh, asked.layout}, asked.extents);
  auto const& layout = laid.layouts.front();
  auto const multiple = [&](std::int64_t n, std::uint64_t dim) {
    auto const ranks = ranks_of(layout, dim);
    return (n + ranks - 1) / ranks * ranks;
  };
  laid_model model{.mesh = layout.mesh.shape, .extents = laid.extents};
  auto const positions = asked.positions > 0 ? asked.positions : laid.extents.find("positions").value();
  model.rows = multiple(asked.rows, Task::batch::id);
  model.positions = multiple(positions, Task::memory::id);
  model.names = Task::names_in_files(laid.extents);
  mtf::trace on(layout.mesh.shape);
  on.layouts().give(laid.extents);
  on.layouts().give({{"batch", model.rows}, {"memory", model.positions}});
  on.layouts().add(layout);
  model.parameters = laid_tensors<parameters>(on);
  model.cache = laid_tensors<cache>(on);
  return model;
}

/// A task's.
template <class Task, class Precision = float>
inspector inspector_of() {
  static_assert(
      has_files<Task> &&
          requires { typename Task::template cache<mtf::place<float, mtf::any_layout<>>::template tensor>; },
      "mtf: inspect needs a model with files of another tool's and a cache: names_in_files, config_from_sizes, cache");
  return {.sizes = sizes_of<Task>(), .laid = &laid_model_of<Task, Precision>};
}

}  // namespace mtf::tools
