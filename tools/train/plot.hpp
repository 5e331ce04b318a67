#pragma once
// A picture of characters, for a terminal.
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mtf::tools {

/// Values against steps, in rows of characters; `reference` is drawn as a dashed line, if there is one. Empty for fewer
/// than two points.
std::string plot_of(std::vector<std::pair<int, double>> const& points, std::optional<double> reference);

}  // namespace mtf::tools
