#pragma once
// What a training step sends and computes, known before it runs.
#include <mtf/plan/plan_under.hpp>

#include "options.hpp"

namespace transformer {

/// The plan of an executable's program under the layouts that the options say. Compiled once for executables of one
/// config and precision, whose layouts differ: a plan depends on a layout's value alone.
mtf::plan_value plan_of(options const& o);

}  // namespace transformer
