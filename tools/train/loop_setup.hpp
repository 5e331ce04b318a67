#pragma once
// The options of the training loop, which no task and no layout changes: compiled once for all executables.
#include <cstdint>

#include <mtf/plan/plan.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/run_report.hpp>

#include "options.hpp"

namespace mtf::tools {

/// What the loop does, as the command line says, but for evaluations; and what a report says of the program beside what
/// its task says: its sizes, its layout, what was planned. `flops`: of matrix products in a step, on a rank, on
/// average.
mtf::loop_options loop_options_from(options const& o, std::int64_t parameters, mtf::run_description about,
                                    mtf::plan_value const& plan, double flops);

}  // namespace mtf::tools
