#pragma once
// A backend in plain loops, for programs of float on one rank: what it takes to write one. It has the primitives that
// the example's model uses; one that it lacks is a compile error of the program that needs it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <mtf/backend/host.hpp>
#include <mtf/mtf.hpp>

namespace tiny {

using namespace mtf::primitives;
using mtf::backend::each;
using mtf::backend::index;

inline float dot(index n, float const* a, float const* b) { return std::inner_product(a, a + n, b, 0.0F); }

/// For each query of each head, f(its weights for all keys, 0 where it sees one not, offsets of q, k and v).
template <class P, class F>
void each_query(P const& p, F const& f) {
  std::vector<float> w(p.of.keys);
  each(p.of.batch, [&](auto const& at) {
    for (index i = 0; i < p.of.queries; ++i) {
      float const* const q = p.q + at[0] + i * p.of.q_row;
      for (index j = 0; j < p.of.keys; ++j)
        w[j] = p.of.seen.sees(i, j) ? std::exp(p.scale * dot(p.of.head, q, p.k + at[1] + j * p.of.k_row)) : 0;
      if (float const sum = std::accumulate(w.begin(), w.end(), 0.0F); sum > 0)
        for (float& x : w) x /= sum;
      f(w, at[0] + i * p.of.q_row, at[1], at[2]);
    }
  });
}

class backend : public mtf::backend::host {
 public:
  using host::host;

  /// What is compiled for dimensions that are split, and does not run on one rank.
  template <mtf::primitive P>
  void run(P const& p) {
    throw std::logic_error(p.name);
  }

