#include "plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mtf::tools {
namespace {

/// The value at a step, between points on a line.
double at(std::vector<std::pair<int, double>> const& points, double step) {
  for (std::size_t i = 1; i < points.size(); ++i)
    if (step <= points[i].first) {
      auto const &a = points[i - 1], &b = points[i];
      return a.second + (b.second - a.second) * (step - a.first) / std::max(1, b.first - a.first);
    }
  return points.back().second;
}

}  // namespace

std::string plot_of(std::vector<std::pair<int, double>> const& points, std::optional<double> reference) {
  if (points.size() < 2) return {};
  constexpr int width = 60, height = 12;
  double low = reference.value_or(points.front().second), high = low;
  for (auto const& p : points) {
    low = std::min(low, p.second);
    high = std::max(high, p.second);
  }
  if (!(high > low)) high = low + 1;
  auto const row = [&](double y) {
    return static_cast<std::size_t>(std::lround((high - y) / (high - low) * (height - 1)));
  };
  std::vector<std::string> rows(height, std::string(width, ' '));
  for (std::size_t x = 0; reference && x < width; x += 2) rows[row(*reference)][x] = '-';
  int const first = points.front().first, last = points.back().first;
  for (std::size_t x = 0; x < width; ++x)
    rows[row(at(points, first + static_cast<double>(x) / (width - 1) * (last - first)))][x] = '*';
  std::string text;
  std::array<char, 100> part{};
  for (std::size_t y = 0; y < height; ++y) {
    std::snprintf(part.data(), part.size(), "%6.2f |", high - (high - low) * static_cast<double>(y) / (height - 1));
    text += part.data() + rows[y] + "\n";
  }
  std::snprintf(part.data(), part.size(), "        step %d%*d", first, width - 6, last);
  return text + "       +" + std::string(width, '-') + "\n" + part.data();
}

}  // namespace mtf::tools
