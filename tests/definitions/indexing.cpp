#include "indexing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "philox.hpp"

namespace define {

namespace {

/// Of the numbers at a position along `rows`, the largest.
int start_in(tape& t, array const& x, dim_list const& rows, position const& p) {
  double start = -std::numeric_limits<double>::infinity();
  each(without(x.dims, rows), x.extent, p, [&](position const& q) { start = std::max(start, t.value(x[q])); });
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

number largest_at(tape& t, row const& x) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < x.size(); ++i)
    if (comes_before(t.value(x[i]), t.value(x[largest]))) largest = i;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i != largest) t.told_apart(x[largest], x[i]);
  return t.constant(static_cast<double>(largest));
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
definition slice(int whole, int part, dim_list const& rows) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      int const start = start_in(t, *x[1], rows, p);
      position q = p;
      int const i = q[at(whole)] = start + p[at(part)];
      bool const there = i >= 0 && i < y.extent[at(whole)];
      y[p] = there ? (*x[0])[q] : t.constant(std::numeric_limits<double>::quiet_NaN());
    });
  };
}
definition update(int whole, int part, dim_list const& rows) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      int const start = start_in(t, *x[2], rows, p);
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
definition argmax() { return reduction(largest_at); }
definition argmin() {
  return reduction([](tape& t, row x) {
    for (number& v : x) v = t.scale(v, -1);
    return largest_at(t, x);
  });
}

definition one_hot(int dim) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      double const id = t.value((*x[0])[p]);
      if (id >= y.extent[at(dim)]) return t.reject();
      y[p] = t.constant(id == p[at(dim)] ? 1 : 0);
    });
  };
}
definition gather(int dim) { return embedding(dim); }
definition scatter_add(int dim) {
  return [=](tape& t, operands const& x, array& y) {
    dim_list const summed = without(x[0]->dims, y.dims);
    each(y, [&](position const& p) {
      row terms;
      each(summed, y.extent, p, [&](position const& q) {
        if (static_cast<int>(t.value((*x[1])[q])) == p[at(dim)]) terms.push_back((*x[0])[q]);
      });
      y[p] = terms.empty() ? t.constant(0) : t.sum(terms);
    });
  };
}

namespace {

/// The positions of a row in the order of its numbers.
std::vector<std::size_t> sorted(tape& t, row const& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t i, std::size_t j) {
    double const a = t.value(x[i]), b = t.value(x[j]);
    if (std::isnan(a) != std::isnan(b)) return std::isnan(b);
    return a < b || (!(b < a) && i < j);
  });
  for (std::size_t i = 1; i < order.size(); ++i) t.told_apart(x[order[i - 1]], x[order[i]]);
  return order;
}

}  // namespace

definition sort(int dim) {
  return rows(dim, [](tape& t, std::vector<row> const& in) {
    row y;
    for (std::size_t const i : sorted(t, in[0])) y.push_back(in[0][i]);
    return y;
  });
}
definition argsort(int dim) {
  return rows(dim, [](tape& t, std::vector<row> const& in) {
    row y;
    for (std::size_t const i : sorted(t, in[0])) y.push_back(t.constant(static_cast<double>(i)));
    return y;
  });
}
definition categorical(std::uint64_t key, double temperature) {
  return [=](tape& t, operands const& x, array& y) {
    array drawn(x[0]->dims, x[0]->extent);
    std::size_t i = 0;
    each(drawn, [&](position const& p) {
      double const u = uniform_at(key, i++) + 0x1p-53;
      drawn[p] = t.add((*x[0])[p], t.constant(-temperature * std::log(-std::log(u))));
    });
    reduction(largest_at)(t, {&drawn}, y);
  };
}

}  // namespace define
