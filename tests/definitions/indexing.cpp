#include "indexing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace define {

namespace {

int start_in(tape& t, array const& x) {
  double start = t.value(x.numbers[0]);
  for (number const n : x.numbers) start = std::max(start, t.value(n));
  return static_cast<int>(start);
}

bool comes_before(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);
  return x > y || (x == y && std::signbit(y) && !std::signbit(x));
}
/// f(tape, all numbers along dim, the position of the i-th largest of them).
template <class F>
definition each_largest(int dim, int count, F f) {
  return [=](tape& t, operands const& x, array& y) {
    each(without(y.dims, {count}), y.extent, {}, [&](position const& p) {
      row const all = along(*x[0], {dim}, p);
      std::vector<std::size_t> order(all.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
        double const a = t.value(all[i]), b = t.value(all[j]);
        return comes_before(a, b) || (!comes_before(b, a) && i < j);
      });
      each({count}, y.extent, p, [&](position const& q) {
        std::size_t const i = at(q[at(count)]);
        if (i >= order.size()) return t.reject();
        if (i + 1 < order.size()) t.told_apart(all[order[i]], all[order[i + 1]]);
        y[q] = f(t, all, order[i]);
      });
    });
  };
}

}  // namespace

definition embedding(int vocabulary) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      position q = p;
      auto const id = static_cast<int>(t.value((*x[1])[p]));
      if (id >= y.extent[at(vocabulary)]) return t.reject();
      q[at(vocabulary)] = std::max(id, 0);
      y[p] = id < 0 ? t.constant(0) : (*x[0])[q];
    });
  };
}
definition slice(int whole, int part) {
  return [=](tape& t, operands const& x, array& y) {
    int const start = start_in(t, *x[1]);
    each(y, [&](position const& p) {
      position q = p;
      int const i = q[at(whole)] = start + p[at(part)];
      bool const there = i >= 0 && i < y.extent[at(whole)];
      y[p] = there ? (*x[0])[q] : t.constant(std::numeric_limits<double>::quiet_NaN());
    });
  };
}
definition update(int whole, int part) {
  return [=](tape& t, operands const& x, array& y) {
    int const start = start_in(t, *x[2]);
    each(y, [&](position const& p) {
      position q = p;
      int const i = q[at(part)] = p[at(whole)] - start;
      y[p] = i >= 0 && i < y.extent[at(part)] ? (*x[1])[q] : (*x[0])[p];
    });
  };
}
definition top_k(int dim, int count) {
  return each_largest(dim, count, [](tape&, row const& x, std::size_t i) { return x[i]; });
}
definition top_k_positions(int dim, int count) {
  return each_largest(dim, count,
                      [](tape& t, row const&, std::size_t i) { return t.constant(static_cast<double>(i)); });
}

}  // namespace define
