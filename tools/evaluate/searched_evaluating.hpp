#pragma once
// Under which layouts a model is evaluated best.
#include <mtf/core/extents_value.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/searched_layouts.hpp>

namespace mtf::tools {

/// The best layouts of the losses of windows. Compiled once for a task and a precision, in a source that
/// search_evaluating.hpp tells of.
template <class Task, class Precision>
mtf::searched_layouts search_evaluating(mtf::machine_description const& machine, mtf::layouts_to_search const& among,
                                        mtf::extents_value const& extents);

}  // namespace mtf::tools
