// Row kernels (softmax, norms, cross entropy), embedding: against plain loops in double, whole and in pieces.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using mtf::visible;
using mtf::backend::visible_rows;
using vec = std::vector<double>;

index elements(rows const& r) { return r.outer * r.n * r.inner; }

bool seen(visible_rows const& rule, std::size_t row, index j) {
  return rule.seen.sees(static_cast<index>(row) / rule.stride % rule.queries, j);
}

vec softmax(rows const& r, double scale, visible_rows const& rule, vec const& x) {
  vec y(x.size());
  each_row(r, [&](std::size_t row, std::size_t at, std::size_t step) {
    double max = -1e300, sum = 0;
    for (index j = 0; j < r.n; ++j)
      if (seen(rule, row, j)) max = std::max(max, scale * x[at + size(j) * step]);
    for (index j = 0; j < r.n; ++j)
      if (seen(rule, row, j)) sum += std::exp(scale * x[at + size(j) * step] - max);
    for (index j = 0; j < r.n; ++j)
      if (seen(rule, row, j)) y[at + size(j) * step] = std::exp(scale * x[at + size(j) * step] - max) / sum;
  });
  return y;
}

/// Splits [outer, n, inner] data along n: elements [from, from + n).
vec split(rows const& r, vec const& x, index from, index n) {
  vec out;
  for (index o = 0; o < r.outer; ++o)
    for (index j = from; j < from + n; ++j)
      for (index i = 0; i < r.inner; ++i) out.push_back(x[size((o * r.n + j) * r.inner + i)]);
  return out;
}

vec labels_for(rows const& r) {
  vec out;
  for (index i = 0; i < r.count(); ++i) out.push_back(static_cast<double>(i * 5 % r.n));
  return out;
}

