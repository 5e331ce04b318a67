// Every fused kernel of the Kokkos backend on arrays beyond the caches, beside what the memory can do: a triad as
// STREAM's, measured just before it. The bytes are those that must move: each input read once, each output written
// once; that a written line may have to be read first is the kernel's own problem. Matrix products stand beside the
// peak of float's. Each kernel is measured of float, and, as "bfloat16 ...", of bfloat16.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/ops/elementwise/functions.hpp>

#include "../../tools/train/peak.hpp"
#include "../beside_triad.hpp"

namespace primitives = mtf::primitives;

namespace {

using backend = mtf::kokkos_backend<>;
using mtf::backend::index;

constexpr index count = 32768, width = 1024, size = count * width;
constexpr mtf::backend::rows rows{.outer = count, .n = width, .inner = 1};

/// The arrays, made once: to get fresh pages takes longer than any kernel. Elements are T; of statistics, a number for
/// each row, A, in which kernels compute.
template <class T>
struct arrays {
  using A = mtf::compute_t<T>;
  static constexpr double whole = 1.0 * sizeof(T) * size, by_row = 1.0 * sizeof(A) * count,
                          by_column = 1.0 * sizeof(T) * width;  // bytes
  backend& b;
  T *x = make<T>(size), *y = make<T>(size), *dx = make<T>(size), *dy = make<T>(size);
  T *row = make<T>(count), *column1 = make<T>(width), *column2 = make<T>(width), *column3 = make<T>(width);
  A *row1 = make<A>(count), *row2 = make<A>(count), *row3 = make<A>(count);
  std::int32_t* ids = static_cast<std::int32_t*>(b.allocate(4 * count));

  explicit arrays(backend& on) : b(on) {
    for (T* a : {x, y, dx, dy}) b.run(primitives::random_uniform{everywhere(), 1, a, 0.1, 1.0});
    for (A* a : {row1, row2, row3}) b.run(primitives::fill{a, count, A(1)});
    for (T* a : {column1, column2, column3}) b.run(primitives::fill{a, width, T(1)});
    std::vector<std::int32_t> host(count);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::int32_t>(i * 7919 % count);
    b.from_host(ids, host.data(), 4 * host.size());
  }
  template <class U>
  U* make(index n) {
    return static_cast<U*>(b.allocate(static_cast<std::size_t>(n) * sizeof(U)));
  }
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

/// In bytes a second.
double triad(arrays<float> const& a) { return measure::triad<backend::execution_space>(a.y, a.x, a.dx, size); }

/// What is measured of elements of type T.
template <class T>
class kernels {
 public:
  kernels(arrays<T>& a, arrays<float>& floats, std::string before)
      : a_(a), floats_(floats), before_(std::move(before)) {}
  void register_all();

 private:
  template <class F>
  void kernel(char const* name, double bytes, F const& f) {
    measure::add(before_ + name, [this, bytes, f](benchmark::State& state) {
      double const limit = triad(floats_);
      measure::bandwidth(state, bytes, measure::timed(a_.b, state, [&] { f(a_.b, a_); }), limit);
    });
  }
  /// c[m, n] = a[m, k] b[k, n], `batch` times; transposed operands are stored the other way.
  void product(char const* name, index batch, index m, index n, index k, bool a_transposed, bool b_transposed) {
    mtf::backend::contraction c{
        .batch = {}, .m = m, .n = n, .k = k, .a_m = k, .a_k = 1, .b_k = n, .b_n = 1, .c_m = n, .c_n = 1};
    if (a_transposed) c.a_m = 1, c.a_k = m;
    if (b_transposed) c.b_k = 1, c.b_n = k;
    if (batch > 1) c.batch = {.ndim = 1, .extent = {batch}, .stride = {operand{m * k}, operand{k * n}, operand{m * n}}};
    measure::add(before_ + name, [c, this](benchmark::State& state) {
      double const peak = mtf::tools::matrix_peak(a_.b);
      double const speed =
          c.flops() / measure::timed(a_.b, state, [&] {
            a_.b.run(primitives::contract{c, static_cast<T const*>(a_.x), static_cast<T const*>(a_.dy), a_.y});
          });
      state.counters["GFLOP/s"] = speed / 1e9;
      state.counters["peak"] = peak / 1e9;
      state.counters["share"] = speed / peak;
    });
  }

