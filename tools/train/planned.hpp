#pragma once
// What a training step sends and computes, known before it runs.
#include <string>

#include <mtf/plan/plan.hpp>

#include "../step_options.hpp"

namespace mtf::tools {

/// The plan of a task's program under the layouts that the options say. A plan depends on a layout's value alone, so it
/// is compiled once for all programs of a task and a precision, in a source that plan_step.hpp tells of.
template <class Task, class Precision>
mtf::plan_value plan_of_step(step_options const& o);

/// Makes `o` the layout under which a step takes the least seconds, bytes or memory, as `least` says, on a machine
/// (tools/choose.hpp): on its mesh, or on all of so many ranks. Compiled likewise.
template <class Task, class Precision>
void choose_layout(step_options& o, std::string const& least, std::string const& machine, int ranks, bool two_layouts);

}  // namespace mtf::tools
