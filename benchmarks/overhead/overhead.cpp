// Nanoseconds for an operation on tensors of one element: forward without gradients, and forward and backward, as a
// program with many such operations takes longer than one with none; how often it allocates. On a backend whose kernels
// do nothing, which is the library's own cost, with layouts that are types and values, and on Kokkos'. And an
// operation where tensors of many lengths were seen.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/mtf.hpp>

#include "../measure.hpp"
#include "idle_backend.hpp"

namespace {
std::atomic<long> allocations = 0;
}

// They count. The rest of the family comes to these. (Not inlined: GCC would take `free` for a mismatch.)
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  auto const a = static_cast<std::size_t>(alignment);
  if (void* const p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }

namespace {

struct batch : mtf::dim<"batch", 1> {};
struct width : mtf::dim<"width", 1> {};
struct hidden : mtf::dim<"hidden", 1> {};
struct length : mtf::dim<"length"> {};
struct one : mtf::axis<"one", 1> {};
using whole = mtf::layout<mtf::mesh<one>>;
using split = mtf::layout<mtf::mesh<one>, mtf::split<batch, one>>;

constexpr std::size_t chunk = 8, together = chunk * chunk;  // operations in one program
constexpr int rounds = 10;

struct cost {
  double nanoseconds = 0, allocations = 0;
};

/// Of f(), the fastest of many times: whatever else the machine does only adds.
template <class F>
cost cost_of(F const& f) {
  for (int i = 0; i < 20; ++i) f();
  long const before = allocations;
  for (int i = 0; i < 20; ++i) f();
  double const allocated = static_cast<double>(allocations - before) / 20;
  double best = 1e9;
  for (int r = 0; r < 300; ++r)
    best = std::min(best, measure::seconds([&] {
                      for (int i = 0; i < rounds; ++i) f();
                    }));
  return {best * 1e9 / rounds, allocated};
}
/// What an operation costs, of a program with `together` of them and one with none.
cost of_one(cost const& with, cost const& without = {}) {
  return {(with.nanoseconds - without.nanoseconds) / together, (with.allocations - without.allocations) / together};
}

/// Operands of these shapes, `together` times: parameters, for the gradients.
template <class... Shape>
struct operands {
  template <template <class...> class Tensor>
  struct of {
    auto call(auto const& f, std::size_t, auto const&... x) const { return f(x...); }
    MTF_FIELDS();
  };
};
template <class... D, class... Rest>
struct operands<mtf::shape<D...>, Rest...> {
  template <template <class...> class Tensor>
  struct of {
    std::array<Tensor<D...>, together> first;
    typename operands<Rest...>::template of<Tensor> rest;
    /// f of the i-th operands.
    auto call(auto const& f, std::size_t i, auto const&... before) const {
      return rest.call(f, i, before..., first[i]);
    }
    MTF_FIELDS(first, rest);
  };
};

struct sum_of_all {
  MTF_FUNCTION auto operator()(auto... x) const { return (x + ...); }
};
/// One number of result(0), result(1), ...: by few operations, each of `chunk` results.
template <class F>
auto combined(F const& result) {
  auto const added = [](auto const& x) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return mtf::map(sum_of_all{}, x(I)...);
    }(std::make_index_sequence<chunk>{});
  };
  return mtf::mean(added([&](std::size_t c) { return added([&](std::size_t i) { return result(c * chunk + i); }); }));
}

/// Both passes of a program that combines the first operands as they are. By itself: one for all operations on the same
/// operands.
template <class Parameters>
cost without_operations(Parameters const& p) {
  auto const program =
      mtf::value_and_grad([](auto const& q) { return combined([&](std::size_t i) { return q.first[i]; }); });
  return cost_of([&] { program(p); });
}

/// An operation f on operands of these shapes: forward, and forward and backward.
template <class Layout, class... Shape, class Backend, class F>
std::array<cost, 2> costs(Backend& b, F const& f) {
  typename operands<Shape...>::template of<mtf::place<float, Layout, Backend>::template tensor> p;
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::full<std::remove_reference_t<decltype(x)>>(b, 0.5F); }, p);
  std::array<decltype(p.call(f, 0)), together> out;
  auto const forward = cost_of([&] {
    for (std::size_t i = 0; i < together; ++i) out[i] = p.call(f, i);
  });
  auto const program =
      mtf::value_and_grad([&](auto const& q) { return combined([&](std::size_t i) { return q.call(f, i); }); });
  auto const both = cost_of([&] { program(p); });
  return {of_one(forward), of_one(both, without_operations(p))};
}

