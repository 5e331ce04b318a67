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

namespace {

/// The numbers of a row as floats, with what rounding may have changed them by.
class drawn_row {
 public:
  drawn_row(tape& t, row const& x, sampling const& how) : t_(t), x_(x), how_(how) {
    for (double* const option : {&how_.temperature, &how_.min_p, &how_.top_p}) *option = static_cast<float>(*option);
    for (number const v : x) {
      z_.push_back(static_cast<float>(t.value(v)));
      if (!std::isnan(z_.back())) largest_ = std::max(largest_, z_.back());
    }
  }
  number by(number uniform) {
    if (std::isinf(largest_) && largest_ < 0) return position(-1);
    if (!(how_.temperature > 0) || std::isinf(largest_)) return position(the_largest());
    double error = 0, total = 0;
    for (std::size_t i = 0; i < z_.size(); ++i) {
      order_.push_back(i);
      double const w = std::exp((static_cast<double>(z_[i]) - static_cast<double>(largest_)) / how_.temperature);
      weight_.push_back(w >= 0x1p-40 ? w : 0);  // not NaN
      if (weight_[i] > 0) error = std::max(error, t_[x_[i]].error);
    }
    changes_ = 8 * (error / how_.temperature + t_[uniform].error);
    std::erase_if(order_, [&](auto i) { return std::isnan(z_[i]); });
    std::ranges::stable_sort(order_, [&](auto i, auto j) { return z_[i] > z_[j]; });
    leave_k();
    std::erase_if(order_, [&](auto i) { return weight_[i] == 0 || below(weight_[i], how_.min_p, 1); });
    for (auto const i : order_) total += weight_[i];
    if (how_.top_p < 1) total = leave_p(total);
    std::ranges::sort(order_);
    double const u = t_.value(uniform) > 0 ? std::min(t_.value(uniform), 0x1.fffffffffffffp-1) : 0;
    double sum = 0;
    for (auto const i : order_)
      if (i == order_.back() || below(u * total, sum += weight_[i], total)) return position(static_cast<int>(i));
    return position(-1);
  }

 private:
  number position(int i) { return t_.constant(i); }
  /// a < b, of parts of a total that rounding changes a little.
  bool below(double a, double b, double total) {
    bool const exact = changes_ == 0 && a == b;
    if (std::abs(a - b) < (1e-6 + changes_) * total && !exact && a != 0 && b != 0) t_.reject();
    return a < b;
  }
  int the_largest() {
    int first = -1;
    for (std::size_t i = 0; i < z_.size(); ++i)
      if (first < 0 && z_[i] == largest_) first = static_cast<int>(i);
    for (number const v : x_)
      if (v != x_[at(first)]) t_.told_apart(v, x_[at(first)]);
    return first;
  }
  void leave_k() {
    auto const k = static_cast<std::size_t>(std::max(how_.top_k, 0));
    if (k == 0 || k >= order_.size()) return;
    auto const kth = order_[k - 1];
    for (auto const i : order_)
      if (i != kth) t_.told_apart(x_[i], x_[kth]);
    std::erase_if(order_, [&](auto i) { return z_[i] < z_[kth]; });
  }
  /// What is left.
  double leave_p(double total) {
    for (std::size_t i = 1; i < order_.size(); ++i) t_.told_apart(x_[order_[i - 1]], x_[order_[i]]);
    double sum = 0;
    std::size_t kept = 0;
    while (kept < order_.size() && (kept == 0 || below(sum, how_.top_p * total, total))) sum += weight_[order_[kept++]];
    order_.resize(kept);
    return sum;
  }

  tape& t_;
  row const& x_;
  sampling how_;
  std::vector<float> z_;
  std::vector<double> weight_;
  std::vector<std::size_t> order_;
  float largest_ = -std::numeric_limits<float>::infinity();
  double changes_ = 0;
};

template <class How>
void draw_rows(tape& t, operands const& x, array& y, How const& how) {
  each(y, [&](position const& p) {
    row const all = along(*x[0], without(x[0]->dims, y.dims), p);
    y[p] = drawn_row(t, all, how(p)).by((*x[1])[p]);
  });
}

}  // namespace

definition sample(sampling const& how) {
  return [=](tape& t, operands const& x, array& y) { draw_rows(t, x, y, [&](position const&) { return how; }); };
}
definition sample_each() {
  return [](tape& t, operands const& x, array& y) {
    draw_rows(t, x, y, [&](position const& p) {
      auto const of = [&](std::size_t i) { return t.value((*x[i])[p]); };
      return sampling{.temperature = of(2), .min_p = of(3), .top_k = static_cast<int>(of(4)), .top_p = of(5)};
    });
  };
}

}  // namespace define
