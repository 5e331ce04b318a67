// A plan's memory is that of rank 0: no other rank has more tensors, also where only others have pads, or nothing else.
// devices: none
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>
#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/ops/nn.hpp>
#include <mtf/ops/reduction.hpp>
#include <mtf/ops/sorting.hpp>

namespace {

struct rows : mtf::dim<"rows"> {};
struct along : mtf::dim<"along"> {};
struct most : mtf::dim<"most"> {};

/// The most bytes of tensors that a rank has in f(x).
template <class F>
std::uint64_t peak_of(int rank, mtf::layout_value const& layout, std::string_view extents, F const& f) {
  mtf::trace b(layout.mesh.shape, rank);
  b.layouts().add(layout);
  b.layouts().give(mtf::extents_from(extents));
  using mtf::detail::stand_in;
  stand_in<mtf::place<float, mtf::any_layout<>, mtf::trace>, mtf::input<float, rows, along>> const x(b);
  static_cast<void>(mtf::complete(f(x.value)));
  return b.peak_bytes();
}

template <class F>
void on_all_ranks(std::string_view name, F const& f) {
  CAPTURE(name);
  for (std::string_view const split : {"along:p", "rows:p", "along:p;rows:q", "along:p+q", "along:q;rows:p"})
    for (std::string_view const extents : {"rows:3/4;along:5/4;most:2", "rows:1/4;along:1/8;most:1",
                                           "rows:4;along:8/4;most:2", "rows:6/4;along:9/8;most:2"}) {
      CAPTURE(split);
      CAPTURE(extents);
      auto const layout = mtf::layout_from(mtf::mesh_from("p:2;q:2"), split);
      auto const planned = peak_of(0, layout, extents, f);
      for (int rank = 1; rank < 4; ++rank) {
        CAPTURE(rank);
        CHECK(peak_of(rank, layout, extents, f) <= planned);
      }
    }
}

TEST_CASE("no rank has more tensors than rank 0, whose memory is the plan's") {
  on_all_ranks("argmax", [](auto const& x) { return mtf::argmax<along>(x); });
  on_all_ranks("argmin", [](auto const& x) { return mtf::argmin<along>(x); });
  on_all_ranks("top_k", [](auto const& x) { return std::get<0>(mtf::top_k<along, most>(x)); });
  on_all_ranks("categorical", [](auto const& x) { return mtf::categorical<along>(x, mtf::random_key(1)); });
  on_all_ranks("sort", [](auto const& x) { return mtf::sort<along>(x); });
  on_all_ranks("sample", [](auto const& x) { return mtf::sample<along>(x, mtf::reduce_max<along>(x)); });
  on_all_ranks("argsort", [](auto const& x) { return mtf::argsort<along>(x); });
  on_all_ranks("cumulative_sum", [](auto const& x) { return mtf::cumulative_sum<along>(x); });
  on_all_ranks("cumulative_max", [](auto const& x) { return mtf::cumulative_max<along>(x); });
  on_all_ranks("sum", [](auto const& x) { return mtf::sum<along>(x); });
  on_all_ranks("mean", [](auto const& x) { return mtf::mean<along>(x); });
  on_all_ranks("reduce_max", [](auto const& x) { return mtf::reduce_max<along>(x); });
  on_all_ranks("reduce_prod", [](auto const& x) { return mtf::reduce_prod<along>(x); });
  on_all_ranks("softmax", [](auto const& x) { return mtf::softmax<along>(x); });
  on_all_ranks("log_softmax", [](auto const& x) { return mtf::log_softmax<along>(x); });
  on_all_ranks("layer_norm", [](auto const& x) { return mtf::layer_norm<along>(x); });
  on_all_ranks("roll", [](auto const& x) { return mtf::roll<along>(x, 1); });
  on_all_ranks("shift", [](auto const& x) { return mtf::shift<along>(x, 1); });
  on_all_ranks("reverse", [](auto const& x) { return mtf::reverse<along>(x); });
  on_all_ranks("transpose", [](auto const& x) { return mtf::transpose<along, rows>(x); });
}

}  // namespace
