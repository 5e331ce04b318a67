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

definition attention(int query, int key, int head, sees shows, attention_terms terms) {
  return [=, shows = std::move(shows)](tape& t, operands const& x, array& y) {
    auto const operand = [&](int i, position const& p) { return (*x[at(i)])[p]; };
    int const values = terms.values < 0 ? head : terms.values;
    dim_list weights = without(x[0]->dims, {query, head});
    weights.push_back(query);
    weights.push_back(key);
    auto const kept = [&](position const& p) {
      std::size_t i = 0;
      for (int const d : weights) i = i * at(y.extent[at(d)]) + at(p[at(d)]);
      double const dropped = std::floor(terms.dropped * 0x1p16 + 0.5);
      auto const half = philox(terms.drop_key, i / 8, 0)[i % 8 / 2] >> (16 * (i % 2)) & 0xffffU;
      return half < dropped ? 0 : 1 / (1 - dropped / 0x1p16);
    };
    auto const sees = [&](position const& p) {
      return shows(p[at(query)], p[at(key)]) &&
             (terms.lengths < 0 || p[at(key)] < t.value(operand(terms.lengths, p))) &&
             (terms.query_ids < 0 || t.value(operand(terms.query_ids, p)) == t.value(operand(terms.key_ids, p)));
    };
    each(without(y.dims, {values}), y.extent, {}, [&](position p) {
      row weight;
      std::vector<int> seen;
      for (int j = 0; j < y.extent[at(key)]; ++j) {
        p[at(key)] = j;
        if (!sees(p)) continue;
        seen.push_back(j);
        number score = t.scale(score_of(t, *x[0], *x[1], head, p), terms.scale);
        if (terms.soft_cap != 0) score = t.scale(t.tanh(t.scale(score, 1 / terms.soft_cap)), terms.soft_cap);
        if (terms.bias >= 0) score = t.add(score, operand(terms.bias, p));
        weight.push_back(score);
      }
      if (!weight.empty()) weight = softmax_of(t, weight);
      for (std::size_t i = 0; i < seen.size() && terms.dropped != 0; ++i) {
        p[at(key)] = seen[i];
        weight[i] = t.scale(weight[i], kept(p));
      }
      each({values}, y.extent, p, [&](position q) {
        row sum;
        for (std::size_t i = 0; i < seen.size(); ++i) {
          q[at(key)] = seen[i];
          sum.push_back(t.multiply(weight[i], (*x[2])[q]));
        }
        y[q] = t.sum(sum);
      });
    });
  };
}
definition attention(int query, int key, int head, sees shows, double scale) {
  return [=, shows = std::move(shows)](tape& t, operands const& x, array& y) {
    attention(query, key, head, shows, {.scale = scale, .lengths = x.size() < 4 ? -1 : 3})(t, x, y);
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
namespace {
/// (x - mean) / sqrt(variance + epsilon) of some numbers.
row normalized(tape& t, row x, double epsilon) {
  row squares;
  number const mean = mean_of(t, x);
  for (number& v : x) v = t.subtract(v, mean), squares.push_back(t.multiply(v, v));
  number const factor = t.inverse(t.sqrt(t.shift(mean_of(t, squares), epsilon)));
  for (number& v : x) v = t.multiply(v, factor);
  return x;
}
}  // namespace
definition batch_norm(dim_list const& over, double epsilon) {
  return [=](tape& t, operands const& x, array& y) {
    each(without(y.dims, over), y.extent, {}, [&](position const& p) {
      row const normal = normalized(t, along(*x[0], over, p), epsilon);
      std::size_t i = 0;
      each(over, y.extent, p,
           [&](position const& q) { y[q] = t.add(t.multiply(normal[i++], (*x[1])[q]), (*x[2])[q]); });
    });
  };
}
definition group_norm(int dim, int within, dim_list const& more, double epsilon) {
  return [=](tape& t, operands const& x, array& y) {
    each(without(without(y.dims, more), {dim}), y.extent, {}, [&](position const& p) {
      for (int first = 0; first < y.extent[at(dim)]; first += within) {
        std::vector<position> of_group;
        row numbers;
        for (int i = 0; i < within; ++i) {
          position q = p;
          q[at(dim)] = first + i;
          each(more, y.extent, q, [&](position const& r) { of_group.push_back(r), numbers.push_back((*x[0])[r]); });
        }
        row const normal = normalized(t, numbers, epsilon);
        for (std::size_t i = 0; i < normal.size(); ++i) {
          auto const& r = of_group[i];
          y[r] = t.add(t.multiply(normal[i], (*x[1])[r]), (*x[2])[r]);
        }
      }
    });
  };
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
namespace {
number loss_of(tape& t, row const& logits, int label, double smoothing, double z) {
  number const total = logsumexp_of(t, logits);
  number const target = t.add(t.scale(logits[at(label)], 1 - smoothing), t.scale(mean_of(t, logits), smoothing));
  return t.add(t.subtract(total, target), t.scale(t.multiply(total, total), z));
}
}  // namespace
definition cross_entropy(int classes, double smoothing, double z) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      auto const label = static_cast<int>(t.value((*x[1])[p]));
      if (label >= y.extent[at(classes)]) return t.reject();
      y[p] = label < 0 ? t.constant(0) : loss_of(t, along(*x[0], {classes}, p), label, smoothing, z);
    });
  };
}
definition linear_cross_entropy(int classes, double smoothing, double z) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      auto const label = static_cast<int>(t.value((*x[2])[p]));
      if (label >= y.extent[at(classes)]) return t.reject();
      row logits;
      each({classes}, y.extent, p, [&](position const& q) {
        row terms;
        each(without(x[1]->dims, {classes}), y.extent, q,
             [&](position const& r) { terms.push_back(t.multiply((*x[0])[r], (*x[1])[r])); });
        logits.push_back(t.sum(terms));
      });
      y[p] = label < 0 ? t.constant(0) : loss_of(t, logits, label, smoothing, z);
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

