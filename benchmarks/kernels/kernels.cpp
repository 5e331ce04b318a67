// Every fused kernel of the Kokkos backend on arrays beyond the caches, beside what the memory can do: a triad as
// STREAM's, measured just before it. The bytes are those that must move: each input read once, each output written
// once; that a written line may have to be read first is the kernel's own problem. Matrix products stand beside the
// matrix peak.
#include <benchmark/benchmark.h>

#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/ops/elementwise/functions.hpp>

#include "../../examples/transformer/peak.hpp"
#include "../measure.hpp"

namespace primitives = mtf::primitives;

namespace {

using backend = mtf::kokkos_backend<>;
using mtf::backend::index;

constexpr index count = 32768, width = 1024, size = count * width;
constexpr mtf::backend::rows rows{.outer = count, .n = width, .inner = 1};
constexpr double whole = 4.0 * size, by_row = 4.0 * count, by_column = 4.0 * width;  // bytes

/// The arrays, all of them floats of some size. They are made once: to get fresh pages takes longer than any kernel.
struct arrays {
  backend& b;
  float* x = make(size);
  float* y = make(size);
  float* dx = make(size);
  float* dy = make(size);
  float *row1 = make(count), *row2 = make(count), *column1 = make(width), *column2 = make(width),
        *column3 = make(width);
  std::int32_t* ids = static_cast<std::int32_t*>(b.allocate(4 * count));

  explicit arrays(backend& on) : b(on) {
    for (float* a : {x, y, dx, dy}) b.run(primitives::random_uniform{everywhere(), 1, a, 0.1, 1.0});
    for (float* a : {row1, row2}) b.run(primitives::fill{a, count, 1.0F});
    for (float* a : {column1, column2, column3}) b.run(primitives::fill{a, width, 1.0F});
    std::vector<std::int32_t> host(count);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::int32_t>(i * 7919 % count);
    b.from_host(ids, host.data(), 4 * host.size());
  }
  float* make(index n) { return static_cast<float*>(b.allocate(static_cast<std::size_t>(n) * sizeof(float))); }
  static mtf::backend::placement everywhere() {
    return {.local = {.ndim = 1, .extent = {size}, .stride = {mtf::backend::extents{1}}}};
  }
};

using operand = mtf::backend::extents;  // the strides of one
constexpr mtf::backend::loops<2> flat{.ndim = 1, .extent = {size}, .stride = {operand{1}, operand{1}}};
constexpr mtf::backend::loops<2> transposed{
    .ndim = 2, .extent = {width, count}, .stride = {operand{count, 1}, operand{1, width}}};
constexpr mtf::backend::loops<3> with_bias{
    .ndim = 2, .extent = {count, width}, .stride = {operand{width, 1}, operand{width, 1}, operand{0, 1}}};
constexpr mtf::backend::reduction to_rows{
    .kept = {.ndim = 1, .extent = {count}, .stride = {operand{1}, operand{width}}},
    .reduced = {.ndim = 1, .extent = {width}, .stride = {operand{1}}}};
constexpr mtf::backend::reduction to_columns{.kept = {.ndim = 1, .extent = {width}, .stride = {operand{1}, operand{1}}},
                                             .reduced = {.ndim = 1, .extent = {count}, .stride = {operand{width}}}};

struct gelu_of_sum {
  template <class A, class B>
  KOKKOS_FUNCTION constexpr auto operator()(A x, B bias) const {
    return mtf::functions::gelu{}(x + bias);
  }
};

/// y = x + 2 dx, bytes a second: the best of four.
double triad(arrays const& a) {
  auto const y = a.y, x = a.x, dx = a.dx;
  double best = 1e9;
  for (int i = 0; i < 4; ++i)
    best = std::min(best, measure::seconds([&] {
                      Kokkos::parallel_for(
                          "triad", Kokkos::RangePolicy<backend::execution_space>(0, size),
                          KOKKOS_LAMBDA(index j) { y[j] = x[j] + 2 * dx[j]; });
                      Kokkos::fence();
                    }));
  return 3 * whole / best;
}

/// Runs f as often as Google Benchmark likes; returns the median of the seconds.
template <class F>
double timed(backend& b, benchmark::State& state, F const& f) {
  std::vector<double> seconds;
  for ([[maybe_unused]] auto _ : state) {
    seconds.push_back(measure::seconds([&] {
      f();
      b.fence();
    }));
    state.SetIterationTime(seconds.back());
  }
  return measure::median(seconds);
}

template <class Run>
void add(char const* name, Run const& run) {
  benchmark::RegisterBenchmark(name, run)->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.2);
}