  void run(fill<float> const& p) { std::fill_n(p.out, p.n, p.value); }
  template <class To, class From>
  void run(copy<To, From> const& p) {
    each(p.of, [&](auto const& at) { p.out[at[0]] = static_cast<To>(p.in[at[1]]); });
  }
  void run(add<float> const& p) { std::transform(p.x, p.x + p.n, p.inout, p.inout, std::plus<>()); }
  template <class F, class R, class... T>
  void run(map<F, R, T...> const& p) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      each(p.of, [&](auto const& at) { p.out[at[0]] = p.f(std::get<I>(p.in)[at[1 + I]]...); });
    }(std::index_sequence_for<T...>{});
  }
  template <class F, class... T>
  void run(map_vjp<F, float, T...> const& p) {
    [&]<std::size_t... I>(std::index_sequence<I...> all) {
      (gradient<I>(p, all), ...);
    }(std::index_sequence_for<T...>{});
  }
  void run(reduce<float> const& p) {
    each(p.of.kept, [&](auto const& at) {
      p.out[at[0]] = 0;
      each(p.of.reduced, [&](auto const& in) { p.out[at[0]] += p.in[at[1] + in[0]]; });
    });
  }
  void run(contract<float> const& p) {
    auto const& c = p.of;
    each(c.batch, [&](auto const& at) {
      for (index m = 0; m < c.m; ++m)
        for (index n = 0; n < c.n; ++n) {
          float& to = p.c[at[2] + m * c.c_m + n * c.c_n];
          to = (p.accumulate ? to : 0) + (p.bias != nullptr ? p.bias[n] : 0);
          for (index k = 0; k < c.k; ++k) to += p.a[at[0] + m * c.a_m + k * c.a_k] * p.b[at[1] + k * c.b_k + n * c.b_n];
        }
    });
  }
  // Of dense rows, as below: the model normalizes last dimensions. (Qualified: CUDA has a ::norm.)
  void run(mtf::primitives::norm<true, float> const& p) {
    index const n = p.of.n;
    for (index r = 0; r < p.of.count(); ++r) {
      std::vector<float> x(p.x + r * n, p.x + (r + 1) * n);
      p.mean[r] = std::accumulate(x.begin(), x.end(), 0.0F) / float(n);
      for (float& e : x) e -= p.mean[r];
      p.rstd[r] = 1 / std::sqrt(dot(n, x.data(), x.data()) / float(n) + p.eps);
      for (index j = 0; j < n; ++j) p.y[r * n + j] = x[std::size_t(j)] * p.rstd[r] * p.gamma[j] + p.beta[j];
    }
  }
  void run(norm_vjp<true, float> const& p) {
    index const n = p.of.n;
    for (float* sum : {p.dgamma, p.dbeta}) std::fill_n(sum, n, 0.0F);
    for (index r = 0; r < p.of.count(); ++r) {
      auto const xhat = [&](index j) { return (p.x[r * n + j] - p.mean[r]) * p.rstd[r]; };
      float const* const dy = p.dy + r * n;
      float const s1 = dot(n, dy, p.gamma) / float(n);
      float s2 = 0;
      for (index j = 0; j < n; ++j) s2 += dy[j] * p.gamma[j] * xhat(j) / float(n);
      for (index j = 0; j < n; ++j) {
        p.dgamma[j] += dy[j] * xhat(j);
        p.dbeta[j] += dy[j];
        p.dx[r * n + j] = (p.accumulate ? p.dx[r * n + j] : 0) + p.rstd[r] * (dy[j] * p.gamma[j] - s1 - xhat(j) * s2);
      }
    }
  }
  void run(attention<float> const& p) {
    each_query(p, [&](auto const& w, index q, index, index v) {
      std::fill_n(p.out + q, p.of.head, 0.0F);
      for (index j = 0; j < p.of.keys; ++j)
        for (index h = 0; h < p.of.head; ++h) p.out[q + h] += w[j] * p.v[v + j * p.of.v_row + h];
    });
  }
  void run(attention_vjp<float> const& p) {
    std::fill_n(p.dq, p.of.batch.size() * p.of.queries * p.of.head, 0.0F);
    for (float* to : {p.dk, p.dv}) std::fill_n(to, p.of.batch.size() * p.of.keys * p.of.head, 0.0F);
    each_query(p, [&](auto const& w, index q, index k, index v) {
      for (index j = 0; j < p.of.keys; ++j, k += p.of.k_row, v += p.of.v_row) {
        float const* const dout = p.dout + q;
        float const y = w[j], dy = dot(p.of.head, dout, p.v + v) - dot(p.of.head, dout, p.out + q);
        for (index h = 0; h < p.of.head; ++h) {
          p.dv[v + h] += y * dout[h];
          p.dq[q + h] += p.scale * y * dy * p.k[k + h];
          p.dk[k + h] += p.scale * y * dy * p.q[q + h];
        }
      }
    });
  }
  void run(take_rows<float> const& p) {
    for (index i = 0; i < p.count; ++i) std::copy_n(p.table + p.ids[i] * p.width, p.width, p.out + i * p.width);
  }
  void run(add_rows<float> const& p) {
    for (index i = 0; i < p.count * p.width; ++i)
      p.table_gradient[p.ids[i / p.width] * p.width + i % p.width] += p.dy[i];
  }
  void run(cross_entropy<float> const& p) {
    for (index r = 0; r < p.of.count(); ++r) {
      float const* const x = p.logits + r * p.of.n;
      float const max = *std::max_element(x, x + p.of.n);
      p.max[r] = max;
      p.sum[r] = std::accumulate(x, x + p.of.n, 0.0F, [=](float s, float e) { return s + std::exp(e - max); });
      p.loss[r] = std::log(p.sum[r]) - (x[p.labels[r]] - max);
    }
  }
  void run(cross_entropy_vjp<float> const& p) {
    for (index i = 0, r = 0; i < p.of.count() * p.of.n; r = ++i / p.of.n)
      p.dlogits[i] =
          p.dloss[r] * (std::exp(p.logits[i] - p.max[r]) / p.sum[r] - (i % p.of.n == p.labels[r] ? 1.0F : 0.0F));
  }

 private:
  template <std::size_t J, class P, std::size_t... I>
  void gradient(P const& p, std::index_sequence<I...>) {
    auto* const dx = static_cast<float*>(p.dx[J].at);
    if (!p.dx[J].wanted) return;
    std::size_t const to = p.dx[J].row ? 1 + J : 0;  // a row gets the sum over its repetitions
    if (to > 0) each(p.of, [&](auto const& at) { dx[at[to]] = 0; });
    each(p.of, [&](auto const& at) {
      float const slope = mtf::math::derivative<J>(p.f, std::get<I>(p.in)[at[1 + I]]...);
      float const d = slope == 0 ? 0 : mtf::math::chained(p.dy[at[0]], slope);
      dx[at[to]] = d + (to > 0 ? dx[at[to]] : 0);
    });
  }
};

}  // namespace tiny
