#include "interpreter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../sweep/philox.hpp"

namespace fuzz {

// Functions of the library may be some units in the last place from the right value.
constexpr double of_function = 4;
// Bounds are to first order: a decision must be further away than some of them.
constexpr double decided_by = 16;

number tape::constant(double value, double magnitude, double rounding) {
  magnitude = std::max(magnitude, std::abs(value));
  return push({.value = value, .error = rounding * magnitude, .magnitude = magnitude});
}
number tape::add(number x, number y) {
  auto const &a = nodes_[x], &b = nodes_[y];
  double const magnitude = a.magnitude + b.magnitude;
  return push({.value = a.value + b.value,
               .error = a.error + b.error + inside_ * magnitude,
               .magnitude = magnitude,
               .rounding = inside_,
               .from = {x, y},
               .slope = {1, 1},
               .slope_magnitude = {1, 1},
               .parents = 2});
}
number tape::subtract(number x, number y) { return add(x, scale(y, -1)); }
number tape::multiply(number x, number y) {
  auto const &a = nodes_[x], &b = nodes_[y];
  double const magnitude = a.magnitude * b.magnitude;
  return push(
      {.value = a.value * b.value,
       .error = std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error + inside_ * magnitude,
       .magnitude = magnitude,
       .rounding = inside_,
       .from = {x, y},
       .slope = {b.value, a.value},
       .slope_error = {b.error, a.error},
       .slope_magnitude = {b.magnitude, a.magnitude},
       .parents = 2});
}
number tape::scale(number x, double factor) {
  auto const& a = nodes_[x];
  double const size = std::abs(factor);
  return push({.value = a.value * factor,
               .error = size * (a.error + inside_ * a.magnitude),
               .magnitude = size * a.magnitude,
               .rounding = inside_,
               .from = {x},
               .slope = {factor},
               .slope_magnitude = {size},
               .parents = 1});
}
number tape::function(number x, double value, double slope, double curvature, double slope_terms) {
  auto const& a = nodes_[x];
  double const rounding = of_function * inside_;
  return push({.value = value,
               .error = std::abs(slope) * (a.error + rounding * std::abs(a.value)) + rounding * std::abs(value),
               .magnitude = std::abs(value),
               .rounding = rounding,
               .from = {x},
               .slope = {slope},
               .slope_error = {std::abs(curvature) * (a.error + rounding * std::abs(a.value)) + rounding * slope_terms},
               .slope_magnitude = {std::abs(slope)},
               .parents = 1});
}
number tape::stopped(number x) {
  node n = nodes_[x];
  n.parents = 0;
  n.rounding = 0;
  return push(n);
}
number tape::store(number x) {
  auto const& a = nodes_[x];
  return push({.value = a.value,
               .error = a.error + stored_ * a.magnitude,
               .magnitude = a.magnitude,
               .rounding = stored_,
               .from = {x},
               .slope = {1},
               .slope_magnitude = {1},
               .parents = 1});
}
number tape::sum(std::span<number const> x) {
  number s = x.empty() ? constant(0) : x[0];
  for (std::size_t i = 1; i < x.size(); ++i) s = add(s, x[i]);
  return s;
}
number tape::exp(number x) {
  double const y = std::exp(nodes_[x].value);
  return function(x, y, y, y);
}
number tape::log(number x) {
  double const v = nodes_[x].value;
  return function(x, std::log(v), 1 / v, -1 / (v * v));
}
number tape::sqrt(number x) {
  double const y = std::sqrt(nodes_[x].value);
  return function(x, y, 0.5 / y, -0.25 / (y * y * y));
}
number tape::tanh(number x) {
  double const y = std::tanh(nodes_[x].value), slope = 1 - y * y;
  return function(x, y, slope, -2 * y * slope, 1 + y * y);
}
number tape::sigmoid(number x) {
  double const y = 1 / (1 + std::exp(-nodes_[x].value)), slope = y * (1 - y);
  return function(x, y, slope, slope * (1 - 2 * y), y);
}
number tape::inverse(number x) {
  double const y = 1 / nodes_[x].value;
  return function(x, y, -y * y, 2 * y * y * y);
}
number tape::power(number x, double n) {
  double const v = nodes_[x].value;
  return function(x, std::pow(v, n), n * std::pow(v, n - 1), n * (n - 1) * std::pow(v, n - 2));
}
int tape::sign(number x) {
  auto const& a = nodes_[x];
  if (a.error > 0 && std::abs(a.value) <= decided_by * a.error) undecided_ = true;
  return a.value > 0 ? 1 : a.value < 0 ? -1 : 0;
}
void tape::above(number x, double least) {
  auto const& a = nodes_[x];
  if (!(a.value - decided_by * a.error > least)) undecided_ = true;
}
number tape::larger(number x, number y) {
  int const which = sign(subtract(x, y));
  return which > 0 ? x : which < 0 ? y : scale(add(x, y), 0.5);  // equal: each has half of the derivative
}
number tape::abs(number x) { return scale(x, sign(x)); }
number tape::truncated(number x) {
  auto const a = nodes_[x];
  if (a.error > 0 && std::abs(a.value - std::round(a.value)) <= decided_by * a.error) undecided_ = true;
  return constant(std::trunc(a.value));
}

void tape::backward(number x) {
  for (auto& n : nodes_) n.derivative = n.derivative_error = n.derivative_magnitude = 0;
  nodes_[x].derivative = nodes_[x].derivative_magnitude = 1;
  for (number i = x + 1; i-- > 0;) {
    node const& n = nodes_[i];
    if (n.derivative_magnitude == 0) continue;
    for (std::size_t k = 0; k < static_cast<std::size_t>(n.parents); ++k) {
      node& p = nodes_[n.from[k]];
      double const size = n.slope_magnitude[k];
      p.derivative += n.slope[k] * n.derivative;
      p.derivative_magnitude += size * n.derivative_magnitude;
      p.derivative_error += std::abs(n.slope[k]) * n.derivative_error + n.slope_error[k] * n.derivative_magnitude +
                            n.rounding * size * n.derivative_magnitude;
    }
  }
}

std::size_t size_of(dim_list const& dims) {
  std::size_t n = 1;
  for (int const d : dims) n *= static_cast<std::size_t>(extents[static_cast<std::size_t>(d)]);
  return n;
}
dim_list without(dim_list const& dims, dim_list const& gone) {
  dim_list left;
  for (int const d : dims)
    if (std::ranges::find(gone, d) == gone.end()) left.push_back(d);
  return left;
}

namespace define {

namespace {

number mean_of(tape& t, numbers_of_one const& x) { return t.scale(t.sum(x), 1 / static_cast<double>(x.size())); }

numbers_of_one softmax_of(tape& t, numbers_of_one x) {
  double most = -HUGE_VAL;
  for (number const v : x) most = std::max(most, t[v].value);
  for (number& v : x) v = t.exp(t.shift(v, -most));
  number const factor = t.inverse(t.sum(x));
  for (number& v : x) v = t.multiply(v, factor);
  return x;
}
number logsumexp_of(tape& t, numbers_of_one x) {
  double most = -HUGE_VAL;
  for (number const v : x) most = std::max(most, t[v].value);
  for (number& v : x) v = t.exp(t.shift(v, -most));
  return t.shift(t.log(t.sum(x)), most);
}
/// The numbers of x along `dims`, others fixed.
numbers_of_one along(array const& x, dim_list const& dims, position const& at) {
  numbers_of_one all;
  each(dims, at, [&](position const& p) { all.push_back(x[p]); });
  return all;
}
/// The sum over `head` of q and k.
number score_of(tape& t, array const& q, array const& k, int head, position const& at) {
  numbers_of_one terms;
  each({head}, at, [&](position const& p) { terms.push_back(t.multiply(q[p], k[p])); });
  return t.sum(terms);
}

}  // namespace

definition pointwise(std::function<number(tape&, numbers_of_one const&)> f) {
  return [f = std::move(f)](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    numbers_of_one now(x.size());
    each(out, {}, [&](position const& p) {
      for (std::size_t o = 0; o < x.size(); ++o) now[o] = (*x[o])[p];
      y[p] = f(t, now);
    });
    return y;
  };
}
definition same() {
  return pointwise([](tape&, numbers_of_one const& x) { return x[0]; });
}
definition renamed(int from, int to) {
  return [=](tape&, operands const& x, dim_list const& out) {
    array y(out);
    each(out, {}, [&](position const& p) {
      position q = p;
      q[static_cast<std::size_t>(from)] = p[static_cast<std::size_t>(to)];
      y[p] = (*x[0])[q];
    });
    return y;
  };
}
definition contraction(bool bias) {
  return [=](tape& t, operands const& x, dim_list const& out) {
    std::size_t const factors = x.size() - (bias ? 1 : 0);
    dim_list all;
    for (std::size_t o = 0; o < factors; ++o)
      for (int const d : x[o]->dims)
        if (std::ranges::find(all, d) == all.end()) all.push_back(d);
    array y(out);
    each(out, {}, [&](position const& p) {
      numbers_of_one terms;
      each(without(all, out), p, [&](position const& q) {
        number product = (*x[0])[q];
        for (std::size_t o = 1; o < factors; ++o) product = t.multiply(product, (*x[o])[q]);
        terms.push_back(product);
      });
      y[p] = t.sum(terms);
      if (bias) y[p] = t.add(y[p], (*x.back())[p]);
    });
    return y;
  };
}
definition reduction(std::function<number(tape&, numbers_of_one const&)> f) {
  return [f = std::move(f)](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    each(out, {}, [&](position const& p) { y[p] = f(t, along(*x[0], without(x[0]->dims, out), p)); });
    return y;
  };
}
definition rows(int dim, std::function<numbers_of_one(tape&, std::vector<numbers_of_one> const&)> f) {
  return [dim, f = std::move(f)](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    each(without(out, {dim}), {}, [&](position const& p) {
      std::vector<numbers_of_one> in;
      for (auto const* o : x) in.push_back(along(*o, {dim}, p));
      auto const made = f(t, in);
      each({dim}, p,
           [&](position const& q) { y[q] = made[static_cast<std::size_t>(q[static_cast<std::size_t>(dim)])]; });
    });
    return y;
  };
}
definition constant(std::function<double(std::size_t, position const&)> f) {
  return [f = std::move(f)](tape& t, operands const&, dim_list const& out) {
    array y(out);
    std::size_t i = 0;
    each(out, {}, [&](position const& p) { y[p] = t.constant(f(i++, p)); });
    return y;
  };
}
definition stopped() {
  return pointwise([](tape& t, numbers_of_one const& x) { return t.stopped(x[0]); });
}
definition truncated() {
  return pointwise([](tape& t, numbers_of_one const& x) { return t.truncated(x[0]); });
}
definition softmax(int dim, double scale, bool logarithm) {
  return rows(dim, [=](tape& t, std::vector<numbers_of_one> const& in) {
    auto x = in[0];
    for (number& v : x) v = t.scale(v, scale);
    if (!logarithm) return softmax_of(t, x);
    number const total = logsumexp_of(t, x);
    for (number& v : x) v = t.subtract(v, total);
    return x;
  });
}
definition masked_softmax(int query, int key, sees shows, double scale) {
  return [=, shows = std::move(shows)](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    auto const k = static_cast<std::size_t>(key);
    each(without(out, {key}), {}, [&](position const& p) {
      auto const visible = [&](position const& q) {
        return shows(p[static_cast<std::size_t>(query)], q[k]) && (x.size() < 2 || q[k] < t[(*x[1])[p]].value);
      };
      numbers_of_one row;
      each({key}, p, [&](position const& q) {
        if (visible(q)) row.push_back(t.scale((*x[0])[q], scale));
      });
      if (!row.empty()) row = softmax_of(t, row);
      std::size_t next = 0;
      each({key}, p, [&](position const& q) { y[q] = visible(q) ? row[next++] : t.constant(0); });
    });
    return y;
  };
}
definition attention(int query, int key, int head, sees shows, double scale) {
  return [=, shows = std::move(shows)](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    auto const k = static_cast<std::size_t>(key);
    each(without(out, {head}), {}, [&](position p) {
      numbers_of_one weight;
      std::vector<int> seen;
      for (int j = 0; j < extents[k]; ++j)
        if (shows(p[static_cast<std::size_t>(query)], j)) seen.push_back(j);
      for (int const j : seen) {
        p[k] = j;
        weight.push_back(t.scale(score_of(t, *x[0], *x[1], head, p), scale));
      }
      if (!weight.empty()) weight = softmax_of(t, weight);
      each({head}, p, [&](position q) {
        numbers_of_one terms;
        for (std::size_t i = 0; i < seen.size(); ++i) {
          q[k] = seen[i];
          terms.push_back(t.multiply(weight[i], (*x[2])[q]));
        }
        y[q] = terms.empty() ? t.constant(0) : t.sum(terms);
      });
    });
    return y;
  };
}
definition logsumexp() {
  return reduction([](tape& t, numbers_of_one const& x) { return logsumexp_of(t, x); });
}
definition layer_norm(int dim, double epsilon) {
  return rows(dim, [=](tape& t, std::vector<numbers_of_one> const& in) {
    auto x = in[0];
    number const mean = mean_of(t, x);
    numbers_of_one squares;
    for (number& v : x) v = t.subtract(v, mean), squares.push_back(t.multiply(v, v));
    number const factor = t.inverse(t.sqrt(t.shift(mean_of(t, squares), epsilon)));
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = t.add(t.multiply(t.multiply(x[j], factor), in[1][j]), in[2][j]);
    return x;
  });
}
definition rms_norm(int dim, double epsilon) {
  return rows(dim, [=](tape& t, std::vector<numbers_of_one> const& in) {
    auto x = in[0];
    numbers_of_one squares;
    for (number const v : x) squares.push_back(t.multiply(v, v));
    number const factor = t.inverse(t.sqrt(t.shift(mean_of(t, squares), epsilon)));
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = t.multiply(t.multiply(x[j], factor), in[1][j]);
    return x;
  });
}
definition cross_entropy(int classes) {
  return [=](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    each(out, {}, [&](position p) {
      auto const label = static_cast<int>(t[(*x[1])[p]].value);
      if (label >= extents[static_cast<std::size_t>(classes)]) return t.reject();
      number const total = logsumexp_of(t, along(*x[0], {classes}, p));
      p[static_cast<std::size_t>(classes)] = std::max(label, 0);
      number const loss = t.subtract(total, (*x[0])[p]);
      y[p] = label < 0 ? t.constant(0) : loss;
    });
    return y;
  };
}
definition embedding(int vocabulary) {
  return [=](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    each(out, {}, [&](position const& p) {
      position q = p;
      auto const id = static_cast<int>(t[(*x[1])[p]].value);
      if (id >= extents[static_cast<std::size_t>(vocabulary)]) return t.reject();
      q[static_cast<std::size_t>(vocabulary)] = std::max(id, 0);
      y[p] = id < 0 ? t.constant(0) : (*x[0])[q];
    });
    return y;
  };
}
/// Where the last operand says that a part begins: the largest of its numbers.
int start_in(tape& t, array const& x, int whole, int part) {
  double start = t[x.at[0]].value;
  for (number const n : x.at) start = std::max(start, t[n].value);
  if (start < 0 || start + extents[static_cast<std::size_t>(part)] > extents[static_cast<std::size_t>(whole)])
    t.reject();
  return static_cast<int>(start);
}
definition slice(int whole, int part) {
  return [=](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    int const start = start_in(t, *x[1], whole, part);
    if (t.undecided()) return y;
    each(out, {}, [&](position const& p) {
      position q = p;
      q[static_cast<std::size_t>(whole)] = start + p[static_cast<std::size_t>(part)];
      y[p] = (*x[0])[q];
    });
    return y;
  };
}
definition update(int whole, int part) {
  return [=](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    int const start = start_in(t, *x[2], whole, part);
    if (t.undecided()) return y;
    each(out, {}, [&](position const& p) {
      position q = p;
      int const j = p[static_cast<std::size_t>(whole)] - start;
      q[static_cast<std::size_t>(part)] = j;
      y[p] = j >= 0 && j < extents[static_cast<std::size_t>(part)] ? (*x[1])[q] : (*x[0])[p];
    });
    return y;
  };
}
definition largest(int dim, int count) {
  return [=](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    auto const k = static_cast<std::size_t>(count);
    each(without(out, {count}), {}, [&](position const& p) {
      auto row = along(*x[0], {dim}, p);
      std::ranges::stable_sort(row, [&](number a, number b) { return t[a].value > t[b].value; });
      position q = p;
      for (q[k] = 0; q[k] < extents[k]; ++q[k]) {
        auto const i = static_cast<std::size_t>(q[k]);
        if (i + 1 < row.size()) t.above(t.subtract(row[i], row[i + 1]), 0);
        y[q] = row[i];
      }
    });
    return y;
  };
}
definition dropout(double rate, std::uint64_t key) {
  return [=](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    double const dropped = std::floor(rate * 0x1p16 + 0.5);
    std::size_t i = 0;
    each(out, {}, [&](position const& p) {
      // Eight neighbours share a counter; a half word below rate * 2^16 drops its element.
      auto const words = sweep::philox(key, i / 8, 0);
      auto const half = words[i % 8 / 2] >> (16 * (i % 2)) & 0xffffU;
      y[p] = t.scale((*x[0])[p], half < dropped ? 0 : 1 / (1 - dropped / 0x1p16));
      ++i;
    });
    return y;
  };
}

}  // namespace define
}  // namespace fuzz
