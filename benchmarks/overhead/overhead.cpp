// Nanoseconds for an operation on tensors of one element: forward without gradients, and forward and backward of a
// tracked one; how often it allocates. On a backend whose kernels do nothing, which is the library's own cost, and on
// Kokkos'.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <tuple>
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
struct one : mtf::axis<"one", 1> {};
using whole = mtf::layout<mtf::mesh<one>>;
using split = mtf::layout<mtf::mesh<one>, mtf::split<batch, one>>;

constexpr std::size_t together = 64;  // operations on one tape
constexpr int rounds = 100;

struct cost {
  double nanoseconds = 0, allocations = 0;
};

/// For one of the `together` operations that f() does, the fastest of nine times: whatever else the machine does only
/// adds.
template <class F>
cost cost_of(F const& f) {
  for (int i = 0; i < 20; ++i) f();
  long const before = allocations;
  for (int i = 0; i < 20; ++i) f();
  double const allocated = static_cast<double>(allocations - before) / 20 / together;
  double best = 1e9;
  for (int r = 0; r < 9; ++r)
    best = std::min(best, measure::seconds([&] {
                      for (int i = 0; i < rounds; ++i) f();
                    }));
  return {best * 1e9 / rounds / together, allocated};
}

template <class Backend>
class bench {
 public:
  explicit bench(Backend& b) : b_(&b) {}

  /// An operation f on operands like x; those with floating elements are tracked.
  template <class F, class... X>
  std::array<cost, 2> operator()(F const& f, X const&... x) {
    std::array<std::tuple<X...>, together> in;
    for (auto& i : in) i = {x...};
    using result = decltype(f(x...));
    std::array<result, together> out;
    auto const forward = cost_of([&] {
      for (std::size_t i = 0; i < together; ++i) out[i] = std::apply(f, in[i]);
    });
    mtf::detail::tape<Backend> tape(*b_);
    for (auto& i : in) std::apply([&](auto&... t) { (track(tape, t), ...); }, i);
    using T = typename result::element_type;
    auto const both = cost_of([&] {
      for (std::size_t i = 0; i < together; ++i) {
        out[i] = std::apply(f, in[i]);
        out[i].value().slot->add({mtf::backend::make_buffer<T>(*b_, 1), 0});
      }
      tape.run();
      for (auto& i : in) std::apply([&](auto&... t) { (take(t), ...); }, i);
    });
    return {forward, both};
  }

 private:
  template <class X>
  void track(mtf::detail::tape<Backend>& tape, X& x) {
    using T = typename X::element_type;
    if constexpr (mtf::is_floating<T>)
      x = X(mtf::detail::value<Backend, T>(
          x.value().memory, mtf::backend::make_ref<mtf::detail::gradient_slot<Backend, T>>(*b_, tape, X::spec)));
  }
  template <class X>
  void take(X& x) {
    if (x.value().slot) x.value().slot->take();
  }

  Backend* b_;
};