template <class F>
void kernel(arrays& a, char const* name, double bytes, F const& f) {
  add(name, [&a, bytes, f](benchmark::State& state) {
    double const limit = triad(a), speed = bytes / timed(a.b, state, [&] { f(a.b, a); });
    state.counters["MB"] = bytes / 1e6;
    state.counters["GB/s"] = speed / 1e9;
    state.counters["triad"] = limit / 1e9;
    state.counters["share"] = speed / limit;
  });
}

/// c[m, n] = a[m, k] b[k, n], `batch` times; transposed operands are stored the other way.
void product(arrays& a, char const* name, index batch, index m, index n, index k, bool a_transposed,
             bool b_transposed) {
  mtf::backend::contraction c{
      .batch = {}, .m = m, .n = n, .k = k, .a_m = k, .a_k = 1, .b_k = n, .b_n = 1, .c_m = n, .c_n = 1};
  if (a_transposed) c.a_m = 1, c.a_k = m;
  if (b_transposed) c.b_k = 1, c.b_n = k;
  if (batch > 1) c.batch = {.ndim = 1, .extent = {batch}, .stride = {operand{m * k}, operand{k * n}, operand{m * n}}};
  add(name, [c, &a](benchmark::State& state) {
    double const peak = transformer::matrix_peak(a.b);
    double const speed =
        c.flops() / timed(a.b, state, [&] {
          a.b.run(primitives::contract{c, static_cast<float const*>(a.x), static_cast<float const*>(a.dy), a.y});
        });
    state.counters["GFLOP/s"] = speed / 1e9;
    state.counters["peak"] = peak / 1e9;
    state.counters["share"] = speed / peak;
  });
}

