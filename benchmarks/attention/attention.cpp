// Causal attention, fused and as the products and the softmax that it is made of, forward and backward: median times,
// and speeds as shares of the speed of a matrix product of 2048^3 in the same run. Flops are those of the products that
// the mask leaves: two forward, five backward (the scores again, the weights' gradient, dv, dq, dk). The composition
// computes the whole square, and keeps the weights for its four products backward; its shares count what it need not do
// likewise (two and four). Of float, and of bfloat16; the peak is float's for both. And what later models have, fused.
//
//   OMP_NUM_THREADS=2 benchmark-attention
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/kokkos/attention/whole_scores.hpp>
#include <mtf/mtf.hpp>

namespace primitives = mtf::primitives;

namespace {

using backend = mtf::kokkos_backend<>;
using mtf::backend::index;
using mtf::kokkos::attention_products;

template <class T>
class numbers {
 public:
  numbers(backend& machine, index n) : memory_(mtf::backend::make_buffer<T>(machine, n)) {
    mtf::backend::placement const line{.local = {.ndim = 1, .extent = {n}, .stride = {{{1}}}}};
    machine.run(primitives::random_normal{line, static_cast<std::uint64_t>(n), get(), 0, 1});
  }
  [[nodiscard]] T* get() const { return mtf::backend::data_of<T>(memory_); }
  [[nodiscard]] T const* read() const { return get(); }

