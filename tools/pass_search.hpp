#pragma once
// The search for the best layout of a pass without gradients, for the sources that compile it.
#include <cstdint>
#include <type_traits>

#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/search.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "program.hpp"

namespace mtf::tools {

/// Ids of tokens, [batch, sequence].
template <class Task>
using token_input = mtf::input<std::int32_t, typename Task::batch, typename Task::sequence>;

/// All elements of a tensor on every rank, as mtf::to_global has them: what that sends.
constexpr auto gathered_on_all(auto const& x) {
  using X = std::remove_cvref_t<decltype(x)>;
  return mtf::relayout<mtf::layout<typename X::mesh_type>>(mtf::complete(x));
}

/// Of a call of f(inputs..., p), where p has a task's parameters as they are computed with. (What is given first is no
/// parameter: a call is planned, not a training step.)
template <class Task, class Precision, class F, class... In>
mtf::searched_layouts searched_pass(F const& f, mtf::machine_description const& machine,
                                    mtf::layouts_to_search const& among, mtf::extents_value const& extents, In... in) {
  using computed = typename computed_in<Precision>::type;
  return mtf::search_layouts<>(f, machine, among, extents, in...,
                               mtf::parameters<Task::template parameters, computed>{});
}

}  // namespace mtf::tools
