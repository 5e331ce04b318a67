// Operations on one rank, on tensors beyond the caches, beside what the memory can do: a triad as STREAM's, measured
// just before each. The bytes are those that must move: each element that is read once, each result written once. Sorts
// stand beside std::sort of one thread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/ops/nn.hpp>
#include <mtf/ops/sorting.hpp>

#include "../beside_triad.hpp"

namespace {

// 128 MiB of floats, as rows, and as what a Transformer has: 32 million elements each.
struct row : mtf::dim<"row", 32768> {};
struct width : mtf::dim<"width", 1024> {};
struct half : mtf::dim<"half", 512> {};
struct both : mtf::dim<"both", 2048> {};
struct chosen : mtf::dim<"chosen", 32768> {};
struct classes : mtf::dim<"classes", 1024> {};
struct batch : mtf::dim<"batch", 16> {};
struct sequence : mtf::dim<"sequence", 2048> {};
struct heads : mtf::dim<"heads", 16> {};
struct d_head : mtf::dim<"d_head", 64> {};
struct text : mtf::dim<"text", 512> {};
struct vocab : mtf::dim<"vocab", 50257> {};
struct candidate : mtf::dim<"candidate", 8> {};

using backend = mtf::kokkos_backend<>;
template <class T, class... D>
using tensor = typename mtf::place<T, mtf::layout<mtf::mesh<>>, backend>::template tensor<D...>;

constexpr double whole = 4.0 * row::extent * width::extent;

struct operands {
  backend& b;
  template <class X>
  [[nodiscard]] X normal(char const* name) const {
    return mtf::random_normal<X>(b, mtf::random_key(1).of(name));
  }
  tensor<float, row, width> x = normal<tensor<float, row, width>>("x"), z = normal<tensor<float, row, width>>("z");
  tensor<float, batch, sequence, heads, d_head> q = normal<tensor<float, batch, sequence, heads, d_head>>("q");
  tensor<float, sequence, d_head> angles = normal<tensor<float, sequence, d_head>>("angles");
  tensor<float, text, vocab> logits = normal<tensor<float, text, vocab>>("logits");
  // Any order: a number that shares no factor with the extent, times the position.
  tensor<std::int32_t, chosen> ids = mtf::iota<chosen, tensor<std::int32_t, chosen>>(b) * 7919 % chosen::extent;
  tensor<std::int32_t, row> labels = mtf::iota<row, tensor<std::int32_t, row>>(b) * 619 % classes::extent;

  /// Of arrays of its own, bytes a second.
  [[nodiscard]] double triad() const {
    return measure::triad<backend::execution_space>(arrays.data(), arrays.data() + size, arrays.data() + 2 * size,
                                                    size);
  }
  static constexpr std::ptrdiff_t size = row::extent * width::extent;
  Kokkos::View<float*, backend::execution_space> arrays{"arrays", 3 * size};
};

template <class F>
void operation(operands const& o, char const* name, double bytes, F const& f) {
  measure::add(name, [&o, bytes, f](benchmark::State& state) {
    double const limit = o.triad();
    measure::bandwidth(state, bytes, measure::timed(o.b, state, [&] { benchmark::DoNotOptimize(f()); }), limit);
  });
}

void register_all(operands const& o) {
  operation(o, "gather rows", 2 * whole, [&] { return mtf::gather<row>(o.x, o.ids); });
  operation(o, "gather of each row", 4.0 * 3 * row::extent, [&] { return mtf::gather<width>(o.x, o.labels); });
  operation(o, "scatter_add rows", 2 * whole,
            [&] { return mtf::scatter_add<row>(o.ids, mtf::rename<row, chosen>(o.x)); });
  operation(o, "cumulative_sum", 2 * whole, [&] { return mtf::cumulative_sum<width>(o.x); });
  operation(o, "cumulative_sum along the outer one", 2 * whole, [&] { return mtf::cumulative_sum<row>(o.x); });
  operation(o, "cumulative_max", 2 * whole, [&] { return mtf::cumulative_max<width>(o.x); });
  operation(o, "concat", 4 * whole, [&] { return mtf::concat<both, width, width>(o.x, o.z); });
  operation(o, "slice", whole, [&] { return mtf::slice<width, half>(o.x, 256); });
  operation(o, "roll", 2 * whole, [&] { return mtf::roll<width>(o.x, 100); });
  operation(o, "one_hot", whole, [&] { return mtf::one_hot<classes>(o.labels); });
  operation(o, "argmax", whole, [&] { return mtf::argmax<width>(o.x); });
  operation(o, "rotary", 2 * whole, [&] { return mtf::rotary<d_head>(o.q, o.angles, o.angles); });
  operation(o, "top_k, 8 of 50257", 4.0 * text::extent * vocab::extent,
            [&] { return mtf::top_k<vocab, candidate>(o.logits); });
  measure::add("sort", [&o](benchmark::State& state) {
    auto rows = mtf::to_global(o.x);
    double const alone = measure::seconds([&] {
      for (std::size_t i = 0; i < rows.size(); i += width::extent)
        std::sort(rows.data() + i, rows.data() + i + width::extent);
    });
    double const took = measure::timed(o.b, state, [&] { benchmark::DoNotOptimize(mtf::sort<width>(o.x)); });
    state.counters["std::sort"] = alone;
    state.counters["speed"] = alone / took;
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const kokkos(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  mtf::single_rank ranks;
  backend machine(ranks);
  operands const o{machine};
  register_all(o);
  benchmark::RunSpecifiedBenchmarks();
}
