#include "planned.hpp"

#include <cstddef>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/plan/record.hpp>

#include "options.hpp"
#include "program.hpp"

namespace transformer {

mtf::plan_value plan_of(options const& o) {
  auto const of = [&](auto const& loss) {
    return with_optimizer(o, [&]<template <class...> class Optimizer>() {
      return mtf::record_under<state_split, mtf::updated_by<Optimizer>>(when_completed(o), o.state_is_split, loss,
                                                                        layouts_of(o), planned_parameters,
                                                                        planned_tokens, planned_tokens)
          .plan;
    });
  };
  training_loss const loss{o.recompute};
  auto const not_asked = [](std::size_t) { return 1.0; };
  return o.accumulate == 1 ? of(loss) : of(mtf::accumulated(loss, static_cast<std::size_t>(o.accumulate), not_asked));
}

}  // namespace transformer
