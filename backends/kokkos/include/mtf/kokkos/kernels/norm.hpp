#pragma once
// Layer norm (Centered) and RMS norm over dense rows, forward and backward, and the steps for a split dimension. With
// xhat = (x - mean) * rstd: y = xhat * gamma + beta; RMS norm has mean 0 and no beta.
#include <mtf/backend/primitives/norm.hpp>
#include <mtf/kokkos/kernels/reduce.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/kokkos/launch/row_view.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

/// The sum of (x - center)^2 over a row.
template <class Team, class T, class A = compute_t<T>>
MTF_FUNCTION A square_sum_of(Team const& team, index n, T const* in, A center) {
  return team.template reduce_row<sum_op, A>(n, in, [=](A x) MTF_INLINE_LAMBDA { return (x - center) * (x - center); });
}

/// y = (x - center) * factor * gamma + beta over a row; beta may be null.
template <class Team, class T, class A = compute_t<T>>
MTF_FUNCTION void write_norm(Team const& team, index n, T* y, T const* x, T const* gamma, T const* beta, A center,
                             A factor) {
  if (beta != nullptr)
    team.write_row(
        n, y, [=](index, A x_j, A scale, A shift) MTF_INLINE_LAMBDA { return (x_j - center) * factor * scale + shift; },
        x, gamma, beta);
  else
    team.write_row(
        n, y, [=](index, A x_j, A scale) MTF_INLINE_LAMBDA { return (x_j - center) * factor * scale; }, x, gamma);
}

template <bool Centered, class T>
struct norm_row {
  using A = compute_t<T>;
  A eps;
  A* mean;
  A* rstd;
  T const* gamma;
  T const* beta;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    A center = 0;
    if constexpr (Centered) center = sum_of(team, n, in) / static_cast<A>(n);
    A const factor = A(1) / Kokkos::sqrt(square_sum_of(team, n, in, center) / static_cast<A>(n) + eps);
    team.once([&] {
      if constexpr (Centered) mean[r] = center;
      rstd[r] = factor;
    });
    write_norm(team, n, out, in, gamma, beta, center, factor);
  }
};

/// y from global statistics.
template <bool Centered, class T>
struct norm_apply_row {
  compute_t<T> const* mean;
  compute_t<T> const* rstd;
  T const* gamma;
  T const* beta;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    write_norm(team, n, out, in, gamma, beta, Centered ? mean[r] : compute_t<T>(0), rstd[r]);
  }
};

/// The sum of (x - mean)^2 of each row; mean null: 0.
template <class T>
struct square_sum_row {
  compute_t<T> const* mean;

  template <class Team>
  KOKKOS_FUNCTION compute_t<T> operator()(Team const& team, index r, index n, T const* in) const {
    return square_sum_of(team, n, in, mean != nullptr ? mean[r] : compute_t<T>(0));
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

/// What the backward pass reads.
template <bool Centered, class T>
struct norm_vjp_operands {
  using A = compute_t<T>;
  T const* dy;
  T const* x;
  T const* gamma;
  A const* mean;
  A const* rstd;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION A center(index r) const { return Centered ? mean[r] : A(0); }

  /// s1 = sum dy gamma, s2 = sum dy gamma xhat, over row r.
  template <class Team, class... Next>
  KOKKOS_FUNCTION two<A> sums(Team const& team, index r, index n, Next*... next) const {
    T const* const g = dy + r * n;
    T const* const in = x + r * n;
    T const* const weight = gamma;
    A const middle = center(r), factor = rstd[r];
    return team.template sum2<A>(
        n,
        [=](index j) MTF_INLINE_LAMBDA {
          A const d = load(g[j]) * load(weight[j]);
          return two<A>{d, d * ((load(in[j]) - middle) * factor)};
        },
        g + n, in + n, next...);
  }
};

template <bool Centered, class T>
struct norm_vjp_sums_body {
  norm_vjp_operands<Centered, T> of;
  index n;
  compute_t<T>* s1;
  compute_t<T>* s2;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    auto const s = of.sums(team, r, n);
    team.once([&] {
      s1[r] = s.first;
      s2[r] = s.second;
    });
  }
};

/// The backward pass of a block of rows: dx, added to what is there if `accumulate`, and the block's part of dgamma and
/// dbeta in `partial`, which holds [block][dgamma, dbeta][n]. The row sums are taken here if s1 is null.
template <bool Centered, class T>
struct norm_vjp_body {
  using A = compute_t<T>;
  norm_vjp_operands<Centered, T> of;
  index n, n_global, count;
  A const* s1;
  A const* s2;
  T* dx;
  bool accumulate;
  index block_rows = 0;
  A* partial = nullptr;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index block) const {
    A* const dgamma = partial + block * 2 * n;
    A* const dbeta = dgamma + n;
    team.each(n, [=](index j) { dgamma[j] = dbeta[j] = 0; });
    index const begin = block * block_rows;
    index const end = begin + block_rows < count ? begin + block_rows : count;
    for (index r = begin; r < end; ++r) {
      A const center = of.center(r), factor = of.rstd[r];
      T const* const g = of.dy + r * n;
      T const* const in = of.x + r * n;
      T const* const weight = of.gamma;
      T* const out = dx + r * n;
      two<A> s{A(0), A(0)};
      if (s1 != nullptr)
        s = {s1[r], s2[r]};
      else
        s = of.sums(team, r, n, out + n);
      A const mean1 = Centered ? s.first / static_cast<A>(n_global) : A(0), mean2 = s.second / static_cast<A>(n_global);
      auto const write = [&](auto adds) {
        team.each(n, [=](index j) MTF_INLINE_LAMBDA {
          A const d = load(g[j]), xhat = (load(in[j]) - center) * factor;
          A const before = decltype(adds)::value ? load(out[j]) : A(0);
          out[j] = convert<T>(before + factor * (d * load(weight[j]) - mean1 - xhat * mean2));
          dgamma[j] += d * xhat;
          if constexpr (Centered) dbeta[j] += d;
        });
      };
      if (accumulate)
        write(std::true_type{});
      else
        write(std::false_type{});
    }
  }
};

