// Attention of a sequence that is split over two ranks (threads of one core each), beside one rank's: what going round
// costs, and whether the ranks have as much to do where keys are hidden. If they have, two ranks take causal
// attention's time down to half, as they do where all is visible; with contiguous parts of the queries it would be 3/4.
#include <cstdio>
#include <type_traits>
#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/nn.hpp>
#include <mtf/threads.hpp>

#include "../measure.hpp"

namespace {

struct heads : mtf::dim<"heads", 8> {};
struct sequence : mtf::dim<"sequence", 4096> {};
struct memory : mtf::dim<"memory", 4096> {};
struct d_head : mtf::dim<"d_head", 64> {};

using backend = mtf::kokkos_backend<Kokkos::Serial>;
using mesh = mtf::mesh_of<"seq:2">;
using split = mtf::layout_of<"seq:2", "sequence:seq;memory:seq", heads, sequence, memory, d_head>;
using whole = mtf::layout<mtf::mesh<>>;

template <template <class...> class Tensor>
struct operands {
  Tensor<heads, sequence, d_head> q;
  Tensor<heads, memory, d_head> k, v;
  MTF_FIELDS(q, k, v);
};

/// Seconds of a forward pass, and of one with its backward pass: medians.
struct times {
  double forward = 0, both = 0;
};
template <class Layout>
times measured(backend& machine, mtf::visible const& seen) {
  using place = mtf::place<float, Layout, backend>;
  operands<place::template tensor> x;
  mtf::for_each_tensor(
      [&](auto name, auto& t) {
        t = mtf::random_normal<std::remove_cvref_t<decltype(t)>>(machine, mtf::random_key(1).of(name));
      },
      x);
  auto const attended = [&](auto const& of) {
    return mtf::attention<sequence, memory, d_head>(of.q, of.k, of.v, seen, 0.125);
  };
  auto const median_of = [&](auto const& f) {
    std::vector<double> runs;
    for (int i = 0; i < 6; ++i)
      if (double const t = measure::seconds(f); i > 0) runs.push_back(t);
    return measure::median(runs);
  };
  // The sum ends a pass: all ranks wait for it.
  return {.forward = median_of([&] { mtf::item(mtf::sum(attended(x))); }),
          .both = median_of([&] {
            mtf::item(mtf::value_and_grad([&](auto const& of) { return mtf::sum(attended(of)); })(x).value);
          })};
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const kokkos(argc, argv);
  mtf::single_rank one;
  backend alone(one);
  std::printf("float, sequence 4096, heads 8, d_head 64\n");
  for (auto const& seen : {mtf::visible::everything(), mtf::visible::causal()}) {
    auto const of_one = measured<whole>(alone, seen);
    times of_two;
    mtf::rank_threads pool(mesh::size);
    pool.run(
        mesh::shape(),
        [&](mtf::collectives& ranks) {
          backend machine = backend::one_of_many(ranks);
          auto const found = measured<split>(machine, seen);
          if (ranks.rank() == 0) of_two = found;
        },
        mesh::text());
    std::printf("  %-14s forward: one rank %7.1f ms, two %7.1f (%.2f); with the backward pass: %7.1f, %7.1f (%.2f)\n",
                seen.is_everything() ? "everything" : "causal", of_one.forward * 1e3, of_two.forward * 1e3,
                of_two.forward / of_one.forward, of_one.both * 1e3, of_two.both * 1e3, of_two.both / of_one.both);
  }
}
