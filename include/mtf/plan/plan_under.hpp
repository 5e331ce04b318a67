#pragma once
// Plans under layouts that are values: as many as one likes of a program that is compiled once.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/tensor/place.hpp>

namespace mtf {

namespace detail {

/// What was recorded, as a plan that outlives the trace. (A template, which costs programs without such plans less.)
template <class Trace>
constexpr plan_value plan_from(Trace const& b, mesh_value const& mesh) {
  plan_value p;
  p.mesh = mesh.shape;
  p.axis_names = mesh.names;
  p.collectives = b.planned();
  for (auto const& l : b.loops())
    if (l.count > 1) p.loops.push_back(l);
  p.work = b.work();
  p.reordered = b.reordered();
  p.peak_bytes = b.peak_bytes();
  std::vector<std::size_t> at;  // of each collective's tensor; pointers only when all are there
  for (auto const& c : p.collectives) {
    std::size_t i = 0;
    while (i < p.tensors.size() && c.tensor != nullptr && !(p.tensors[i] == *c.tensor)) ++i;
    if (c.tensor != nullptr && i == p.tensors.size()) p.tensors.push_back(*c.tensor);
    at.push_back(i);
  }
  for (std::size_t i = 0; i < at.size(); ++i)
    if (p.collectives[i].tensor != nullptr) p.collectives[i].tensor = &p.tensors[at[i]];
  return p;
}

}  // namespace detail

/// The plan of f under layouts that are values, for any_layout<0>, any_layout<1> and so on: as `plan_of` for a type,
/// but f may capture, and the plan may be made when the program runs. What the compiler would refuse of a layout is a
/// user_error in its words; also a rule for a dimension that no tensor of the program has.
template <completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr plan_value plan_under(F const& f, std::span<layout_value const> layouts, In...) {
  using verdict = decltype(detail::program_verdict<any_layout<>, F, In...>());
  using checked [[maybe_unused]] = checked_t<verdict>;
  if constexpr (verdict::value) {
    trace b(layouts.front().mesh.shape);
    for (auto const& layout : layouts) b.layouts().add(layout);
    detail::planned_step<When, Split, Update, In...>{
        b, f, detail::stand_in<place<float, any_layout<>, trace>, In>(b).value...};
    for (auto const& layout : layouts)
      for (int i = 0; i < layout.size; ++i)
        if (auto const& rule = layout.rules[static_cast<std::size_t>(i)]; !b.has_seen(rule.dim))
          throw user_error(detail::refusal(MTF_SAYS_UNUSED_RULE, std::string(rule.name.view())));
    return detail::plan_from(b, layouts.front().mesh);
  } else {
    return {};
  }
}
/// The same under one layout.
template <completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr plan_value plan_under(F const& f, layout_value const& layout, In... in) {
  return plan_under<When, Split, Update>(f, std::span<layout_value const>(&layout, 1), in...);
}

}  // namespace mtf