#if MTF_HAS_DEVICES
/// The same by a device's team of which each thread keeps, of at most K packs of columns, what it read and its sums.
template <bool Centered, class T, int K>
struct norm_vjp_in_registers {
  using A = compute_t<T>;
  static constexpr int width = pack_width<T>;
  norm_vjp_body<Centered, T> all;
  bool whole;  // packs may be accessed at once

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index block) const {
    index const n = all.n, begin = block * all.block_rows,
                end = begin + all.block_rows < all.count ? begin + all.block_rows : all.count;
    pack<A, width> weight[K], dgamma[K], dbeta[K];
    team.template each_own<K, width>(n, [&](int k, index j) {
      auto const from = load_pack<width>(all.of.gamma + j, 1, n - j, whole);
      for (int v = 0; v < width; ++v) {
        weight[k].x[v] = load(from.x[v]);
        dgamma[k].x[v] = dbeta[k].x[v] = A(0);
      }
    });
    for (index r = begin; r < end; ++r) {
      A const center = all.of.center(r), factor = all.of.rstd[r];
      T const *const g = all.of.dy + r * n, *const in = all.of.x + r * n;
      T* const out = all.dx + r * n;
      pack<A, width> d[K], xhat[K];
      two<A> s{A(0), A(0)};
      team.template each_own<K, width>(n, [&](int k, index j) {
        auto const gradient = load_pack<width>(g + j, 1, n - j, whole), x = load_pack<width>(in + j, 1, n - j, whole);
        for (int v = 0; v < width; ++v) {
          d[k].x[v] = load(gradient.x[v]);
          xhat[k].x[v] = (load(x.x[v]) - center) * factor;
          A const weighted = d[k].x[v] * weight[k].x[v];
          if (j + v < n) s += two<A>{weighted, weighted * xhat[k].x[v]};
        }
      });
      s = all.s1 != nullptr ? two<A>{all.s1[r], all.s2[r]} : team.sum_of_threads(s);
      A const mean1 = Centered ? s.first / static_cast<A>(all.n_global) : A(0),
              mean2 = s.second / static_cast<A>(all.n_global);
      team.template each_own<K, width>(n, [&](int k, index j) {
        pack<T, width> y{};
        if (all.accumulate) y = load_pack<width>(out + j, 1, n - j, whole);
        for (int v = 0; v < width; ++v) {
          A const before = all.accumulate ? load(y.x[v]) : A(0);
          y.x[v] = convert<T>(before + factor * (d[k].x[v] * weight[k].x[v] - mean1 - xhat[k].x[v] * mean2));
          dgamma[k].x[v] += d[k].x[v] * xhat[k].x[v];
          dbeta[k].x[v] += d[k].x[v];
        }
        store_pack<width>(out + j, 1, n - j, whole, y);
      });
    }
    team.template each_own<K, width>(n, [&](int k, index j) {
      store_pack<width>(all.partial + block * 2 * n + j, 1, n - j, whole, dgamma[k]);
      store_pack<width>(all.partial + (block * 2 + 1) * n + j, 1, n - j, whole, dbeta[k]);
    });
  }
};
/// A thread has 8 columns, or 16 of the longest rows. False: the rows are too long.
template <bool Centered, class Exec, class T>
bool norm_backward_in_registers(device<Exec>& on, norm_vjp_body<Centered, T> const& body, index blocks) {
  constexpr int width = pack_width<T>;
  bool const whole = has_whole_packs<width>(body.n, body.of.dy) && has_whole_packs<width>(body.n, body.of.x) &&
                     has_whole_packs<width>(body.n, body.of.gamma) && has_whole_packs<width>(body.n, body.dx) &&
                     has_whole_packs<width>(body.n, body.partial);
  auto const by = [&]<int K>(std::integral_constant<int, K>, int threads) {
    if constexpr (host_accessible<Exec>) threads = 1;  // a team of the host's, in tests
    return body.n <= K * width * threads && for_blocks_by_teams_of(threads, "mtf::norm_vjp", on.exec, blocks,
                                                                   norm_vjp_in_registers<Centered, T, K>{body, whole});
  };
  constexpr std::integral_constant<int, 8 / width> eight{};
  return by(eight, 128) || by(eight, 256) || by(std::integral_constant<int, 16 / width>{}, 256);
}
#endif

