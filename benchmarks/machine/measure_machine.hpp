#pragma once
// Measures what a description of a machine says of this computer: all ranks do the same at the same time, as in a step.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/buffer.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

#include "../measure.hpp"

namespace measured {

namespace primitives = mtf::primitives;
using mtf::backend::index;

struct gelu_of_sum {
  template <class A, class B>
  MTF_FUNCTION auto operator()(A x, B bias) const {
    return mtf::math::gelu(x + bias);
  }
};

/// Of two measurements of one computer the faster, speed by speed.
inline mtf::machine_description fastest(mtf::machine_description a, mtf::machine_description const& b) {
  auto const faster = [](mtf::speed_table& x, mtf::speed_table const& y) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.count); ++i)
      x.at[i].per_second = std::max(x.at[i].per_second, y.at[i].per_second);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.primitive_count); ++i)
    faster(a.primitives[i].speeds, b.primitives[i].speeds);
  for (std::size_t k = 0; k < mtf::machine_description::kinds; ++k) faster(a.in_node[k].speeds, b.in_node[k].speeds);
  a.between_nodes = a.in_node;
  a.overlap = std::max(a.overlap, b.overlap);
  return a;
}

template <class Backend>
class measurement {
 public:
  /// Of the ranks that share this computer.
  explicit measurement(Backend& b) : b_(b), memory_(mtf::backend::make_buffer<float>(b, pool)) {
    b_.run(primitives::fill{data(0), pool, 0.01F});
    ids_ = mtf::backend::make_buffer<std::int32_t>(b, most_rows);
    std::vector<std::int32_t> host(most_rows);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::int32_t>(i * 7919 % 1024);
    b_.from_host(mtf::backend::data_of<std::int32_t>(ids_), host.data(), host.size() * sizeof(std::int32_t));
  }

  mtf::machine_description machine(std::string const& name, bool only_float = false) {
    int const ranks = b_.ranks().mesh().size();
    mtf::machine_description m;
    m.name = mtf::short_name(name);
    m.ranks_per_node = ranks;
    products<float>(m);
    attention<float>(m);
    if (!only_float) {
      products<double>(m);
      products<mtf::bfloat16>(m);
      attention<double>(m);
      attention<mtf::bfloat16>(m);
    }
    kernels(m);
    if (ranks > 1) {
      links(m);
      m.overlap = overlap();
    }
    return m;
  }

 private:
  // What a step finds in memory is taken from a pool larger than the caches, one after the other, as a step uses others
  // in between: operands of products, of attention and of optimizers, what a kernel of the forward pass gives (it is
  // kept), and what one of the backward pass reads of the forward pass. What was computed just before is in the caches.
  static constexpr index pool = index{64} << 20U, most_rows = 1 << 16;

  float* data(index at) { return mtf::backend::data_of<float>(memory_) + at; }
  template <class T>
  T* next(index n) {
    index const floats = (n * static_cast<index>(sizeof(T)) + 255) / 256 * 64;
    if (at_ + floats > pool) at_ = 0;
    return reinterpret_cast<T*>(data(std::exchange(at_, at_ + floats)));
  }

  /// The seconds of a run while all ranks do it: the median.
  double seconds(std::function<void()> const& f) {
    f();
    b_.fence();
    double const once = std::max(1e-7, slowest(measure::seconds([&] {
                                   f();
                                   b_.fence();
                                 })));
    // Short ones are timed several at a time: the clock and the barrier cost some tenths of a microsecond.
    int const batch = static_cast<int>(std::clamp(5e-5 / once, 1.0, 256.0)),
              rounds = static_cast<int>(std::clamp(0.02 / (once * batch), 3.0, 41.0));
    std::vector<double> taken;
    for (int i = 0; i < rounds; ++i) {
      b_.ranks().barrier();
      taken.push_back(slowest(measure::seconds([&] {
                                for (int k = 0; k < batch; ++k) f();
                                b_.fence();
                              }) /
                              batch));
    }
    return measure::median(taken);
  }
  double slowest(double x) {
    auto const everyone = (mtf::axis_mask{1} << static_cast<unsigned>(b_.ranks().mesh().ndim)) - 1;
    if (b_.ranks().mesh().size() == 1) return x;
    double most = x;
    b_.ranks().communicate(mtf::collective::all_reduce(everyone, mtf::combine::max, mtf::element::f64, 1), &most,
                           &most);
    return most;
  }

