#pragma once
// The options of the training loop, which no layout changes: compiled once for all executables.
#include <cstdint>
#include <string>

#include <mtf/plan/plan_under.hpp>
#include <mtf/train/loop_options.hpp>

#include "corpus.hpp"
#include "options.hpp"

namespace transformer {

/// As std::snprintf, of up to 200 characters.
std::string text_of(char const* format, ...) __attribute__((format(printf, 1, 2)));

/// What the loop does, as the command line says, but for evaluations; and what a report says of the program: its sizes,
/// its layout, what was planned.
mtf::loop_options loop_options_from(options const& o, executable const& built, std::int64_t parameters,
                                    corpus const& data, mtf::plan_value const& plan);

}  // namespace transformer