/// Launches norm_vjp_body over blocks of rows, then adds up the blocks.
template <bool Centered, class Exec, class T>
void norm_backward(device<Exec>& on, norm_vjp_body<Centered, T> body, T* dgamma, T* dbeta) {
  using A = compute_t<T>;
  // On a device two blocks for each of its processors, of which there are about 132; more of short rows, while one of
  // which waits for its sums another loads.
  index const on_device = 264 * std::clamp<index>(4096 / std::max<index>(body.n, 1), 1, 4);
  index const blocks = std::max(
      runs_on_host<Exec> ? std::clamp<index>(body.count / 8, 1, 64) : std::clamp<index>(body.count / 4, 1, on_device),
      ceil_div(body.count, rows_added_up));
  body.block_rows = std::max<index>(1, ceil_div(body.count, blocks));
  workspace<A, Exec> partial(on, blocks * 2 * body.n);
  body.partial = partial.get();
  bool done = false;
  if constexpr (!runs_on_host<Exec>) done = norm_backward_in_registers(on, body, blocks);
  if (!done) for_blocks_of_rows("mtf::norm_vjp", on.exec, blocks, body.n, body);

  if (dgamma != nullptr) add_rows_up(on, blocks, 2 * body.n, body.n, dgamma, static_cast<A const*>(partial.get()));
  if constexpr (Centered)
    if (dbeta != nullptr)
      add_rows_up(on, blocks, 2 * body.n, body.n, dbeta, static_cast<A const*>(partial.get() + body.n));
}

template <class Exec, bool Centered, class T>
void compute(device<Exec>& on, primitives::norm<Centered, T> const& p) {
  write_rows(on, p.name, p.of, norm_row<Centered, T>{p.eps, p.mean, p.rstd, p.gamma, p.beta}, p.y, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_square_sum<T> const& p) {
  number_rows(on, p.name, p.of, square_sum_row<T>{p.mean}, p.out, p.x);
}
template <class Exec, class A>
void compute(device<Exec>& on, primitives::rows_statistics<A> const& p) {
  for_elements(p.name, on.exec, p.n, rows_statistics_body<A>{p.eps, p.n_global, p.inout});
}
template <class Exec, bool Centered, class T>
void compute(device<Exec>& on, primitives::norm_apply<Centered, T> const& p) {
  write_rows(on, p.name, p.of, norm_apply_row<Centered, T>{p.mean, p.rstd, p.gamma, p.beta}, p.y, p.x);
}
template <class Exec, bool Centered, class T>
void compute(device<Exec>& on, primitives::norm_vjp_sums<Centered, T> const& p) {
  row_operand<T, Exec> const g(on, p.of, p.dy), in(on, p.of, p.x);
  norm_vjp_sums_body<Centered, T> const body{{g.get(), in.get(), p.gamma, p.mean, p.rstd}, p.of.n, p.s1, p.s2};
  for_rows(p.name, on.exec, p.of.count(), p.of.n, body);
}
template <class Exec, bool Centered, class T>
void compute(device<Exec>& on, primitives::norm_vjp<Centered, T> const& p) {
  row_result<T, Exec> out(on, p.of, p.dx);
  row_operand<T, Exec> const g(on, p.of, p.dy), in(on, p.of, p.x);
  norm_backward(on,
                norm_vjp_body<Centered, T>{{g.get(), in.get(), p.gamma, p.mean, p.rstd},
                                           p.of.n,
                                           p.s1 != nullptr ? p.n_global : p.of.n,
                                           p.of.count(),
                                           p.s1,
                                           p.s2,
                                           out.get(),
                                           p.accumulate},
                p.dgamma, p.dbeta);
}

MTF_COMPILED_NORM(device, norm)
MTF_COMPILED(device, row_square_sum)
MTF_COMPILED_NORM(device, norm_apply)
MTF_COMPILED_NORM(device, norm_vjp_sums)
MTF_COMPILED_NORM(device, norm_vjp)

}  // namespace mtf::kokkos