/// All operations on one backend: f(name, costs).
template <class Backend, class F>
void each_operation(Backend& b, F const& f) {
  bench<Backend> run(b);
  auto const make = [&]<class... D>(mtf::shape<D...>) {
    return mtf::full<typename mtf::place<float, whole, Backend>::template tensor<D...>>(b, 0.5F);
  };
  auto const x = make(mtf::shape<batch, width>{});
  auto const y = make(mtf::shape<batch, width>{});
  auto const w = make(mtf::shape<width, hidden>{});
  auto const bias = make(mtf::shape<width>{});
  auto const scale = make(mtf::shape<width>{});
  using ids = typename mtf::place<std::int32_t, whole, Backend>::template tensor<batch>;
  auto const label = mtf::zeros<ids>(b);

  f("einsum", run([](auto const& p, auto const& q) { return mtf::einsum<batch, hidden>(p, q); }, x, w));
  f("relu", run([](auto const& p) { return mtf::relu(p); }, x));
  f("add", run([](auto const& p, auto const& q) { return p + q; }, x, y));
  f("multiply", run([](auto const& p, auto const& q) { return p * q; }, x, y));
  f("multiply by a number", run([](auto const& p) { return p * 2.0F; }, x));
  f("add a bias", run([](auto const& p, auto const& q) { return p + q; }, x, bias));
  f("gelu(x + bias), one map",
    run([](auto const& p,
           auto const& q) { return mtf::map([](auto a, auto c) { return mtf::functions::gelu{}(a + c); }, p, q); },
        x, bias));
  f("sum", run([](auto const& p) { return mtf::sum<width>(p); }, x));
  f("mean", run([](auto const& p) { return mtf::mean(p); }, x));
  f("softmax", run([](auto const& p) { return mtf::softmax<width>(p); }, x));
  f("log_softmax", run([](auto const& p) { return mtf::log_softmax<width>(p); }, x));
  f("logsumexp", run([](auto const& p) { return mtf::logsumexp<width>(p); }, x));
  f("cross_entropy", run([](auto const& p, auto const& l) { return mtf::cross_entropy<width>(p, l); }, x, label));
  f("layer_norm",
    run([](auto const& p, auto const& s, auto const& c) { return mtf::layer_norm<width>(p, s, c); }, x, scale, bias));
  f("rms_norm", run([](auto const& p, auto const& s) { return mtf::rms_norm<width>(p, s); }, x, scale));
  f("embedding", run([](auto const& t, auto const& l) { return mtf::embedding<width>(t, l); }, w, label));
  f("dropout", run([](auto const& p) { return mtf::dropout(p, 0.1, mtf::random_key(1)); }, x));
  f("transpose", run([](auto const& p) { return mtf::transpose<width, batch>(p); }, x));
  f("relayout", run([](auto const& p) { return mtf::relayout<split>(p); }, x));
}

struct row {
  char const* name;
  std::array<std::array<cost, 2>, 3> on;  // idle, Serial, the default execution space
};

int table() {
  mtf::single_rank ranks(mtf::mesh<one>::shape());
  overhead::idle_backend<Kokkos::Serial> idle(ranks);
  mtf::kokkos_backend<Kokkos::Serial> serial(ranks);
  mtf::kokkos_backend<> fast(ranks);
  std::vector<row> rows;
  each_operation(idle, [&](char const* name, auto const& c) { rows.push_back({name, {c}}); });
  auto const before = serial.memory().system_allocations;
  std::size_t at = 0;
  each_operation(serial, [&](char const*, auto const& c) { rows[at++].on[1] = c; });
  at = 0;
  each_operation(fast, [&](char const*, auto const& c) { rows[at++].on[2] = c; });

  std::printf(
      "                          the library alone     allocations       with Serial            with %s, %d threads\n",
      Kokkos::DefaultExecutionSpace::name(), Kokkos::DefaultExecutionSpace().concurrency());
  std::printf(
      "ns an operation           forward     both    forward   both   forward     both        forward     both\n");
  row mean{"mean of all", {}};
  for (auto const& r : rows) {
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 2; ++k) {
        mean.on[i][k].nanoseconds += r.on[i][k].nanoseconds / static_cast<double>(rows.size());
        mean.on[i][k].allocations += r.on[i][k].allocations / static_cast<double>(rows.size());
      }
  }
  rows.push_back(mean);
  for (auto const& r : rows)
    std::printf("%-24s %8.0f %8.0f   %8.2f %6.2f  %8.0f %8.0f       %8.0f %8.0f\n", r.name, r.on[0][0].nanoseconds,
                r.on[0][1].nanoseconds, r.on[0][0].allocations, r.on[0][1].allocations, r.on[1][0].nanoseconds,
                r.on[1][1].nanoseconds, r.on[2][0].nanoseconds, r.on[2][1].nanoseconds);
  std::printf("the pool asked the system %llu times for all of Serial's\n",
              static_cast<unsigned long long>(serial.memory().system_allocations - before));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  mtf::kokkos_backend<>::session const kokkos(argc, argv);
  return table();
}