/// All operations on one backend, under two layouts: f(name, costs).
template <class L, class Split, class Backend, class F>
void each_operation(Backend& b, F const& f) {
  using x = mtf::shape<batch, width>;
  using w = mtf::shape<width, hidden>;
  using row = mtf::shape<width>;
  using ids = typename mtf::place<std::int32_t, L, Backend>::template tensor<batch>;
  auto const label = mtf::zeros<ids>(b);

  f("einsum", costs<L, x, w>(b, [](auto const& p, auto const& q) { return mtf::einsum<batch, hidden>(p, q); }));
  f("relu", costs<L, x>(b, [](auto const& p) { return mtf::relu(p); }));
  f("add", costs<L, x, x>(b, [](auto const& p, auto const& q) { return p + q; }));
  f("multiply", costs<L, x, x>(b, [](auto const& p, auto const& q) { return p * q; }));
  f("multiply by a number", costs<L, x>(b, [](auto const& p) { return p * 2.0F; }));
  f("add a bias", costs<L, x, row>(b, [](auto const& p, auto const& q) { return p + q; }));
  f("gelu(x + bias), one map", costs<L, x, row>(b, [](auto const& p, auto const& q) {
      return mtf::map([](auto a, auto c) { return mtf::functions::gelu{}(a + c); }, p, q);
    }));
  f("sum", costs<L, x>(b, [](auto const& p) { return mtf::sum<width>(p); }));
  f("mean", costs<L, x>(b, [](auto const& p) { return mtf::mean(p); }));
  f("softmax", costs<L, x>(b, [](auto const& p) { return mtf::softmax<width>(p); }));
  f("log_softmax", costs<L, x>(b, [](auto const& p) { return mtf::log_softmax<width>(p); }));
  f("logsumexp", costs<L, x>(b, [](auto const& p) { return mtf::logsumexp<width>(p); }));
  f("cross_entropy", costs<L, x>(b, [&](auto const& p) { return mtf::cross_entropy<width>(p, label); }));
  f("layer_norm", costs<L, x, row, row>(
                      b, [](auto const& p, auto const& s, auto const& c) { return mtf::layer_norm<width>(p, s, c); }));
  f("rms_norm", costs<L, x, row>(b, [](auto const& p, auto const& s) { return mtf::rms_norm<width>(p, s); }));
  f("embedding", costs<L, w>(b, [&](auto const& t) { return mtf::embedding<width>(t, label); }));
  f("dropout", costs<L, x>(b, [](auto const& p) { return mtf::dropout(p, 0.1, mtf::random_key(1)); }));
  f("transpose", costs<L, x>(b, [](auto const& p) { return mtf::transpose<width, batch>(p); }));
  f("relayout", costs<L, x>(b, [](auto const& p) { return mtf::relayout<Split>(p); }));
}

/// A softmax of tensors in turn, of so many lengths.
double of_lengths(std::size_t lengths) {
  mtf::single_rank ranks(mtf::mesh<one>::shape());
  overhead::idle_backend<Kokkos::Serial> idle(ranks);
  idle.layouts().add(mtf::value_of<whole>);
  using X = mtf::place<float, mtf::any_layout<>, overhead::idle_backend<Kokkos::Serial>>::tensor<length, width>;
  std::vector<X> x, out(together);
  for (std::size_t i = 0; i < lengths; ++i) {
    idle.layouts().give({{"length", static_cast<std::int64_t>(i + 1)}});
    x.push_back(mtf::full<X>(idle, 0.5F));
    out[0] = mtf::softmax<width>(x.back());
  }
  return of_one(cost_of([&] {
           for (std::size_t i = 0, at = 0; i < together; ++i, at = (at + 31) % lengths)
             out[i] = mtf::softmax<width>(x[at]);
         }))
      .nanoseconds;
}

struct line {
  char const* name;
  std::array<std::array<cost, 2>, 4>
      on;  // idle; idle, with layouts that are values; Serial; the default execution space
};

int table() {
  mtf::single_rank ranks(mtf::mesh<one>::shape());
  overhead::idle_backend<Kokkos::Serial> idle(ranks);
  mtf::kokkos_backend<Kokkos::Serial> serial(ranks);
  mtf::kokkos_backend<> fast(ranks);
  std::vector<line> lines;
  each_operation<whole, split>(idle, [&](char const* name, auto const& c) { lines.push_back({name, {c}}); });
  idle.layouts().add(mtf::value_of<whole>);
  idle.layouts().add(mtf::value_of<split>);
  std::size_t at = 0;
  each_operation<mtf::any_layout<0>, mtf::any_layout<1>>(idle,
                                                         [&](char const*, auto const& c) { lines[at++].on[1] = c; });
  auto const before = serial.memory().system_allocations;
  at = 0;
  each_operation<whole, split>(serial, [&](char const*, auto const& c) { lines[at++].on[2] = c; });
  at = 0;
  each_operation<whole, split>(fast, [&](char const*, auto const& c) { lines[at++].on[3] = c; });

  std::printf(
      "                          the library alone     allocations    layouts as values     with Serial            "
      "with "
      "%s, %d threads\n",
      Kokkos::DefaultExecutionSpace::name(), Kokkos::DefaultExecutionSpace().concurrency());
  std::printf(
      "ns an operation           forward     both    forward   both   forward     both   forward     both        "
      "forward "
      "    both\n");
  line mean{"mean of all", {}};
  for (auto const& r : lines) {
    for (std::size_t i = 0; i < mean.on.size(); ++i)
      for (std::size_t k = 0; k < 2; ++k) {
        mean.on[i][k].nanoseconds += r.on[i][k].nanoseconds / static_cast<double>(lines.size());
        mean.on[i][k].allocations += r.on[i][k].allocations / static_cast<double>(lines.size());
      }
  }
  lines.push_back(mean);
  for (auto const& r : lines)
    std::printf("%-24s %8.0f %8.0f   %8.2f %6.2f  %8.0f %8.0f  %8.0f %8.0f       %8.0f %8.0f\n", r.name,
                r.on[0][0].nanoseconds, r.on[0][1].nanoseconds, r.on[0][0].allocations, r.on[0][1].allocations,
                r.on[1][0].nanoseconds, r.on[1][1].nanoseconds, r.on[2][0].nanoseconds, r.on[2][1].nanoseconds,
                r.on[3][0].nanoseconds, r.on[3][1].nanoseconds);
  for (std::size_t const lengths : {1U, 16U, 256U, 2048U})
    std::printf("a softmax of tensors of %4zu lengths: %5.1f ns\n", lengths, of_lengths(lengths));
  std::printf("the pool asked the system %llu times for all of Serial's\n",
              static_cast<unsigned long long>(serial.memory().system_allocations - before));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  mtf::kokkos_backend<>::session const kokkos(argc, argv);
  return table();
}