 private:
  mtf::backend::buffer<backend> memory_;
};

/// Seconds: the median of some runs.
template <class F>
double median(backend& machine, int runs, F const& f) {
  std::vector<double> seconds;
  for (int i = 0; i <= runs; ++i) {
    machine.fence();
    auto const begin = std::chrono::steady_clock::now();
    f();
    machine.fence();
    if (i > 0) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + runs / 2);
  return seconds[static_cast<std::size_t>(runs / 2)];
}

double matrix_peak(backend& machine) {
  constexpr index n = 2048;
  mtf::backend::contraction const c{
      .batch = {}, .m = n, .n = n, .k = n, .a_m = n, .a_k = 1, .b_k = n, .b_n = 1, .c_m = n, .c_n = 1};
  numbers<float> const a(machine, n * n), b(machine, n * n), to(machine, n * n);
  return c.flops() / median(machine, 9, [&] { machine.run(primitives::contract{c, a.read(), b.read(), to.get()}); });
}

/// The peak is measured before and after, as other programs may run.
template <class F>
void report(backend& machine, char const* what, double flops, F const& f) {
  double const before = matrix_peak(machine), seconds = median(machine, 15, f), after = matrix_peak(machine);
  double const peak = (before + after) / 2;
  std::printf("  %-24s %9.3f ms  %6.3f of %.1f GFLOP/s\n", what, seconds * 1e3, flops / seconds / peak, peak * 1e-9);
}

/// Tensors [batch, sequence, heads, head], as a projection leaves them.
template <class T>
void measure(char const* type, backend& machine, index batch, index sequence, index heads, index head) {
  index const row = heads * head, size = batch * sequence * row;
  mtf::backend::attention_shape const shape{
      .batch = {.ndim = 2,
                .extent = {batch, heads},
                .stride =
                    {{{sequence * row, head}, {sequence * row, head}, {sequence * row, head}, {sequence * row, head}}}},
      .queries = sequence,
      .keys = sequence,
      .head = head,
      .values = head,
      .q_row = row,
      .k_row = row,
      .v_row = row,
      .out_row = row,
      .seen = mtf::visible::causal()};
  numbers<T> const q(machine, size), k(machine, size), v(machine, size), out(machine, size), g(machine, size);
  numbers<T> const dq(machine, size), dk(machine, size), dv(machine, size);
  numbers<float> const max(machine, batch * heads * sequence), sum(machine, batch * heads * sequence);
  float const scale = 0.125F;
  double const product = shape.flops(head);

  std::printf("%s, batch %d, sequence %d, heads %d, head %d\n", type, static_cast<int>(batch),
              static_cast<int>(sequence), static_cast<int>(heads), static_cast<int>(head));
  report(machine, "fused, forward", 2 * product, [&] {
    machine.run(primitives::attention{shape, scale, out.get(), max.get(), sum.get(), q.read(), k.read(), v.read()});
  });
  report(machine, "fused, backward", 5 * product, [&] {
    machine.run(primitives::attention_vjp{shape, scale, dq.get(), dk.get(), dv.get(), q.read(), k.read(), v.read(),
                                          out.read(), max.read(), sum.read(), g.read()});
  });

  attention_products const w{shape};
  mtf::kokkos::score_block const whole{0, sequence, 0, sequence};
  mtf::backend::rows const rows{.outer = w.rows(), .n = sequence};
  mtf::backend::visible_rows const rule = w.seen();
  index const square = w.rows() * sequence;
  numbers<T> const scores(machine, square), weights(machine, square), dweights(machine, square);
  report(machine, "composed, forward", 2 * product, [&] {
    machine.run(primitives::contract{w.scores(mtf::backend::of_k, whole).what, q.read(), k.read(), scores.get()});
    machine.run(primitives::softmax{rows, scale, rule, weights.get(), scores.read()});
    machine.run(primitives::contract{w.weighted(mtf::backend::of_v, whole).what, weights.read(), v.read(), out.get()});
  });
  report(machine, "composed, backward", 4 * product, [&] {
    machine.run(primitives::contract{w.transposed_weighted(mtf::backend::of_v, whole).what, weights.read(), g.read(),
                                     dv.get()});
    machine.run(primitives::contract{w.scores(mtf::backend::of_v, whole).what, g.read(), v.read(), dweights.get()});
    machine.run(primitives::softmax_vjp{rows, scale, scores.get(), weights.read(), dweights.read()});
    machine.run(primitives::contract{w.weighted(mtf::backend::of_k, whole).what, scores.read(), k.read(), dq.get()});
    machine.run(
        primitives::contract{w.transposed_weighted(mtf::backend::of_k, whole).what, scores.read(), q.read(), dk.get()});
  });
}

/// Attention as later models have it: several heads of queries for one of keys, windows, and a bias for each head,
/// query and key.
template <class T>
void measure_general(char const* type, backend& machine, index sequence, index kv_heads, index group, index head,
                     mtf::visible const& seen, char const* name_of_seen, bool biased) {
  index const heads = kv_heads * group, row = heads * head, kv_row = kv_heads * head;
  mtf::backend::attention_shape shape{.batch = {.ndim = 2, .extent = {kv_heads, group}, .stride = {}},
                                      .queries = sequence,
                                      .keys = sequence,
                                      .head = head,
                                      .values = head,
                                      .q_row = row,
                                      .k_row = kv_row,
                                      .v_row = kv_row,
                                      .out_row = row,
                                      .seen = seen,
                                      .biased = biased,
                                      .bias_query = sequence,
                                      .bias_key = 1};
  auto& stride = shape.batch.stride;
  stride[mtf::backend::of_q] = stride[mtf::backend::of_out] = {group * head, head};
  stride[mtf::backend::of_k] = stride[mtf::backend::of_v] = {head, 0};
  stride[mtf::backend::of_bias] = {group * sequence * sequence, sequence * sequence};
  numbers<T> const q(machine, sequence * row), k(machine, sequence * kv_row), v(machine, sequence * kv_row);
  numbers<T> const out(machine, sequence * row), g(machine, sequence * row), dq(machine, sequence * row);
  numbers<T> const dk(machine, sequence * kv_row), dv(machine, sequence * kv_row);
  numbers<T> const bias(machine, heads * sequence * sequence), dbias(machine, heads * sequence * sequence);
  numbers<float> const max(machine, heads * sequence), sum(machine, heads * sequence);
  T const* const added = biased ? bias.read() : nullptr;
  float const scale = 0.125F;
  double const product = shape.flops(head);

  std::printf("%s, sequence %d, %d heads for %d, head %d, %s%s\n", type, static_cast<int>(sequence),
              static_cast<int>(heads), static_cast<int>(kv_heads), static_cast<int>(head), name_of_seen,
              biased ? ", bias" : "");
  report(machine, "fused, forward", 2 * product, [&] {
    machine.run(
        primitives::attention<T>{shape, scale, out.get(), max.get(), sum.get(), q.read(), k.read(), v.read(), added});
  });
  report(machine, "fused, backward", 5 * product, [&] {
    machine.run(primitives::attention_vjp<T>{shape, scale, dq.get(), dk.get(), dv.get(), q.read(), k.read(), v.read(),
                                             out.read(), max.read(), sum.read(), g.read(), added});
  });
  if (!biased) return;
  report(machine, "bias' gradient", 2 * product, [&] {
    machine.run(primitives::attention_bias_vjp<T>{shape, scale, dbias.get(), q.read(), k.read(), v.read(), out.read(),
                                                  max.read(), sum.read(), g.read(), added});
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const kokkos(argc, argv);
  mtf::single_rank alone;
  backend machine(alone);
  measure<float>("float", machine, 1, 2048, 8, 64);
  measure<mtf::bfloat16>("bfloat16", machine, 1, 2048, 8, 64);
  measure<float>("float", machine, 8, 256, 8, 64);
  measure<mtf::bfloat16>("bfloat16", machine, 8, 256, 8, 64);
  for (bool const biased : {false, true}) {
    measure_general<float>("float", machine, 2048, 2, 4, 64, mtf::visible::causal(), "causal", biased);
    measure_general<float>("float", machine, 2048, 2, 4, 64, mtf::visible::window(512), "window 512", biased);
    measure_general<mtf::bfloat16>("bfloat16", machine, 2048, 2, 4, 64, mtf::visible::window(512), "window 512",
                                   biased);
  }
}
