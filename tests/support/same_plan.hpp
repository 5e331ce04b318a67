#pragma once
// Whether two plans are equal: event by event, with all figures.
#include <cstddef>
#include <string_view>

/// Whether two plans send the same, in the same order and loops.
template <class A, class B>
constexpr bool same_collectives(A const& a, B const& b) {
  if (a.collectives.size() != b.collectives.size() || a.loops.size() != b.loops.size() || a.mesh != b.mesh)
    return false;
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    auto x = a.collectives[i], y = b.collectives[i];
    if (!(*x.tensor == *y.tensor)) return false;
    x.tensor = y.tensor = nullptr;
    if (!(x == y)) return false;
  }
  for (std::size_t i = 0; i < a.loops.size(); ++i)
    if (a.loops[i].first != b.loops[i].first || a.loops[i].last != b.loops[i].last ||
        a.loops[i].count != b.loops[i].count)
      return false;
  return true;
}

template <class A, class B>
constexpr bool same_plan(A const& a, B const& b) {
  if (!same_collectives(a, b) || a.work.size() != b.work.size() || a.axis_names != b.axis_names ||
      a.reordered != b.reordered || a.peak_bytes != b.peak_bytes)
    return false;
  for (std::size_t i = 0; i < a.work.size(); ++i) {
    auto const &x = a.work[i], &y = b.work[i];
    if (std::string_view(x.operation) != y.operation || x.when != y.when || x.bound != y.bound || x.runs != y.runs ||
        x.flops != y.flops || x.bytes != y.bytes)
      return false;
  }
  return true;
}
