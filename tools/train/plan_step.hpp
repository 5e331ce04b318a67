#pragma once
// The definitions of what planned.hpp declares, for the one source of a task that compiles them:
//   template mtf::plan_value mtf::tools::plan_of_step<my_task, float>(mtf::tools::step_options const&);
// and, for programs that take any layout, in one of their own:
//   template void mtf::tools::choose_layout<my_task, float>(mtf::tools::step_options&, std::string const&,
//       std::string const&, int, bool);
#include <cstddef>
#include <string>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/record.hpp>

#include "../choose.hpp"
#include "../program.hpp"
#include "../search.hpp"
#include "../step_options.hpp"
#include "../task.hpp"
#include "planned.hpp"

namespace mtf::tools {

template <class Task, class Precision>
mtf::plan_value plan_of_step(step_options const& o) {
  using program = under_any_layout<Task, Precision>;
  auto const of = [&](auto const& loss) {
    return with_optimizer<program>(o, [&]<template <class...> class Optimizer>() {
      return program::inputs::pass_to([&](auto... in) {
        auto const layouts = layouts_of<program>(o);
        return mtf::record_under<typename program::state_split, mtf::updated_by<Optimizer>>(
                   when_completed(o), o.state_is_split, loss, layouts, o.extents, program::planned_parameters, in...)
            .plan;
      });
    });
  };
  training_loss<program> const loss{o.recompute};
  auto const not_asked = [](std::size_t) { return 1.0; };
  return o.accumulate == 1 ? of(loss) : of(mtf::accumulated(loss, static_cast<std::size_t>(o.accumulate), not_asked));
}

template <class Task, class Precision>
void choose_layout(step_options& o, std::string const& least, std::string const& machine, int ranks, bool two_layouts) {
  auto const on = machine_named(machine);
  auto const among = search_among(o, least, ranks, has_upper_layout<Task> ? 2 : 1, two_layouts);
  choose_by(o, two_layouts, searched<under_any_layout<Task, Precision>>(on, among, o.extents),
            static_cast<double>(on.memory));
}

}  // namespace mtf::tools