  template <class T>
  void products(mtf::machine_description& m) {
    mtf::primitive_speed speed{mtf::short_name(primitives::contract<T>::name), mtf::limit::matrix, sizeof(T), {}};
    constexpr index tokens = 2048, wide = 512;
    for (index const thin : {8, 16, 32, 64, 128, 256, 512, 1024}) {
      // The products of a linear layer whose input or output is thin, or less wide: forward, and for both gradients.
      double flops = 0, taken = 0;
      for (auto const& [in, out] : {std::pair{thin, wide}, std::pair{wide, thin}})
        for (int product = 0; product < 3; ++product) {
          mtf::backend::contraction c;
          if (product == 0) {  // y = x w
            c.m = tokens, c.n = out, c.k = in;
            c.a_m = in, c.a_k = 1, c.b_k = out, c.b_n = 1;
          } else if (product == 1) {  // dx = dy w^T
            c.m = tokens, c.n = in, c.k = out;
            c.a_m = out, c.a_k = 1, c.b_k = 1, c.b_n = out;
          } else {  // dw = x^T dy
            c.m = in, c.n = out, c.k = tokens;
            c.a_m = 1, c.a_k = in, c.b_k = out, c.b_n = 1;
          }
          c.c_m = c.n, c.c_n = 1;
          flops += c.flops();
          taken += seconds(
              [&] { b_.run(primitives::contract<T>{c, next<T>(c.m * c.k), next<T>(c.k * c.n), next<T>(c.m * c.n)}); });
        }
      speed.speeds.add({static_cast<double>(thin), flops / taken});
    }
    m.add(speed);
  }

  template <class T>
  void attention(mtf::machine_description& m) {
    mtf::primitive_speed forward{mtf::short_name(primitives::attention<T>::name), mtf::limit::matrix, sizeof(T), {}},
        backward{mtf::short_name(primitives::attention_vjp<T>::name), mtf::limit::matrix, sizeof(T), {}};
    for (index const head : {16, 32, 64, 128}) {
      mtf::backend::attention_shape s;
      // Tensors [batch, queries, heads, head].
      index const batch = 4, heads = 8, queries = 256, row = heads * head, size = batch * queries * row;
      mtf::backend::extents const strides{queries * row, head};
      s.batch = {.ndim = 2, .extent = {batch, heads}, .stride = {strides, strides, strides, strides}};
      s.queries = s.keys = queries;
      s.head = s.values = head;
      s.q_row = s.k_row = s.v_row = s.out_row = row;
      auto* const max = next<mtf::compute_t<T>>(batch * heads * queries);
      auto* const sum = next<mtf::compute_t<T>>(batch * heads * queries);
      auto const tensor = [&] { return next<T>(size); };
      auto const f = [&] {
        return primitives::attention<T>{s, 0.1F, tensor(), max, sum, tensor(), tensor(), tensor()};
      };
      auto const v = [&] {
        return primitives::attention_vjp<T>{s,        0.1F,     tensor(), tensor(), tensor(), tensor(),
                                            tensor(), tensor(), tensor(), max,      sum,      tensor()};
      };
      forward.speeds.add({static_cast<double>(head), f().flops() / seconds([&] { b_.run(f()); })});
      backward.speeds.add({static_cast<double>(head), v().flops() / seconds([&] { b_.run(v()); })});
    }
    m.add(forward);
    m.add(backward);
  }