  arrays<T>& a_;
  arrays<float>& floats_;
  std::string before_;
};

template <class T>
void kernels<T>::register_all() {
  constexpr mtf::backend::visible_rows everything{};
  constexpr mtf::backend::visible_rows causal{.seen = mtf::visible::causal(), .queries = width};
  using A = arrays<T> const;
  using in = T const*;
  constexpr double whole = arrays<T>::whole, by_row = arrays<T>::by_row, by_column = arrays<T>::by_column;
  kernel("fill", whole, [](backend& b, A& a) { b.run(primitives::fill{a.y, size, T(1)}); });
  kernel("add", 3 * whole, [](backend& b, A& a) { b.run(primitives::add{size, a.y, in(a.x)}); });
  kernel("copy", 2 * whole, [](backend& b, A& a) { b.run(primitives::copy{flat, a.y, in(a.x)}); });
  kernel("transpose", 2 * whole, [](backend& b, A& a) { b.run(primitives::copy{transposed, a.y, in(a.x)}); });
  kernel("map gelu(x + bias)", 2 * whole + by_column,
         [](backend& b, A& a) { b.run(primitives::map_of(gelu_of_sum{}, with_bias, a.y, in(a.x), in(a.column1))); });
  kernel("map_vjp gelu(x + bias)", 3 * whole + by_column, [](backend& b, A& a) {
    b.run(primitives::map_vjp_of(gelu_of_sum{}, with_bias, {{{a.dx}, {}}}, in(a.dy), in(a.x), in(a.column1)));
  });
  kernel("map_vjp gelu(x + bias), bias too", 3 * whole + 2 * by_column, [](backend& b, A& a) {
    b.run(primitives::map_vjp_of(gelu_of_sum{}, with_bias, {{{a.dx}, {a.column2, true}}}, in(a.dy), in(a.x),
                                 in(a.column1)));
  });
  kernel("reduce to rows", whole + by_row,
         [](backend& b, A& a) { b.run(primitives::reduce{mtf::combine::sum, to_rows, a.row, in(a.x)}); });
  kernel("reduce to columns", whole + by_column,
         [](backend& b, A& a) { b.run(primitives::reduce{mtf::combine::sum, to_columns, a.column1, in(a.x)}); });
  kernel("square_sum", whole,
         [](backend& b, A& a) { b.run(primitives::square_sum{size, reinterpret_cast<double*>(a.row1), in(a.x)}); });
  kernel("softmax", 2 * whole,
         [=](backend& b, A& a) { b.run(primitives::softmax{rows, 0.5F, everything, a.y, in(a.x)}); });
  // Of a causal mask's hidden half nothing need be read.
  kernel("softmax, causal", 1.5 * whole,
         [=](backend& b, A& a) { b.run(primitives::softmax{rows, 0.5F, causal, a.y, in(a.x)}); });
  kernel("softmax_vjp", 3 * whole,
         [](backend& b, A& a) { b.run(primitives::softmax_vjp{rows, 0.5F, a.dx, in(a.x), in(a.dy)}); });
  kernel("log_softmax", 2 * whole, [](backend& b, A& a) { b.run(primitives::log_softmax{rows, a.y, in(a.x)}); });
  kernel("log_softmax_vjp", 3 * whole,
         [](backend& b, A& a) { b.run(primitives::log_softmax_vjp{rows, a.dx, in(a.x), in(a.dy)}); });
  kernel("logsumexp", whole + 3 * by_row,
         [](backend& b, A& a) { b.run(primitives::logsumexp{rows, a.row, a.row1, a.row2, in(a.x)}); });
  kernel("logsumexp_vjp", 2 * whole + 3 * by_row,
         [](backend& b, A& a) { b.run(primitives::logsumexp_vjp{rows, a.dx, in(a.x), a.row1, a.row2, in(a.row)}); });
  kernel("cross_entropy", whole + 4 * by_row,
         [](backend& b, A& a) { b.run(primitives::cross_entropy{rows, a.row1, a.row2, a.row3, in(a.x), a.ids}); });
  kernel("cross_entropy_vjp", 2 * whole + 4 * by_row, [](backend& b, A& a) {
    b.run(primitives::cross_entropy_vjp{rows, 0, rows.n, a.dx, in(a.x), a.ids, a.row2, a.row3, a.row1});
  });
  kernel("layer_norm", 2 * whole + 2 * by_row + 2 * by_column, [](backend& b, A& a) {
    b.run(primitives::norm<true, T>{rows, 1e-5F, a.y, a.row1, a.row2, in(a.x), in(a.column1), in(a.column2)});
  });
  kernel("layer_norm_vjp", 3 * whole + 2 * by_row + 3 * by_column, [](backend& b, A& a) {
    b.run(primitives::norm_vjp<true, T>{rows, a.dx, a.column2, a.column3, in(a.dy), in(a.x), in(a.column1), a.row1,
                                        a.row2});
  });
  kernel("rms_norm", 2 * whole + by_row + by_column, [](backend& b, A& a) {
    b.run(primitives::norm<false, T>{rows, 1e-5F, a.y, nullptr, a.row2, in(a.x), in(a.column1), nullptr});
  });
  kernel("rms_norm_vjp", 3 * whole + by_row + 2 * by_column, [](backend& b, A& a) {
    b.run(primitives::norm_vjp<false, T>{rows, a.dx, a.column2, nullptr, in(a.dy), in(a.x), in(a.column1), nullptr,
                                         a.row2});
  });
  kernel("take_rows", 2 * whole,
         [](backend& b, A& a) { b.run(primitives::take_rows{count, width, count, 0, count, a.y, in(a.x), a.ids}); });
  kernel("add_rows", 3 * whole,
         [](backend& b, A& a) { b.run(primitives::add_rows{count, width, count, 0, count, a.dx, in(a.dy), a.ids}); });
  kernel("dropout", 2 * whole,
         [](backend& b, A& a) { b.run(primitives::dropout{arrays<T>::everywhere(), 1, 0.1, a.y, in(a.x)}); });
  kernel("random_normal", whole,
         [](backend& b, A& a) { b.run(primitives::random_normal{arrays<T>::everywhere(), 1, a.y, 0.0, 1.0}); });
  // Gradients are of T, parameters and state of float.
  kernel("adamw", 6 * arrays<float>::whole + whole, [&f = floats_](backend& b, A& a) {
    b.run(primitives::update<mtf::updates::adamw<float>, float, T>{
        size, f.y, in(a.x), {f.dx, f.dy}, {1e-3F, 0.1F, 0.05F, 1e-8F, 0.1F, 1.0F, 1.0F}, nullptr});
  });
  product("contract 2048x2048x512", 1, 2048, 2048, 512, false, false);
  product("contract 2048x512x2048, b transposed", 1, 2048, 512, 2048, false, true);
  product("contract 512x2048x2048, a transposed", 1, 512, 2048, 2048, true, false);
  product("contract 1024x256x2048, a transposed", 1, 1024, 256, 2048, true, false);
  product("contract 2048x8192x512", 1, 2048, 8192, 512, false, false);
  product("contract 64 of 256x256x64, b transposed", 64, 256, 256, 64, false, true);
  product("contract 64 of 256x64x256", 64, 256, 64, 256, false, false);
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const kokkos(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  mtf::single_rank ranks;
  backend machine(ranks);
  arrays<float> floats(machine);
  arrays<mtf::bfloat16> narrow(machine);
  kernels<float> of_float(floats, floats, "");
  kernels<mtf::bfloat16> of_bfloat16(narrow, floats, "bfloat16 ");
  of_float.register_all();
  of_bfloat16.register_all();
  benchmark::RunSpecifiedBenchmarks();
}
