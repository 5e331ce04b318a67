#pragma once
// What the training loop is told that no layout changes: compiled once for all executables.
#include <cstdint>
#include <string>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/train/loop_options.hpp>

#include "corpus.hpp"
#include "options.hpp"

namespace transformer {

/// What a step was planned to do on a rank.
struct planned_step {
  std::uint64_t bytes_sent = 0, collectives = 0, peak_bytes = 0;
  double flops = 0;
  std::string text;  // all of it, for people
  std::vector<mtf::collectives::event> sends;
};

/// As std::snprintf, of up to 200 characters.
std::string text_of(char const* format, ...) __attribute__((format(printf, 1, 2)));

/// What the loop does, as the command line says, but for evaluations; and what a report says of the program: its sizes,
/// its layout, what was planned.
mtf::loop_options loop_options_from(options const& o, executable const& built, std::int64_t parameters,
                                    corpus const& data, planned_step const& plan);

}  // namespace transformer