vec logsumexp(rows const& r, vec const& x) {
  vec out(size(r.count()));
  each_row(r, [&](std::size_t row, std::size_t at, std::size_t step) {
    double sum = 0;
    for (index j = 0; j < r.n; ++j) sum += std::exp(x[at + size(j) * step]);
    out[row] = std::log(sum);
  });
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("softmax and its vjp, masked or not", T, float, double, bfloat16) {
  using A = compute_t<T>;
  for (rows const r : row_shapes)
    // With query 0 shifted before all keys, some rows see nothing.
    for (visible const& shows :
         {visible::everything(), visible::causal(-1), visible::causal(2) | visible::prefix(5), visible::window(3, -1),
          visible::window(40, 2) | visible::prefix(2), visible::window(1) | visible::prefix(1), visible::window(0)}) {
      visible_rows const rule{shows, 1, r.count()};
      double const scale = 0.5;
      array<T> x(numbers(elements(r), 1)), y(elements(r)), dx(elements(r));
      device().run(primitives::softmax{r, A(scale), rule, y.get(), x.get()});
      auto const expected = softmax(r, scale, rule, x.host());
      check_close(y.host(), expected, tolerance<T>);
      auto const got = y.host();
      for (std::size_t i = 0; i < got.size(); ++i)
        if (expected[i] == 0) REQUIRE(got[i] == 0);

      // What arrives where an element is hidden has no influence.
      vec const p = y.host(), g = array<T>(numbers(elements(r), 2)).host();
      vec arriving = g;
      for (std::size_t i = 0; i < arriving.size(); ++i)
        if (expected[i] == 0) arriving[i] = std::nan("");
      array<T> const dy(arriving);
      device().run(primitives::softmax_vjp{r, A(scale), dx.get(), y.get(), dy.get(), static_cast<A*>(nullptr), rule});
      vec d(p.size());
      each_row(r, [&](std::size_t, std::size_t at, std::size_t step) {
        double dot = 0;
        for (index j = 0; j < r.n; ++j) dot += p[at + size(j) * step] * g[at + size(j) * step];
        for (index j = 0; j < r.n; ++j) {
          auto const e = at + size(j) * step;
          d[e] = scale * p[e] * (g[e] - dot);
        }
      });
      check_close(dx.host(), d, tolerance<T>);
    }
}

TEST_CASE_TEMPLATE("log_softmax, logsumexp and their vjps", T, float, double, bfloat16) {
  for (rows const r : row_shapes) {
    array<T> x(numbers(elements(r), 1)), y(elements(r)), dy(numbers(elements(r), 2)), dx(elements(r));
    auto const lse = logsumexp(r, x.host());
    device().run(primitives::log_softmax{r, y.get(), x.get()});
    vec expected = x.host();
    each_row(r, [&](std::size_t row, std::size_t at, std::size_t step) {
      for (index j = 0; j < r.n; ++j) expected[at + size(j) * step] -= lse[row];
    });
    check_close(y.host(), expected, tolerance<T>);

    device().run(primitives::log_softmax_vjp{r, dx.get(), y.get(), dy.get()});
    vec const yh = y.host();
    vec d = dy.host();
    each_row(r, [&](std::size_t, std::size_t at, std::size_t step) {
      double sum = 0;
      for (index j = 0; j < r.n; ++j) sum += d[at + size(j) * step];
      for (index j = 0; j < r.n; ++j) d[at + size(j) * step] -= std::exp(yh[at + size(j) * step]) * sum;
    });
    check_close(dx.host(), d, tolerance<T> * 10);

    array<T> z(r.count()), dz(numbers(r.count(), 3));
    array<compute_t<T>> max(r.count()), sum(r.count());
    device().run(primitives::logsumexp{r, z.get(), max.get(), sum.get(), x.get()});
    check_close(z.host(), lse, tolerance<T>);
    device().run(primitives::logsumexp_vjp{r, dx.get(), x.get(), max.get(), sum.get(), dz.get()});
    vec const gz = dz.host();
    d = x.host();
    each_row(r, [&](std::size_t row, std::size_t at, std::size_t step) {
      for (index j = 0; j < r.n; ++j) {
        double& e = d[at + size(j) * step];
        e = gz[row] * std::exp(e - lse[row]);
      }
    });
    check_close(dx.host(), d, tolerance<T>);
  }
}

TEST_CASE_TEMPLATE("softmax in pieces is softmax", T, float, double, bfloat16) {
  using A = compute_t<T>;
  for (rows const r : {rows{6, 64, 1}, rows{4, 10, 3}}) {
    index const half = r.n / 2;
    rows const part{r.outer, half, r.inner};
    vec const all = numbers(elements(r), 1), dall = numbers(elements(r), 2);
    visible_rows const whole_rule{visible::causal(), 1, r.count()};
    auto const expected = softmax(r, 0.5, whole_rule, array<T>(all).host());
    vec max(size(r.count()), -1e300), sum(max.size()), plain_max = max, plain_sum = sum, dot = sum;
    auto const each_half = [&](auto const& f) {
      for (index h : {0, 1}) {
        visible_rows rule = whole_rule;
        rule.seen = rule.seen.on_shard(0, h * half);
        array<T> const x(split(r, all, h * half, half)), dy(split(r, dall, h * half, half)),
            y(split(r, expected, h * half, half));
        f(h, rule, x, y, dy);
      }
    };
    array<A> stat(r.count());
    auto const combine_into = [&](vec& total, bool maximum) {
      vec const got = stat.host();
      for (std::size_t i = 0; i < total.size(); ++i)
        total[i] = maximum ? std::max(total[i], got[i]) : total[i] + got[i];
    };
    each_half([&](index, visible_rows rule, array<T> const& x, array<T> const&, array<T> const&) {
      device().run(primitives::row_max{part, A(0.5), stat.get(), x.get(), rule});
      combine_into(max, true);
      device().run(primitives::row_max{part, A(1), stat.get(), x.get()});
      combine_into(plain_max, true);
    });
    array<A> const max_d(max), plain_max_d(plain_max);
    each_half([&](index, visible_rows rule, array<T> const& x, array<T> const& y, array<T> const& dy) {
      device().run(primitives::row_exp_sum{part, A(0.5), rule, max_d.get(), stat.get(), x.get()});
      combine_into(sum, false);
      device().run(primitives::row_exp_sum{part, A(1), {}, plain_max_d.get(), stat.get(), x.get()});
      combine_into(plain_sum, false);
      device().run(primitives::row_dot{part, stat.get(), y.get(), dy.get(), rule});
      combine_into(dot, false);
    });
    array<A> const sum_d(sum), plain_sum_d(plain_sum), dot_d(dot);
    array<T> whole(all), whole_y(expected), whole_dy(dall), log_y(elements(r)), dx(elements(r)), log_dx(elements(r));
    device().run(primitives::log_softmax{r, log_y.get(), whole.get()});
    device().run(primitives::softmax_vjp{r, A(0.5), dx.get(), whole_y.get(), whole_dy.get(), static_cast<A*>(nullptr),
                                         whole_rule});
    device().run(primitives::log_softmax_vjp{r, log_dx.get(), log_y.get(), whole_dy.get()});
    vec total_dy(size(r.count()));
    array<A> row_sum(r.count());
    device().run(primitives::row_sum{r, row_sum.get(), whole_dy.get()});
    each_half([&](index h, visible_rows rule, array<T> const& x, array<T> const& y, array<T> const& dy) {
      array<T> out(elements(part));
      auto const same = [&](vec const& w) { check_close(out.host(), split(r, w, h * half, half), tolerance<T>); };
      device().run(primitives::softmax{part, A(0.5), rule, out.get(), x.get(), max_d.get(), sum_d.get()});
      same(expected);
      device().run(primitives::softmax_vjp{part, A(0.5), out.get(), y.get(), dy.get(), dot_d.get(), rule});
      same(dx.host());
      device().run(primitives::log_softmax{part, out.get(), x.get(), plain_max_d.get(), plain_sum_d.get()});
      same(log_y.host());
      array<T> const log_part(split(r, log_y.host(), h * half, half));
      device().run(primitives::log_softmax_vjp{part, out.get(), log_part.get(), dy.get(), row_sum.get()});
      same(log_dx.host());
    });
    array<T> finished(r.count());
    device().run(primitives::logsumexp_finish{r.count(), finished.get(), plain_max_d.get(), plain_sum_d.get()});
    check_close(finished.host(), logsumexp(r, whole.host()), tolerance<T>);
  }
}

TEST_CASE_TEMPLATE("layer norm and rms norm with their vjps, whole and in pieces", T, float, double, bfloat16) {
  using A = compute_t<T>;
  auto const check = [](auto centered, rows const r) {
    constexpr bool is_centered = decltype(centered)::value;
    double const eps = 1e-3, n = static_cast<double>(r.n);
    auto const shifted = [](vec v) {
      for (double& e : v) e += 1.5;
      return v;
    };
    array<T> x(numbers(elements(r), 1)), gamma(shifted(numbers(r.n, 2))), beta(numbers(r.n, 3));
    array<T> y(elements(r)), dy(numbers(elements(r), 4)), dx(elements(r)), dgamma(r.n), dbeta(r.n);
    array<A> mean(r.count()), rstd(r.count());
    device().run(primitives::norm<is_centered, T>{r, A(eps), y.get(), mean.get(), rstd.get(), x.get(), gamma.get(),
                                                  is_centered ? beta.get() : nullptr});
    device().run(primitives::norm_vjp<is_centered, T>{r, dx.get(), dgamma.get(), is_centered ? dbeta.get() : nullptr,
                                                      dy.get(), x.get(), gamma.get(), mean.get(), rstd.get()});
    vec const xh = x.host(), w = gamma.host(), b = beta.host(), g = dy.host();
    vec ey(xh.size()), edx(xh.size()), edgamma(w.size()), edbeta(w.size());
    each_row(r, [&](std::size_t, std::size_t at, std::size_t step) {
      double m = 0, v = 0, s1 = 0, s2 = 0;
      for (index j = 0; is_centered && j < r.n; ++j) m += xh[at + size(j) * step] / n;
      for (index j = 0; j < r.n; ++j) v += std::pow(xh[at + size(j) * step] - m, 2) / n;
      double const f = 1 / std::sqrt(v + eps);
      for (index j = 0; j < r.n; ++j) {
        auto const e = at + size(j) * step;
        double const hat = (xh[e] - m) * f;
        ey[e] = hat * w[size(j)] + (is_centered ? b[size(j)] : 0.0);
        s1 += g[e] * w[size(j)];
        s2 += g[e] * w[size(j)] * hat;
        edgamma[size(j)] += g[e] * hat;
        edbeta[size(j)] += g[e];
      }
      for (index j = 0; j < r.n; ++j) {
        auto const e = at + size(j) * step;
        edx[e] = f * (g[e] * w[size(j)] - (is_centered ? s1 / n : 0.0) - (xh[e] - m) * f * s2 / n);
      }
    });
    double const t = tolerance<T> * 10;
    check_close(y.host(), ey, t);
    // a row of one element has nothing left but rounding, times 1 / sqrt(eps)
    check_close(dx.host(), edx, r.n == 1 ? t * 100 : t);
    check_close(dgamma.host(), edgamma, t);
    if (is_centered) check_close(dbeta.host(), edbeta, t);
    if (r.inner == 1) {
      array<T> added(numbers(elements(r), 5));
      vec expected = added.host();
      for (std::size_t e = 0; e < edx.size(); ++e) expected[e] += edx[e];
      device().run(primitives::norm_vjp<is_centered, T>{r, added.get(), dgamma.get(),
                                                        is_centered ? dbeta.get() : nullptr, dy.get(), x.get(),
                                                        gamma.get(), mean.get(), rstd.get(), true});
      check_close(added.host(), expected, r.n == 1 ? t * 100 : t);
    }

    if (r.n % 2 != 0) return;
    index const half = r.n / 2;
    rows const part{r.outer, half, r.inner};
    vec zero(size(r.count()));
    array<A> sums(zero), squares(zero), s1(zero), s2(zero), stat(r.count()), stat2(r.count());
    auto const each_half = [&](auto const& f) {
      for (index h : {0, 1}) {
        array<T> const px(split(r, xh, h * half, half)), pdy(split(r, g, h * half, half)),
            pw(split({1, r.n, 1}, w, h * half, half)), pb(split({1, r.n, 1}, b, h * half, half));
        f(h, px, pdy, pw, pb);
      }
    };
    each_half([&](index, array<T> const& px, array<T> const&, array<T> const&, array<T> const&) {
      device().run(primitives::row_sum{part, stat.get(), px.get()});
      device().run(primitives::add{r.count(), sums.get(), stat.get()});
    });
    vec means = sums.host();
    for (double& m : means) m = is_centered ? m / n : 0.0;
    array<A> const mean_d(means);
    each_half([&](index, array<T> const& px, array<T> const&, array<T> const&, array<T> const&) {
      device().run(primitives::row_square_sum{part, is_centered ? mean_d.get() : nullptr, stat.get(), px.get()});
      device().run(primitives::add{r.count(), squares.get(), stat.get()});
    });
    device().run(primitives::rows_statistics{r.count(), A(eps), r.n, squares.get()});
    check_close(squares.host(), rstd.host(), tolerance<float>);
    each_half([&](index, array<T> const& px, array<T> const& pdy, array<T> const& pw, array<T> const&) {
      device().run(primitives::norm_vjp_sums<is_centered, T>{part, stat.get(), stat2.get(), pdy.get(), px.get(),
                                                             pw.get(), mean_d.get(), squares.get()});
      device().run(primitives::add{r.count(), s1.get(), stat.get()});
      device().run(primitives::add{r.count(), s2.get(), stat2.get()});
    });
    each_half([&](index h, array<T> const& px, array<T> const& pdy, array<T> const& pw, array<T> const& pb) {
      array<T> out(elements(part)), part_dgamma(half), part_dbeta(half);
      device().run(primitives::norm_apply<is_centered, T>{part, mean_d.get(), squares.get(), out.get(), px.get(),
                                                          pw.get(), is_centered ? pb.get() : nullptr});
      check_close(out.host(), split(r, ey, h * half, half), t);
      device().run(primitives::norm_vjp<is_centered, T>{
          part, out.get(), part_dgamma.get(), is_centered ? part_dbeta.get() : nullptr, pdy.get(), px.get(), pw.get(),
          mean_d.get(), squares.get(), false, r.n, s1.get(), s2.get()});
      check_close(out.host(), split(r, edx, h * half, half), t);
      check_close(part_dgamma.host(), split({1, r.n, 1}, edgamma, h * half, half), t);
    });
  };
  for (rows const r : row_shapes) {
    check(std::true_type{}, r);
    check(std::false_type{}, r);
  }
  check(std::true_type{}, {2000, 64, 1});
}

TEST_CASE_TEMPLATE("cross entropy and its vjp, whole and in pieces", T, float, double, bfloat16) {
  using A = compute_t<T>;
  for (auto const& [smoothing, z] : {std::pair{0.0, 0.0}, {0.25, 0.0}, {0.0, 0.5}, {1.0, 0.125}})
    for (rows const r : row_shapes) {
      primitives::loss_terms<A> const terms{static_cast<A>(smoothing), static_cast<A>(z)};
      vec labels = labels_for(r);
      for (std::size_t i = 2; i < labels.size(); i += 3) labels[i] = -1;  // ignored
      array<std::int32_t> const ids(labels);
      array<T> x(numbers(elements(r), 1)), dx(elements(r));
      array<A> loss(r.count()), dloss(numbers(r.count(), 2)), max_of(r.count()), sum_of(r.count());
      device().run(primitives::cross_entropy{r, loss.get(), max_of.get(), sum_of.get(), x.get(), ids.get(), terms});
      device().run(primitives::cross_entropy_vjp{r, 0, r.n, dx.get(), x.get(), ids.get(), max_of.get(), sum_of.get(),
                                                 dloss.get(), terms});
      vec const xh = x.host(), g = dloss.host(), total = logsumexp(r, xh);
      vec expected(total.size()), edx(xh.size());
      each_row(r, [&](std::size_t row, std::size_t at, std::size_t step) {
        if (labels[row] < 0) return;
        double mean = 0;
        for (index j = 0; j < r.n; ++j) mean += xh[at + size(j) * step] / static_cast<double>(r.n);
        expected[row] = total[row] - (1 - smoothing) * xh[at + static_cast<std::size_t>(labels[row]) * step] -
                        smoothing * mean + z * total[row] * total[row];
        for (index j = 0; j < r.n; ++j) {
          auto const e = at + size(j) * step;
          edx[e] = g[row] *
                   (std::exp(xh[e] - total[row]) * (1 + 2 * z * total[row]) -
                    (static_cast<double>(j) == labels[row] ? 1 - smoothing : 0) - smoothing / static_cast<double>(r.n));
        }
      });
      check_close(loss.host(), expected, tolerance<A>);
      check_close(dx.host(), edx, tolerance<T>);

      if (r.n % 2 != 0) continue;
      index const half = r.n / 2;
      rows const part{r.outer, half, r.inner};
      vec max(size(r.count()), -1e300), sums(3 * max.size());
      for (int pass : {0, 1})
        for (index h : {0, 1}) {
          array<T> const px(split(r, xh, h * half, half));
          if (pass == 0) {
            array<A> stat(r.count());
            device().run(primitives::row_max{part, A(1), stat.get(), px.get()});
            vec const got = stat.host();
            for (std::size_t i = 0; i < max.size(); ++i) max[i] = std::max(max[i], got[i]);
          } else {
            array<A> const max_d(max);
            array<A> stat(3 * r.count());
            device().run(primitives::cross_entropy_local{part, h * half, max_d.get(), stat.get(), px.get(), ids.get(),
                                                         smoothing != 0});
            vec const got = stat.host();
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += got[i];
            array<T> pdx(elements(part));
            device().run(primitives::cross_entropy_vjp{part, h * half, r.n, pdx.get(), px.get(), ids.get(),
                                                       max_of.get(), sum_of.get(), dloss.get(), terms});
            check_close(pdx.host(), split(r, edx, h * half, half), tolerance<T>);
          }
        }
      array<A> const max_d(max), sums_d(sums);
      device().run(
          primitives::cross_entropy_finish<T>{r.count(), r.n, loss.get(), max_d.get(), sums_d.get(), ids.get(), terms});
      check_close(loss.host(), expected, tolerance<A>);
    }
}

TEST_CASE_TEMPLATE("a loss never reads pads, and leaves them as they are", T, float, double, bfloat16) {
  using A = compute_t<T>;
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (index const n : {1, 2, 5, 13, 64, 301, 2047})
    for (index const inner : {1, 3})
      for (index const pads : {1, 3, 8}) {
        rows const dense{21, n, inner}, padded{21, n, inner, n + pads};
        auto const with_pads = [&](vec const& from) {
          vec to(size(dense.outer * padded.step()), nan);
          for (index r = 0; r < dense.outer; ++r)
            std::copy_n(from.begin() + r * dense.step(), dense.step(), to.begin() + r * padded.step());
          return to;
        };
        array<std::int32_t> const ids(labels_for(dense));
        primitives::loss_terms<A> const terms{A(0.25), A(0.5)};
        array<A> const dloss(numbers(dense.count(), 2));
        auto const all = [&](rows const& r, vec const& logits) {
          std::vector<vec> results;
          array<T> const x(logits);
          array<A> const loss(r.count()), max(r.count()), sum(r.count()), largest(r.count()), lists(3 * r.count());
          device().run(primitives::cross_entropy{r, loss.get(), max.get(), sum.get(), x.get(), ids.get(), terms});
          device().run(primitives::row_max{r, A(1), largest.get(), x.get()});
          device().run(primitives::cross_entropy_local{r, 0, max.get(), lists.get(), x.get(), ids.get(), true});
          device().run(primitives::cross_entropy_vjp{r, 0, r.n, x.get(), x.get(), ids.get(), max.get(), sum.get(),
                                                     dloss.get(), terms});
          for (auto const* y : {&loss, &max, &sum, &largest, &lists}) results.push_back(y->host());
          results.push_back(x.host());
          return results;
        };
        vec const logits = numbers(elements(dense), 1);
        auto expected = all(dense, logits);
        expected.back() = with_pads(expected.back());
        auto const got = all(padded, with_pads(logits));
        CAPTURE(n);
        CAPTURE(inner);
        for (std::size_t i = 0; i < got.size(); ++i) {
          REQUIRE(got[i].size() == expected[i].size());
          for (std::size_t j = 0; j < got[i].size(); ++j)
            REQUIRE((got[i][j] == expected[i][j] || (std::isnan(got[i][j]) && std::isnan(expected[i][j]))));
        }
      }
}

TEST_CASE_TEMPLATE("embedding rows and their gradients", T, float, double, bfloat16) {
  for (index width : {1, 7, 64, 1000}) {
    index const vocab = 5, offset = 3, count = 40;
    vec ids;
    for (index i = 0; i < count; ++i) ids.push_back(static_cast<double>(i * 7 % 11));
    array<std::int32_t> const ids_d(ids);
    array<T> table(numbers(vocab * width, 1)), out(count * width), dy(numbers(count * width, 2));
    vec const t = table.host(), g = dy.host();
    using A = mtf::compute_t<T>;
    vec expected(size(count * width)), expected_table;
    std::vector<A> sums(t.begin(), t.end());
    for (index c = 0; c < count; ++c)
      for (index j = 0; j < width; ++j) {
        index const id = static_cast<index>(ids[size(c)]) - offset;
        if (id < 0 || id >= vocab) continue;
        expected[size(c * width + j)] = t[size(id * width + j)];
        sums[size(id * width + j)] += static_cast<A>(g[size(c * width + j)]);
      }
    for (A x : sums) expected_table.push_back(static_cast<A>(static_cast<T>(x)));
    device().run(primitives::take_rows{count, width, vocab, offset, 11, out.get(), table.get(), ids_d.get()});
    CHECK(out.host() == expected);
    device().run(primitives::add_rows{count, width, vocab, offset, 11, table.get(), dy.get(), ids_d.get()});
    CHECK(table.host() == expected_table);  // in the rows' order, to the bit: ranks with the same table stay alike
  }
}

/// Of a token that comes often no gradient is lost by rounding.
TEST_CASE_TEMPLATE("the gradient of a row that is taken often", T, float, double, bfloat16) {
  index const width = 3, count = 1024;
  array<std::int32_t> const ids(vec(size(count), 1));
  array<T> table(vec(size(2 * width), 0)), dy(vec(size(count * width), 1));
  device().run(primitives::add_rows{count, width, 2, 0, 2, table.get(), dy.get(), ids.get()});
  CHECK(table.host() == vec{0, 0, 0, 1024, 1024, 1024});
}

}  // namespace kernels