void register_all(arrays& all) {
  constexpr mtf::backend::causal_rule everything{};
  constexpr mtf::backend::causal_rule causal{.on = true, .query_stride = 1, .query_extent = width};
  using A = arrays const;
  using in = float const*;
  kernel(all, "fill", whole, [](backend& b, A& a) { b.run(primitives::fill{a.y, size, 1.0F}); });
  kernel(all, "add", 3 * whole, [](backend& b, A& a) { b.run(primitives::add{size, a.y, in(a.x)}); });
  kernel(all, "copy", 2 * whole, [](backend& b, A& a) { b.run(primitives::copy{flat, a.y, in(a.x)}); });
  kernel(all, "transpose", 2 * whole, [](backend& b, A& a) { b.run(primitives::copy{transposed, a.y, in(a.x)}); });
  kernel(all, "map gelu(x + bias)", 2 * whole + by_column,
         [](backend& b, A& a) { b.run(primitives::map_of(gelu_of_sum{}, with_bias, a.y, in(a.x), in(a.column1))); });
  kernel(all, "map_vjp gelu(x + bias)", 3 * whole + by_column, [](backend& b, A& a) {
    b.run(primitives::map_vjp_of(gelu_of_sum{}, with_bias, {{{a.dx}, {}}}, in(a.dy), in(a.x), in(a.column1)));
  });
  kernel(all, "map_vjp gelu(x + bias), bias too", 3 * whole + 2 * by_column, [](backend& b, A& a) {
    b.run(primitives::map_vjp_of(gelu_of_sum{}, with_bias, {{{a.dx}, {a.column2, true}}}, in(a.dy), in(a.x),
                                 in(a.column1)));
  });
  kernel(all, "reduce to rows", whole + by_row,
         [](backend& b, A& a) { b.run(primitives::reduce{mtf::combine::sum, to_rows, a.row1, in(a.x)}); });
  kernel(all, "reduce to columns", whole + by_column,
         [](backend& b, A& a) { b.run(primitives::reduce{mtf::combine::sum, to_columns, a.column1, in(a.x)}); });
  kernel(all, "square_sum", whole,
         [](backend& b, A& a) { b.run(primitives::square_sum{size, reinterpret_cast<double*>(a.row1), in(a.x)}); });
  kernel(all, "softmax", 2 * whole,
         [=](backend& b, A& a) { b.run(primitives::softmax{rows, 0.5F, everything, a.y, in(a.x)}); });
  // Of a causal mask's hidden half nothing need be read.
  kernel(all, "softmax, causal", 1.5 * whole,
         [=](backend& b, A& a) { b.run(primitives::softmax{rows, 0.5F, causal, a.y, in(a.x)}); });
  kernel(all, "softmax_vjp", 3 * whole,
         [](backend& b, A& a) { b.run(primitives::softmax_vjp{rows, 0.5F, a.dx, in(a.x), in(a.dy)}); });
  kernel(all, "log_softmax", 2 * whole, [](backend& b, A& a) { b.run(primitives::log_softmax{rows, a.y, in(a.x)}); });
  kernel(all, "log_softmax_vjp", 3 * whole,
         [](backend& b, A& a) { b.run(primitives::log_softmax_vjp{rows, a.dx, in(a.x), in(a.dy)}); });
  kernel(all, "logsumexp", whole + by_row,
         [](backend& b, A& a) { b.run(primitives::logsumexp{rows, a.row1, in(a.x)}); });
  kernel(all, "logsumexp_vjp", 2 * whole + 2 * by_row,
         [](backend& b, A& a) { b.run(primitives::logsumexp_vjp{rows, a.dx, in(a.x), in(a.row1), in(a.row2)}); });
  kernel(all, "cross_entropy", whole + 3 * by_row,
         [](backend& b, A& a) { b.run(primitives::cross_entropy{rows, a.row1, a.row2, in(a.x), a.ids}); });
  kernel(all, "cross_entropy_vjp", 2 * whole + 3 * by_row, [](backend& b, A& a) {
    b.run(primitives::cross_entropy_vjp{rows, 0, rows.n, a.dx, in(a.x), a.ids, a.row2, in(a.row1)});
  });
  kernel(all, "layer_norm", 2 * whole + 2 * by_row + 2 * by_column, [](backend& b, A& a) {
    b.run(primitives::norm<true, float>{rows, 1e-5F, a.y, a.row1, a.row2, in(a.x), in(a.column1), in(a.column2)});
  });
  kernel(all, "layer_norm_vjp", 3 * whole + 2 * by_row + 3 * by_column, [](backend& b, A& a) {
    b.run(primitives::norm_vjp<true, float>{rows, a.dx, a.column2, a.column3, in(a.dy), in(a.x), in(a.column1), a.row1,
                                            a.row2});
  });
  kernel(all, "rms_norm", 2 * whole + by_row + by_column, [](backend& b, A& a) {
    b.run(primitives::norm<false, float>{rows, 1e-5F, a.y, nullptr, a.row2, in(a.x), in(a.column1), nullptr});
  });
  kernel(all, "rms_norm_vjp", 3 * whole + by_row + 2 * by_column, [](backend& b, A& a) {
    b.run(primitives::norm_vjp<false, float>{rows, a.dx, a.column2, nullptr, in(a.dy), in(a.x), in(a.column1), nullptr,
                                             a.row2});
  });
  kernel(all, "take_rows", 2 * whole,
         [](backend& b, A& a) { b.run(primitives::take_rows{count, width, count, 0, count, a.y, in(a.x), a.ids}); });
  kernel(all, "add_rows", 3 * whole,
         [](backend& b, A& a) { b.run(primitives::add_rows{count, width, count, 0, a.dx, in(a.dy), a.ids}); });
  kernel(all, "dropout", 2 * whole,
         [](backend& b, A& a) { b.run(primitives::dropout{arrays::everywhere(), 1, 0.1, a.y, in(a.x)}); });
  kernel(all, "random_normal", whole,
         [](backend& b, A& a) { b.run(primitives::random_normal{arrays::everywhere(), 1, a.y, 0.0, 1.0}); });
  kernel(all, "adamw", 7 * whole, [](backend& b, A& a) {
    b.run(primitives::update<mtf::updates::adamw<float>, float>{
        size, a.y, in(a.x), {a.dx, a.dy}, {1e-3F, 0.9F, 0.95F, 1e-8F, 0.1F, 1.0F, 1.0F}, 1.0F});
  });
  product(all, "contract 2048x2048x512", 1, 2048, 2048, 512, false, false);
  product(all, "contract 2048x512x2048, b transposed", 1, 2048, 512, 2048, false, true);
  product(all, "contract 512x2048x2048, a transposed", 1, 512, 2048, 2048, true, false);
  product(all, "contract 1024x256x2048, a transposed", 1, 1024, 256, 2048, true, false);
  product(all, "contract 2048x8192x512", 1, 2048, 8192, 512, false, false);
  product(all, "contract 64 of 256x256x64, b transposed", 64, 256, 256, 64, false, true);
  product(all, "contract 64 of 256x64x256", 64, 256, 64, 256, false, false);
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const kokkos(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  mtf::single_rank ranks;
  backend machine(ranks);
  arrays all(machine);
  register_all(all);
  benchmark::RunSpecifiedBenchmarks();
}
