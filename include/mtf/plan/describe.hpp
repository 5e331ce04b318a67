#pragma once
// Plans for people.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/describe.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/plan/plan.hpp>

namespace mtf {

/// A table of the plan for people: a line a collective, loops marked, totals at the end.
template <class C, class L, class W>
std::string describe(basic_plan<C, L, W> const& p) {
  auto const bytes = [](std::uint64_t n) {
    std::array<char, 32> text{};
    if (n < 10000)
      std::snprintf(text.data(), text.size(), "%llu B", static_cast<unsigned long long>(n));
    else if (n < 10000 << 10)
      std::snprintf(text.data(), text.size(), "%.1f KiB", static_cast<double>(n) / 1024);
    else
      std::snprintf(text.data(), text.size(), "%.1f MiB", static_cast<double>(n) / (1024 * 1024));
    return std::string(text.data());
  };
  std::array<std::string_view, max_axes> axis_names{};
  for (std::size_t a = 0; a < axis_names.size(); ++a) axis_names[a] = p.axis_names[a].view();
  auto const axes = [&](axis_mask m) {
    std::string text;
    for (int a = 0; a < p.mesh.ndim; ++a)
      if ((m >> static_cast<unsigned>(a)) & 1U)
        text += (text.empty() ? "" : "+") + std::string(axis_names[static_cast<std::size_t>(a)]);
    return text;
  };
  std::string text;
  auto const line = [&](std::string const& times, char const* when, char const* kind, std::string const& over,
                        std::string const& sent, std::string const& what) {
    std::array<char, 300> row{};
    std::snprintf(row.data(), row.size(), "%6s  %-8s  %-14s  %-10s  %10s  %s\n", times.c_str(), when, kind,
                  over.c_str(), sent.c_str(), what.c_str());
    text += row.data();
  };
  line("times", "pass", "collective", "over", "sent each", "of");
  for (std::size_t i = 0; i < p.collectives.size(); ++i) {
    auto const& c = p.collectives[i];
    std::string what = c.operation;
    char const* before = " ";
    for (parameter_path const& path : std::array{c.parameter, c.other}) {
      std::string names;
      for (auto const* name : path)
        if (name != nullptr) names = name + (names.empty() ? "" : "." + names);
      if (!names.empty()) what += std::exchange(before, ", ") + names;
    }
    if (c.tensor != nullptr) what += " " + describe(*c.tensor, axis_names);
    line(std::to_string(p.times(i)), name_of(c.when), name_of(c.kind), axes(c.axes),
         bytes(bytes_sent(c.kind, c.payload, p.mesh.size(c.axes))), what);
  }
  text += "sent by each rank in one step: " + bytes(p.bytes_sent_per_rank()) + " in " + std::to_string(p.count()) +
          " collectives\n";
  for (auto const kind : collective_kinds)
    for (axis_mask m = 1; m < 1U << static_cast<unsigned>(p.mesh.ndim); ++m) {
      auto const same = [&](planned_collective const& c) { return c.kind == kind && c.axes == m; };
      if (auto const n = p.count(same); n > 0)
        text += "  " + std::string(name_of(kind)) + " over " + axes(m) + ": " + bytes(p.bytes_sent_per_rank(same)) +
                " in " + std::to_string(n) + "\n";
    }
  std::array<char, 120> computed{};
  std::snprintf(computed.data(), computed.size(),
                "computed by each rank: %.4g GFLOP in products, %s moved by kernels\n", p.flops() / 1e9,
                bytes(static_cast<std::uint64_t>(p.bytes_moved())).c_str());
  text += computed.data();
  text += "tensors that contractions copy into another order: " + std::to_string(p.reordered) + "\n";
  text += "memory of tensors on a rank: " + bytes(p.peak_bytes) + "\n";
  return text;
}

}  // namespace mtf
