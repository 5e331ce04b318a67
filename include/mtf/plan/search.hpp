#pragma once
// The best layouts of a program for a machine.
#include <cstddef>
#include <type_traits>
#include <vector>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/detail/plan/layout_search.hpp>
#include <mtf/detail/plan/layout_space.hpp>
#include <mtf/detail/plan/outline.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/plan/searched_layouts.hpp>
#include <mtf/tensor/place.hpp>

namespace mtf {

/// The layouts under which a step of a program takes the least on a machine. f and what stands for its arguments are as
/// for plan_under.
/// All layouts in which the axes that split one dimension stand in the mesh's order are looked at, on all meshes of so
/// many ranks, and the best are the best of all. `Split`, a state_split_over, is tried beside none; gradients are
/// completed later and overlapped. A user_error: what `among` names and the program lacks, a speed that the machine's
/// description lacks.
template <class Split = state_split_over<>, class Update = without_update, class F, class... In>
constexpr searched_layouts search_layouts(F const& f, machine_description const& machine,
                                          layouts_to_search const& among, In... in) {
  auto const best = detail::at_best(machine);
  // One rank, under layouts that differ in nothing but a rule for what no tensor has.
  layout_value whole{.mesh = detail::named_mesh({1, {1, 1, 1, 1, 1, 1}})};
  trace b(whole.mesh.shape);
  for (std::size_t i = 0; i < among.layouts && i < max_layouts; ++i) {
    b.layouts().add(whole);
    whole.split("(none)", {});
  }
  detail::program_outline outline(best, b.layouts());
  b.listen(&outline);
  detail::planned_step<completed_gradients::later, state_split_over<>, Update, In...>{
      b, f, detail::stand_in<place<float, any_layout<>, trace>, In>(b).value...};
  auto const price = [&](std::vector<layout_value> const& layouts, completed_gradients when, bool split,
                         auto const& read) {
    detail::as_types<Split>(when, split, [&]<completed_gradients When, class S>() {
      read(plan_under<When, S, Update>(f, layouts, in...));
    });
  };
  return detail::layout_search(outline, machine, best, among, !std::is_same_v<Split, state_split_over<>>).run(price);
}

}  // namespace mtf