  /// The speed of a primitive by the bytes that it moves; `make` takes the number of rows of 1024 elements.
  template <class Make>
  void kernel(mtf::machine_description& m, bool any, Make const& make) {
    using P = std::remove_cvref_t<decltype(make(index{1}))>;
    mtf::primitive_speed speed{mtf::short_name(any ? "" : P::name), mtf::limit::memory, 0, {}};
    for (index const rows : {1, 8, 64, 512, 4096}) {
      auto const p = make(rows);
      speed.speeds.add({p.bytes(), p.bytes() / seconds([&] { b_.run(make(rows)); })});
    }
    m.add(speed);
  }

  void kernels(mtf::machine_description& m) {
    constexpr index width = 1024, most = 4096 * width;
    using mtf::backend::extents;
    std::array<float*, 4> a{};
    for (auto& x : a) x = next<float>(most);
    float *const row1 = next<float>(most_rows), *const row2 = next<float>(most_rows),
                 *const row3 = next<float>(most_rows), *const column = next<float>(width),
                 *const column2 = next<float>(width), *const column3 = next<float>(width);
    using in = float const*;
    auto const* const ids = mtf::backend::data_of<std::int32_t>(ids_);
    auto const kept = [&](index n) { return next<float>(n * width); };
    auto const rows_of = [](index n) { return mtf::backend::rows{.outer = n, .n = width, .inner = 1}; };
    auto const flat = [](index n) {
      return mtf::backend::loops<2>{.ndim = 1, .extent = {n * width}, .stride = {extents{1}, extents{1}}};
    };
    auto const with_bias = [](index n) {
      return mtf::backend::loops<3>{
          .ndim = 2, .extent = {n, width}, .stride = {extents{width, 1}, extents{width, 1}, extents{0, 1}}};
    };
    auto const to_columns = [](index n) {
      return mtf::backend::reduction{.kept = {.ndim = 1, .extent = {width}, .stride = {extents{1}, extents{1}}},
                                     .reduced = {.ndim = 1, .extent = {n}, .stride = {extents{width}}}};
    };
    kernel(m, true, [&](index n) { return primitives::copy<float, float>{flat(n), kept(n), a[1]}; });
    kernel(m, false,
           [&](index n) { return primitives::map_of(gelu_of_sum{}, with_bias(n), kept(n), in(a[1]), in(column)); });
    kernel(m, false, [&](index n) {
      return primitives::map_vjp_of(gelu_of_sum{}, with_bias(n), {{{a[0]}, {column2, true}}}, in(a[1]), in(kept(n)),
                                    in(column));
    });
    kernel(m, false, [&](index n) {
      return primitives::norm<true, float>{rows_of(n), 1e-5F, kept(n), row1, row2, in(a[1]), in(column), in(column2)};
    });
    kernel(m, false, [&](index n) {
      return primitives::norm_vjp<true, float>{rows_of(n),  a[0],       column2, column3, in(a[1]),
                                               in(kept(n)), in(column), row1,    row2};
    });
    kernel(m, false, [&](index n) { return primitives::softmax<float>{rows_of(n), 0.5F, {}, kept(n), in(a[1])}; });
    kernel(m, false,
           [&](index n) { return primitives::softmax_vjp<float>{rows_of(n), 0.5F, a[0], in(kept(n)), in(a[2])}; });
    kernel(m, false,
           [&](index n) { return primitives::cross_entropy<float>{rows_of(n), row1, row2, row3, in(a[0]), ids}; });
    kernel(m, false, [&](index n) {
      return primitives::cross_entropy_vjp<float>{rows_of(n), 0, width, kept(n), in(a[0]), ids, row2, row3, in(row1)};
    });
    kernel(m, false,
           [&](index n) { return primitives::reduce<float>{mtf::combine::sum, to_columns(n), column2, in(a[0])}; });
    kernel(m, false,
           [&](index n) { return primitives::take_rows<float>{n, width, width, 0, width, kept(n), in(a[1]), ids}; });
    kernel(m, false,
           [&](index n) { return primitives::add_rows<float>{n, width, width, 0, width, a[0], in(a[1]), ids}; });
    kernel(m, false,
           [&](index n) { return primitives::square_sum<float>{n * width, next<double>(1), next<float>(n * width)}; });
    kernel(m, false, [&](index n) {
      index const size = n * width;
      float* const parameter = next<float>(size);
      float* const first = next<float>(size);
      float* const second = next<float>(size);
      return primitives::update<mtf::updates::adamw<float>, float>{
          size, parameter, next<float>(size), {first, second}, {1e-3F, 0.1F, 0.05F, 1e-8F, 0.1F, 1.0F, 1.0F}, nullptr};
    });
  }

