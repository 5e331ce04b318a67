#pragma once
// The search for the best layout of evaluations, for the source of a task that compiles it (mtf_add_tool):
//   template mtf::searched_layouts mtf::tools::search_evaluating<my_task, float>(mtf::machine_description const&,
//       mtf::layouts_to_search const&, mtf::extents_value const&);
#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "../pass_search.hpp"
#include "searched_evaluating.hpp"

namespace mtf::tools {

/// The losses of windows, as evaluate_on has them.
template <class Task>
struct planned_evaluating {
  constexpr auto operator()(auto const& ids, auto const& labels, auto const& p) const {
    return gathered_on_all(mtf::cast<float>(mtf::cross_entropy<typename Task::vocab>(Task::logits(p, ids), labels)));
  }
};

template <class Task, class Precision>
mtf::searched_layouts search_evaluating(mtf::machine_description const& machine, mtf::layouts_to_search const& among,
                                        mtf::extents_value const& extents) {
  using tokens = token_input<Task>;
  return searched_pass<Task, Precision>(planned_evaluating<Task>{}, machine, among, extents, tokens{}, tokens{});
}

}  // namespace mtf::tools
