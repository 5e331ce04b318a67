#include "reduction.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace define {

namespace {

/// x less their largest.
double shift_to_largest(tape& t, row& x) {
  double most = -HUGE_VAL;
  for (number const v : x) most = std::max(most, t.value(v));
  for (number& v : x) v = t.shift(v, -most);
  return most;
}

}  // namespace

row softmax_of(tape& t, row x) {
  shift_to_largest(t, x);
  for (number& v : x) v = t.exp(v);
  number const factor = t.inverse(t.sum(x));
  for (number& v : x) v = t.multiply(v, factor);
  return x;
}
number logsumexp_of(tape& t, row x) {
  double const most = shift_to_largest(t, x);
  for (number& v : x) v = t.exp(v);
  return t.shift(t.log(t.sum(x)), most);
}
number mean_of(tape& t, row const& x) { return t.scale(t.sum(x), 1 / static_cast<double>(x.size())); }

definition sum() {
  return reduction([](tape& t, row const& x) { return t.sum(x); });
}
definition mean() { return reduction(mean_of); }
definition variance() {
  return reduction([](tape& t, row x) {
    number const mean = t.scale(mean_of(t, x), -1);
    for (number& v : x) {
      v = t.add(v, mean);
      v = t.multiply(v, v);
    }
    return mean_of(t, x);
  });
}
definition weighted_mean() {
  return [](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      row terms, weights;
      each(without(x[0]->dims, y.dims), y.extent, p, [&](position const& q) {
        terms.push_back(t.multiply((*x[0])[q], (*x[1])[q]));
        weights.push_back((*x[1])[q]);
      });
      number const total = t.sum(weights);
      t.above(total, 0.5);
      y[p] = t.divide(t.sum(terms), total);
    });
  };
}
definition largest() {
  return reduction([](tape& t, row const& x) { return t.largest(x); });
}
definition smallest() {
  return reduction([](tape& t, row x) {
    for (number& v : x) v = t.scale(v, -1);
    return t.scale(t.largest(x), -1);
  });
}
definition product() {
  return reduction([](tape& t, row const& x) {
    number y = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) y = t.multiply(y, x[i]);
    return y;
  });
}
definition logsumexp() { return reduction(logsumexp_of); }

definition softmax(int dim, double scale) {
  return rows(dim, [=](tape& t, std::vector<row> const& in) {
    row x = in[0];
    for (number& v : x) v = t.scale(v, scale);
    return softmax_of(t, x);
  });
}
definition log_softmax(int dim) {
  return rows(dim, [](tape& t, std::vector<row> const& in) {
    row x = in[0];
    number const total = logsumexp_of(t, x);
    for (number& v : x) v = t.subtract(v, total);
    return x;
  });
}
namespace {

/// `next(tape, so far, x[i])`, along rows in a direction.
definition running(int dim, run how, double nothing, std::function<number(tape&, number, number, bool first)> next) {
  return rows(dim, [=, next = std::move(next)](tape& t, std::vector<row> const& in) {
    row x = in[0];
    if (how.reverse) std::ranges::reverse(x);
    row y;
    number so_far = t.constant(nothing);
    for (std::size_t i = 0; i < x.size(); ++i) {
      number const after = next(t, so_far, x[i], i == 0);
      y.push_back(how.exclusive ? so_far : after);
      so_far = after;
    }
    if (how.reverse) std::ranges::reverse(y);
    return y;
  });
}

}  // namespace

definition running_sum(int dim, run how) {
  return running(dim, how, 0, [](tape& t, number sum, number x, bool first) { return first ? x : t.add(sum, x); });
}
definition running_product(int dim, run how) {
  return running(dim, how, 1,
                 [](tape& t, number product, number x, bool first) { return first ? x : t.multiply(product, x); });
}
definition running_largest(int dim, run how, double nothing) {
  return running(dim, how, nothing, [](tape& t, number largest, number x, bool first) {
    double const before = t.value(largest), value = t.value(x);
    if (std::isnan(value) || (!first && std::isnan(before))) return t.constant(std::nan(""));
    if (first) return x;
    t.told_apart(largest, x);
    bool const above = value > before || (value == before && std::signbit(before) && !std::signbit(value));
    return above ? x : largest;
  });
}

definition masked_softmax(int query, int key, sees shows, double scale) {
  return [=, shows = std::move(shows)](tape& t, operands const& x, array& y) {
    each(without(y.dims, {key}), y.extent, {}, [&](position const& p) {
      auto const visible = [&](position const& q) {
        return shows(p[at(query)], q[at(key)]) && (x.size() < 2 || q[at(key)] < t.value((*x[1])[p]));
      };
      row weights;
      each({key}, y.extent, p, [&](position const& q) {
        if (visible(q)) weights.push_back(t.scale((*x[0])[q], scale));
      });
      if (!weights.empty()) weights = softmax_of(t, weights);
      std::size_t next = 0;
      each({key}, y.extent, p, [&](position const& q) { y[q] = visible(q) ? weights[next++] : t.constant(0); });
    });
  };
}

}  // namespace define