definition shared_dropout(double rate, std::uint64_t key, dim_list const& shared) {
  return [=](tape& t, operands const& x, array& y) {
    array ones(without(y.dims, shared), y.extent), mask(ones.dims, y.extent);
    for (number& v : ones.numbers) v = t.constant(1);
    dropout(rate, key)(t, {&ones}, mask);
    each(y, [&](position const& p) {
      double const kept = t.value(mask[p]);
      y[p] = kept == 0 ? t.constant(0) : t.scale((*x[0])[p], kept);
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

namespace {
/// As the paper's authors write it: the slopes of a power of two are a geometric series.
std::vector<double> slopes_of(int heads) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (int i = 1; i <= power; ++i) slopes.push_back(std::pow(2.0, -8.0 * i / power));
  if (power == heads) return slopes;
  auto const further = slopes_of(2 * power);
  for (std::size_t i = 0; slopes.size() < static_cast<std::size_t>(heads); i += 2) slopes.push_back(further[i]);
  return slopes;
}
}  // namespace

definition alibi_slopes(int heads, int count) {
  return constant([=](std::size_t, position const& p) { return slopes_of(count)[at(p[at(heads)])]; });
}
definition alibi_bias(int heads, int count, int query, int key, int offset) {
  return constant([=](std::size_t, position const& p) {
    return -slopes_of(count)[at(p[at(heads)])] * std::abs(p[at(query)] + offset - p[at(key)]);
  });
}
definition relative_position_bucket(int query, int key, bool bidirectional, int count, int max_distance, int offset) {
  return constant([=](std::size_t, position const& p) {
    int const ahead = p[at(key)] - p[at(query)] - offset;
    int const buckets = bidirectional ? count / 2 : count, exact = buckets / 2;
    int const first = bidirectional && ahead > 0 ? buckets : 0;
    int const distance = bidirectional ? std::abs(ahead) : std::max(-ahead, 0);
    // The last of the buckets whose least distance, exact (max_distance / exact)^(share), is not above it.
    int bucket = std::min(distance, exact - 1);
    for (int b = exact; b < buckets && distance >= exact; ++b)
      if (exact * std::pow(1.0 * max_distance / exact, 1.0 * (b - exact) / (buckets - exact)) <= distance + 1e-6)
        bucket = b;
    return first + bucket;
  });
}
definition sinusoids(int length, int model, int width, bool halves) {
  return constant([=](std::size_t, position const& p) {
    int const i = p[at(model)], pair = halves ? i % (width / 2) : i / 2;
    double const angle = p[at(length)] / std::pow(10000.0, 2.0 * pair / width);
    return (halves ? i < width / 2 : i % 2 == 0) ? std::sin(angle) : std::cos(angle);
  });
}

}  // namespace define
