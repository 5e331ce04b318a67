#pragma once
// The best layouts of a program for a machine.
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/detail/plan/layout_search.hpp>
#include <mtf/detail/plan/layout_space.hpp>
#include <mtf/detail/plan/outline.hpp>
#include <mtf/detail/plan/priced_plan.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/plan/searched_layouts.hpp>
#include <mtf/tensor/place.hpp>

namespace mtf {

namespace detail {

/// The outline of a program with so many layouts, for a machine that works as this one at its best.
template <class Update, class... In, class F>
constexpr program_outline outline_of(F const& f, machine_description const& best, std::size_t layouts,
                                     extents_value const& extents = {}) {
  // One rank, under layouts that differ in nothing but a rule for what no tensor has.
  layout_value const whole{.mesh = named_mesh({1, {1, 1, 1, 1, 1, 1}})};
  return on_trace(whole.mesh.shape, is_a_step<In...> ? alike_layers::all : alike_layers::some, [&](trace& b) {
    auto layout = whole;
    b.layouts().give(extents);
    for (std::size_t i = 0; i < layouts && i < max_layouts; ++i) {
      b.layouts().add(layout);
      layout.split("(none)", {});
    }
    program_outline outline;
    outline_recorder recorder(outline, best, b.layouts());
    b.listen(&recorder);
    planned_step<completed_gradients::later, state_split_over<>, Update, In...>{
        b, f, stand_in<place<float, any_layout<>, trace>, In>(b).value...};
    b.listen(nullptr);
    return outline;
  });
}

}  // namespace detail

/// The layouts under which a step of a program takes the least on a machine. f and what stands for its arguments are as
/// for plan_under. All layouts in which the axes that split one dimension stand in the mesh's order are looked at, on
/// all meshes of so many ranks, and the best are the best of all. `Split`, a state_split_over, is tried beside none;
/// gradients are reduced later and overlapped. `extents`: of dimensions whose types have none. A user_error: what
/// `among` names and the program lacks, a speed that the machine's description lacks.
template <class Split = state_split_over<>, class Update = without_update, class F, class... In>
constexpr searched_layouts search_layouts(F const& f, machine_description const& machine,
                                          layouts_to_search const& among, extents_value const& extents, In... in) {
  auto const best = detail::at_best(machine);
  auto const outline = detail::outline_of<Update, In...>(f, best, among.layouts, extents);
  std::vector<std::string> sentences;
  auto const price = [&](std::vector<layout_value> const& layouts, detail::asked_plan const& asked) {
    detail::priced_plan p;
    try {
      if (asked.on_one_axis)
        p = detail::priced(plan_under<completed_gradients::later, state_split_over<>, detail::backward_alone>(
                               f, layouts, extents, in...),
                           machine);
      else
        detail::as_types<Split>(asked.when, asked.splits_state, [&]<completed_gradients When, class S>() {
          p = detail::priced(plan_under<When, S, Update>(f, layouts, extents, in...), machine);
        });
    } catch (user_error const& e) {
      std::string const text = e.what();
      auto const sentence = text.substr(0, text.find("; here: "));
      p.refused = true;
      while (p.why < sentences.size() && sentences[p.why] != sentence) ++p.why;
      if (p.why == sentences.size()) sentences.push_back(sentence);
    }
    return p;
  };
  detail::layout_search search(outline, machine, best, among, !std::is_same_v<Split, state_split_over<>>);
  auto result = search.run(price);
  for (std::size_t i = 0; i < search.refused().size(); ++i)
    result.refused.emplace_back(sentences[i], search.refused()[i]);
  return result;
}
template <class Split = state_split_over<>, class Update = without_update, class F, class... In>
constexpr searched_layouts search_layouts(F const& f, machine_description const& machine,
                                          layouts_to_search const& among, In... in) {
  return search_layouts<Split, Update>(f, machine, among, extents_value{}, in...);
}

}  // namespace mtf
