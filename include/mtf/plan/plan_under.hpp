#pragma once
// Plans under layouts that are values: as many as one likes of a program that is compiled once.
#include <cstddef>
#include <span>
#include <string>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/growing_array.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/tensor/place.hpp>

namespace mtf {

namespace detail {

/// The tensors of entries that shall outlive the trace: `own` gets each once. Pointers only when all are there.
template <class Own, class Tensors>
constexpr void own_tensors(Own& own, Tensors const& tensors) {
  backend::growing_array<std::size_t> at;
  tensors([&](sharding const*& t) {
    std::size_t i = 0;
    while (i < own.size() && t != nullptr && !(own[i] == *t)) ++i;
    if (t != nullptr && i == own.size()) own.push_back(*t);
    at.push_back(i);
  });
  std::size_t next = 0;
  tensors([&](sharding const*& t) {
    if (auto const i = at[next++]; t != nullptr) t = &own[i];
  });
}

/// What was recorded, as a plan that outlives the trace. (A template of both, which programs without such plans need
/// not compile.)
template <class F, class Trace>
constexpr plan_value plan_from(Trace const& b, mesh_value const& mesh) {
  plan_value p;
  p.mesh = mesh.shape;
  p.axis_names = mesh.names;
  p.collectives.assign(b.planned().begin(), b.planned().end());
  for (auto const& l : b.loops())
    if (l.count > 1) p.loops.push_back(l);
  p.work.assign(b.work().begin(), b.work().end());
  p.reordered = b.reordered();
  p.peak_bytes = b.peak_bytes();
  own_tensors(p.tensors, [&](auto const& f) {
    for (auto& c : p.collectives) f(c.tensor);
  });
  return p;
}

/// Traces f under layouts that are values. What the compiler would refuse of them is a user_error.
template <completed_gradients When, class Split, class Update, class F, class... In>
constexpr void trace_under(trace& b, F const& f, std::span<layout_value const> layouts, extents_value const& extents) {
  b.layouts().give(extents);
  for (auto const& layout : layouts) b.layouts().add(layout);
  planned_step<When, Split, Update, In...>{b, f, stand_in<place<float, any_layout<>, trace>, In>(b).value...};
  for (auto const& layout : layouts)
    for (int i = 0; i < layout.size; ++i)
      if (auto const& rule = layout.rules[static_cast<std::size_t>(i)]; !b.has_seen(rule.dim))
        throw user_error(refusal(MTF_SAYS_UNUSED_RULE, std::string(rule.name.view())));
}

/// f<when gradients are reduced, the optimizer's state_split_over>(): by what is known when the program runs.
template <class Split, class F>
constexpr void as_types(completed_gradients when, bool state_is_split, F const& f) {
  using enum completed_gradients;
  if (state_is_split && when == overlapped)
    f.template operator()<overlapped, Split>();
  else if (state_is_split)
    f.template operator()<later, Split>();
  else if (when == overlapped)
    f.template operator()<overlapped, state_split_over<>>();
  else
    f.template operator()<later, state_split_over<>>();
}

}  // namespace detail

/// The plan of f under layouts that are values, for any_layout<0>, any_layout<1> and so on: as `plan_of` for a type,
/// but f may capture, and the plan may be made when the program runs. What the compiler would refuse of a layout is a
/// user_error in its words; also a rule for a dimension that no tensor of the program has. `extents`: of dimensions
/// that have none in their types.
template <completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr plan_value plan_under(F const& f, std::span<layout_value const> layouts, extents_value const& extents,
                                In...) {
  using verdict = decltype(detail::program_verdict<any_layout<>, F, In...>());
  using checked [[maybe_unused]] = checked_t<verdict>;
  if constexpr (verdict::value) {
    auto const& mesh = layouts.front().mesh;
    return on_trace(mesh.shape, detail::layers_alike<Update, In...>(), [&](trace& b) {
      detail::trace_under<When, Split, Update, F, In...>(b, f, layouts, extents);
      return detail::plan_from<F>(b, mesh);
    });
  } else {
    return {};
  }
}
template <completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr plan_value plan_under(F const& f, std::span<layout_value const> layouts, In... in) {
  return plan_under<When, Split, Update>(f, layouts, extents_value{}, in...);
}
/// The same under one layout.
template <completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr plan_value plan_under(F const& f, layout_value const& layout, In... in) {
  return plan_under<When, Split, Update>(f, std::span<layout_value const>(&layout, 1), in...);
}
template <completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr plan_value plan_under(F const& f, layout_value const& layout, extents_value const& extents, In... in) {
  return plan_under<When, Split, Update>(f, std::span<layout_value const>(&layout, 1), extents, in...);
}

}  // namespace mtf
