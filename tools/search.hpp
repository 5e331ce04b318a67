#pragma once
// The search for a program's best layouts, for the sources that compile it.
#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/search.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "program.hpp"

namespace mtf::tools {

/// What is searched: a step of a program with AdamW.
template <class Program>
mtf::searched_layouts searched(mtf::machine_description const& machine, mtf::layouts_to_search const& among,
                               mtf::extents_value const& extents) {
  return Program::inputs::pass_to([&](auto... in) {
    return mtf::search_layouts<typename Program::state_split, mtf::updated_by<mtf::adamw>>(
        planned_loss<Program>{}, machine, among, extents, Program::planned_parameters, in...);
  });
}

}  // namespace mtf::tools
