#pragma once
// A picture of characters, for a terminal.
#include <string>
#include <utility>
#include <vector>

namespace transformer {

/// Values against steps, in rows of characters; `reference` is drawn as a dashed line. Empty for fewer than two points.
std::string plot_of(std::vector<std::pair<int, double>> const& points, double reference);

}  // namespace transformer
