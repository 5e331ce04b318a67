#pragma once
// Layer norm (Centered) and RMS norm over dense rows, forward and backward, whole or in pieces. With
// xhat = (x - mean) * rstd: y = xhat * gamma + beta; RMS norm has mean 0 and no beta.
#include <mtf/kokkos/copy.hpp>
#include <mtf/kokkos/reduce.hpp>

namespace mtf::detail {

template <bool Centered, class T>
struct norm_body {
  using A = compute_t<T>;
  index n;
  A eps;
  T* y;
  A* mean;
  A* rstd;
  T const* x;
  T const* gamma;
  T const* beta;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    A center = 0;
    if constexpr (Centered) center = team.template sum<A>(n, [=](index j) { return load(in[j]); }) / static_cast<A>(n);
    A const squares = team.template sum<A>(n, [=](index j) {
      A const d = load(in[j]) - center;
      return d * d;
    });
    A const factor = A(1) / Kokkos::sqrt(squares / static_cast<A>(n) + eps);
    team.once([&] {
      if constexpr (Centered) mean[r] = center;
      rstd[r] = factor;
    });
    write<T>(team, n, y + r * n, in, gamma, beta, center, factor);
  }

  /// y = (x - center) * factor * gamma + beta; beta may be null.
  template <class, class Team>
  KOKKOS_FUNCTION static void write(Team const& team, index n, T* y, T const* x, T const* gamma, T const* beta,
                                    A center, A factor) {
    if (beta != nullptr)
      team.each(n,
                [=](index j) { y[j] = convert<T>((load(x[j]) - center) * factor * load(gamma[j]) + load(beta[j])); });
    else
      team.each(n, [=](index j) { y[j] = convert<T>((load(x[j]) - center) * factor * load(gamma[j])); });
  }
};

template <bool Centered, class T>
struct norm_apply_body {
  using A = compute_t<T>;
  index n;
  A const* mean;
  A const* rstd;
  T* y;
  T const* x;
  T const* gamma;
  T const* beta;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    norm_body<Centered, T>::template write<T>(team, n, y + r * n, x + r * n, gamma, beta, Centered ? mean[r] : A(0),
                                              rstd[r]);
  }
};

/// The sum of (x - mean)^2 of each row.
template <class T>
struct row_square_sum_body {
  using A = compute_t<T>;
  index n;
  A const* mean;
  A* out;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    A const center = mean != nullptr ? mean[r] : A(0);
    A const sum = team.template sum<A>(n, [=](index j) {
      A const d = load(in[j]) - center;
      return d * d;
    });
    team.once([&] { out[r] = sum; });
  }
};

template <class A>
struct rows_statistics_body {
  A eps;
  index n;
  A* inout;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index r) const {
    inout[r] = A(1) / Kokkos::sqrt(inout[r] / static_cast<A>(n) + eps);
  }
};

/// s1 = sum dy gamma, s2 = sum dy gamma xhat, over one row.
template <class Team, class T, class A = compute_t<T>>
KOKKOS_FUNCTION two<A> norm_sums(Team const& team, index n, T const* dy, T const* x, T const* gamma, A center,
                                 A factor) {
  return team.template sum2<A>(n, [=](index j) {
    A const g = load(dy[j]) * load(gamma[j]);
    return two<A>{g, g * ((load(x[j]) - center) * factor)};
  });
}

template <bool Centered, class T>
struct norm_vjp_sums_body {
  using A = compute_t<T>;
  index n;
  A* s1;
  A* s2;
  T const* dy;
  T const* x;
  T const* gamma;
  A const* mean;
  A const* rstd;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    auto const s = norm_sums(team, n, dy + r * n, x + r * n, gamma, Centered ? mean[r] : A(0), rstd[r]);
    team.once([&] {
      s1[r] = s.first;
      s2[r] = s.second;
    });
  }
};

/// The backward pass of a block of rows: dx, and the block's part of dgamma and dbeta in `partial`, which holds
/// [block][dgamma, dbeta][n]. The row sums are taken here if s1 is null.
template <bool Centered, class T>
struct norm_vjp_body {
  using A = compute_t<T>;
  index n, n_global, count, block_rows;
  A const* s1;
  A const* s2;
  T* dx;
  A* partial;
  T const* dy;
  T const* x;
  T const* gamma;
  A const* mean;
  A const* rstd;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index block) const {
    A* const dgamma = partial + block * 2 * n;
    A* const dbeta = dgamma + n;
    team.each(n, [=](index j) { dgamma[j] = dbeta[j] = 0; });
    index const begin = block * block_rows;
    index const end = begin + block_rows < count ? begin + block_rows : count;
    for (index r = begin; r < end; ++r) {
      A const center = Centered ? mean[r] : A(0), factor = rstd[r];
      T const* const g = dy + r * n;
      T const* const in = x + r * n;
      T const* const weight = gamma;
      T* const out = dx + r * n;
      two<A> s{A(0), A(0)};
      if (s1 != nullptr)
        s = {s1[r], s2[r]};
      else
        s = norm_sums(team, n, g, in, gamma, center, factor);
      A const mean1 = Centered ? s.first / static_cast<A>(n_global) : A(0), mean2 = s.second / static_cast<A>(n_global);
      team.each(n, [=](index j) {
        A const d = load(g[j]), xhat = (load(in[j]) - center) * factor;
        out[j] = convert<T>(factor * (d * load(weight[j]) - mean1 - xhat * mean2));
        dgamma[j] += d * xhat;
        if constexpr (Centered) dbeta[j] += d;
      });
    }
  }
};

/// Launches norm_vjp_body over blocks of rows, then adds up the blocks.
template <bool Centered, class Exec, class T>
void norm_backward(device<Exec>& on, norm_vjp_body<Centered, T> body, T* dgamma, T* dbeta) {
  using A = compute_t<T>;
  index const blocks = std::clamp<index>(body.count / 8, 1, runs_on_host<Exec> ? 64 : 512);
  body.block_rows = std::max<index>(1, ceil_div(body.count, blocks));
  workspace<A, Exec> partial(on, blocks * 2 * body.n);
  body.partial = partial.get();
  for_rows("mtf::norm_vjp", on.exec, blocks, body.n, body);

  reduction blocks_of_column;
  blocks_of_column.kept = {1, {body.n}, {{{1}, {1}}}};
  blocks_of_column.reduced = {1, {blocks}, {{{2 * body.n}}}};
  auto const add_blocks = [&](A const* from, T* out) {
    if (out == nullptr) return;
    if constexpr (std::is_same_v<T, A>) {
      reduce(on, combine::sum, blocks_of_column, out, from, false);
    } else {
      workspace<A, Exec> sum(on, body.n);
      reduce(on, combine::sum, blocks_of_column, sum.get(), from, false);
      copy(on, blocks_of_column.kept, out, sum.get());
    }
  };
  add_blocks(partial.get(), dgamma);
  if constexpr (Centered) add_blocks(partial.get() + body.n, dbeta);
}

}  // namespace mtf::detail
