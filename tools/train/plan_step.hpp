#pragma once
// The definition of plan_of_step (planned.hpp), for the one source of a task that compiles it:
//   template mtf::plan_value mtf::tools::plan_of_step<my_task, float>(mtf::tools::step_options const&);
#include <cstddef>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/record.hpp>

#include "../program.hpp"
#include "../step_options.hpp"
#include "planned.hpp"

namespace mtf::tools {

template <class Task, class Precision>
mtf::plan_value plan_of_step(step_options const& o) {
  using program = under_any_layout<Task, Precision>;
  auto const of = [&](auto const& loss) {
    return with_optimizer<program>(o, [&]<template <class...> class Optimizer>() {
      return program::inputs::pass_to([&](auto... in) {
        return mtf::record_under<typename program::state_split, mtf::updated_by<Optimizer>>(
                   when_completed(o), o.state_is_split, loss, layouts_of<program>(o), program::planned_parameters,
                   in...)
            .plan;
      });
    });
  };
  training_loss<program> const loss{o.recompute};
  auto const not_asked = [](std::size_t) { return 1.0; };
  return o.accumulate == 1 ? of(loss) : of(mtf::accumulated(loss, static_cast<std::size_t>(o.accumulate), not_asked));
}

}  // namespace mtf::tools
