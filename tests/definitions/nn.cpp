#include "nn.hpp"

#include <algorithm>
#include <cmath>

#include "philox.hpp"

namespace define {

namespace {

/// The sum over `head` of q and k.
number score_of(tape& t, array const& q, array const& k, int head, position const& at) {
  row terms;
  each({head}, q.extent, at, [&](position const& p) { terms.push_back(t.multiply(q[p], k[p])); });
  return t.sum(terms);
}

/// Numbers whose logarithm and cosine the library computes to about 1e-13 of the largest
/// (tests/local/fast_math_test.cpp).
template <class F>
definition drawn(F f) {
  return [=](tape& t, operands const&, array& y) {
    for (std::size_t i = 0; i < y.numbers.size(); ++i) y.numbers[i] = t.constant(f(i), 8, 0x1p-43);
  };
}

}  // namespace

definition attention(int query, int key, int head, sees shows, double scale) {
  return [=, shows = std::move(shows)](tape& t, operands const& x, array& y) {
    each(without(y.dims, {head}), y.extent, {}, [&](position p) {
      row weight;
      std::vector<int> seen;
      for (int j = 0; j < y.extent[at(key)]; ++j)
        if (shows(p[at(query)], j) && (x.size() < 4 || j < t.value((*x[3])[p]))) seen.push_back(j);
      for (int const j : seen) {
        p[at(key)] = j;
        weight.push_back(t.scale(score_of(t, *x[0], *x[1], head, p), scale));
      }
      if (!weight.empty()) weight = softmax_of(t, weight);
      each({head}, y.extent, p, [&](position q) {
        row terms;
        for (std::size_t i = 0; i < seen.size(); ++i) {
          q[at(key)] = seen[i];
          terms.push_back(t.multiply(weight[i], (*x[2])[q]));
        }
        y[q] = t.sum(terms);
      });
    });
  };
}
definition rotary(int dim, bool neighbours) {
  return [=](tape& t, operands const& x, array& y) {
    int const n = y.extent[at(dim)];
    if (n % 2 != 0) return t.reject();
    each(y, [&](position const& p) {
      int const i = p[at(dim)];
      bool const first = neighbours ? i % 2 == 0 : i < n / 2;
      int const away = neighbours ? 1 : n / 2;
      position other = p;
      other[at(dim)] = first ? i + away : i - away;
      auto const straight = t.multiply((*x[0])[p], t.stopped((*x[1])[p]));
      auto const across = t.multiply((*x[0])[other], t.stopped((*x[2])[p]));
      y[p] = first ? t.subtract(straight, across) : t.add(straight, across);
    });
  };
}
definition layer_norm(int dim, double epsilon) {
  return rows(dim, [=](tape& t, std::vector<row> const& in) {
    row x = in[0], squares;
    number const mean = mean_of(t, x);
    for (number& v : x) v = t.subtract(v, mean), squares.push_back(t.multiply(v, v));
    number const factor = t.inverse(t.sqrt(t.shift(mean_of(t, squares), epsilon)));
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = t.add(t.multiply(t.multiply(x[j], factor), in[1][j]), in[2][j]);
    return x;
  });
}
definition rms_norm(int dim, double epsilon) {
  return rows(dim, [=](tape& t, std::vector<row> const& in) {
    row x = in[0], squares;
    for (number const v : x) squares.push_back(t.multiply(v, v));
    number const factor = t.inverse(t.sqrt(t.shift(mean_of(t, squares), epsilon)));
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = t.multiply(t.multiply(x[j], factor), in[1][j]);
    return x;
  });
}
definition cross_entropy(int classes) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      auto const label = static_cast<int>(t.value((*x[1])[p]));
      if (label >= y.extent[at(classes)]) return t.reject();
      number const total = logsumexp_of(t, along(*x[0], {classes}, p));
      position q = p;
      q[at(classes)] = std::max(label, 0);
      y[p] = label < 0 ? t.constant(0) : t.subtract(total, (*x[0])[q]);
    });
  };
}
definition dropout(double rate, std::uint64_t key) {
  return [=](tape& t, operands const& x, array& y) {
    double const dropped = std::floor(rate * 0x1p16 + 0.5);
    std::size_t i = 0;
    each(y, [&](position const& p) {
      // Eight neighbours share a counter; a half word below rate * 2^16 drops its element.
      auto const words = philox(key, i / 8, 0);
      auto const half = words[i % 8 / 2] >> (16 * (i % 2)) & 0xffffU;
      y[p] = half < dropped ? t.constant(0) : t.scale((*x[0])[p], 1 / (1 - dropped / 0x1p16));
      ++i;
    });
  };
}

definition uniform(std::uint64_t key, double low, double high) {
  return constant([=](std::size_t i, position const&) { return low + (high - low) * uniform_at(key, i); });
}
definition normal(std::uint64_t key, double mean, double deviation) {
  return drawn([=](std::size_t i) { return mean + deviation * normal_at(key, i); });
}
definition truncated_normal(std::uint64_t key, double mean, double deviation) {
  return drawn([=](std::size_t i) { return mean + deviation * truncated_normal_at(key, i); });
}

}  // namespace define
