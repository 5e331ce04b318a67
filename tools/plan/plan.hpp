#pragma once
// The program `plan`, for any task: int main(int argc, char** argv) { return mtf::tools::plan<my_task>(argc, argv); }.
// It needs the core alone: no ranks, no kernels. mtf_add_tool of CMake writes it.
#include <cstddef>
#include <string>

#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/record.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "../program.hpp"
#include "../search.hpp"
#include "../sizes.hpp"
#include "../step_options.hpp"
#include "../task.hpp"
#include "planner.hpp"

namespace mtf::tools {

/// A task's.
template <class Task, class Precision = float>
planner planner_of() {
  planner of;
  constexpr auto lacks = missing_for_plan<Task, mtf::place<Precision, mtf::any_layout<>>, false>();
  if constexpr (checked_task<Task, lacks>::value) {
    using program = under_any_layout<Task, Precision>;
    using split = typename program::state_split;
    using update = mtf::updated_by<mtf::adamw>;
    of.sizes = sizes_of<Task, typename program::task>();
    of.layouts = has_upper_layout<Task> ? 2 : 1;
    of.record = [](step_options const& o) {
      auto record = program::inputs::pass_to([&](auto... in) {
        return mtf::record_under<split, update>(when_completed(o), o.state_is_split, planned_loss<program>{},
                                                layouts_of<program>(o), o.extents, program::planned_parameters, in...);
      });
      if constexpr (requires { Task::input_names; })
        for (std::size_t i = 0; i < Task::input_names.size(); ++i)
          record.given[record.given.size() - Task::input_names.size() + i].name =
              std::string("input: ") + Task::input_names[i];
      return record;
    };
    of.search = [](mtf::machine_description const& machine, mtf::layouts_to_search const& among,
                   mtf::extents_value const& extents) { return searched<program>(machine, among, extents); };
  }
  return of;
}

/// The whole program, for one task.
template <class Task, class Precision = float>
int plan(int argc, char** argv, std::string const& train = {}) {
  return plan_by(argc, argv, {planner_of<Task, Precision>()}, train);
}

}  // namespace mtf::tools