  void links(mtf::machine_description& m) {
    int const ranks = b_.ranks().mesh().size(), rank = b_.ranks().rank();
    auto const axes = (mtf::axis_mask{1} << static_cast<unsigned>(b_.ranks().mesh().ndim)) - 1;
    for (auto const kind : mtf::machine_description::link_kinds) {
      // What a collective costs whatever it sends is in the speed of the smallest.
      for (std::size_t const n : {1U, 1U << 10U, 1U << 14U, 1U << 18U, 1U << 21U}) {
        auto const c = of(kind, axes, n, ranks, rank);
        auto const sent = static_cast<double>(mtf::bytes_sent(kind, c.payload(ranks), ranks));
        m.in_node[static_cast<std::size_t>(kind)].speeds.add(
            {sent, sent / seconds([&] { b_.communicate(c, data(0), data(pool / 2)); })});
      }
      m.between_nodes = m.in_node;
    }
  }

  /// Of `n` floats that a rank puts in, or gets of each other; of a permute a ring.
  static mtf::collective of(mtf::collective_kind kind, mtf::axis_mask axes, std::size_t n, int ranks, int rank) {
    auto const type = mtf::element::f32;
    switch (kind) {
      case mtf::collective_kind::reduce_scatter:
        return mtf::collective::reduce_scatter(axes, type, n);
      case mtf::collective_kind::all_gather:
        return mtf::collective::all_gather(axes, type, n);
      case mtf::collective_kind::all_to_all:
        return mtf::collective::all_to_all(axes, type, n);
      case mtf::collective_kind::permute:
        return mtf::collective::permute(axes, type, n, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
      default:
        return mtf::collective::all_reduce(axes, mtf::combine::sum, type, n);
    }
  }

  /// The share of a started all-reduce that products beside it hide.
  double overlap() {
    auto const axes = (mtf::axis_mask{1} << static_cast<unsigned>(b_.ranks().mesh().ndim)) - 1;
    std::size_t const count = std::size_t{1} << 21U;
    float const* const in = data(0);
    float* const out = data(pool / 2);
    mtf::backend::contraction c;
    c.m = c.n = c.k = 512;
    c.a_m = c.b_k = c.c_m = 512, c.a_k = c.b_n = c.c_n = 1;
    float* const memory = data(pool / 4);
    auto const compute = [&] {
      for (int i = 0; i < 4; ++i)
        b_.run(primitives::contract<float>{c, memory, memory + c.m * c.k, memory + 2 * c.m * c.k});
    };
    auto const sum = of(mtf::collective_kind::all_reduce, axes, count, 0, 0);
    auto const wait = [&](auto&& request) { b_.wait(request); };
    double const apart = seconds(compute), alone = seconds([&] { wait(b_.start(sum, in, out)); }),
                 both = seconds([&] {
                   auto request = b_.start(sum, in, out);
                   compute();
                   wait(request);
                 });
    return std::clamp((apart + alone - both) / alone, 0.0, 1.0);
  }

  Backend& b_;
  mtf::backend::buffer<Backend> memory_, ids_;
  index at_ = 0;
};

}  // namespace measured
