// Which attention is given to a vendor's fused kernels, and as what.
#include <optional>

#include <doctest/doctest.h>

#include <mtf/kokkos/vendor/fused_attention.hpp>

namespace {

using mtf::visible;
using mtf::backend::attention_shape;
using mtf::backend::index;
using mtf::kokkos::fused_shape;
using mtf::kokkos::fused_shape_of;
using band = fused_shape::band;

/// [batch, sequence, heads, d_head]: 3 sequences, 2 heads of keys, each for 4 of queries.
attention_shape grouped() {
  attention_shape s;
  s.batch = {.ndim = 3, .extent = {3, 2, 4}, .stride = {}};
  for (auto const o : {mtf::backend::of_q, mtf::backend::of_out}) s.batch.stride[o] = {16 * 8 * 64, 4 * 64, 64};
  for (auto const o : {mtf::backend::of_k, mtf::backend::of_v}) s.batch.stride[o] = {32 * 2 * 64, 64, 0};
  s.queries = 16;
  s.keys = 32;
  s.head = s.values = 64;
  s.q_row = s.out_row = 8 * 64;
  s.k_row = s.v_row = 2 * 64;
  s.seen = visible::causal(16);
  return s;
}

TEST_CASE("heads that share keys, and their strides") {
  auto const s = fused_shape_of(grouped(), 0.125);
  REQUIRE(s);
  CHECK(s->batch == 3);
  CHECK(s->heads == 8);
  CHECK(s->shared == 4);
  CHECK(s->q == fused_shape::strides{16 * 8 * 64, 64, 8 * 64});
  CHECK(s->k == fused_shape::strides{32 * 2 * 64, 64, 2 * 64});
  CHECK(s->seen == band::from_the_last);
  CHECK(s->window == 0);
  CHECK(s->scale == 0.125);
}

TEST_CASE("what a query sees") {
  auto const of = [](visible const& seen) {
    auto a = grouped();
    a.seen = seen;
    return fused_shape_of(a, 1);
  };
  CHECK(of(visible::everything())->seen == band::everything);
  CHECK(of(visible::causal())->seen == band::from_the_first);
  CHECK(of(visible::causal(16))->seen == band::from_the_last);
  CHECK(of(visible::window(5))->window == 5);
  CHECK(of(visible::window(5))->seen == band::from_the_first);
  CHECK(of(visible::window(7, 16))->window == 7);
  CHECK(of(visible::window(7, 16))->seen == band::from_the_last);
  CHECK_FALSE(of(visible::causal(3)));
  CHECK_FALSE(of(visible::window(5, 2)));
  CHECK_FALSE(of(visible::window(0)));
  CHECK_FALSE(of(visible::causal() | visible::prefix(4)));
  CHECK_FALSE(of(visible::causal() & (visible::window(3) | visible::prefix(1))));
}

TEST_CASE("one sequence, or one head, and loops of extent 1") {
  auto a = grouped();
  a.batch.extent = {1, 2, 4};
  CHECK(fused_shape_of(a, 1)->batch == 1);
  CHECK(fused_shape_of(a, 1)->heads == 8);
  a.batch.extent = {3, 1, 4};
  CHECK(fused_shape_of(a, 1)->batch == 3);
  CHECK(fused_shape_of(a, 1)->heads == 4);
  a.batch.extent = {1, 1, 4};
  CHECK(fused_shape_of(a, 1)->heads == 4);
  CHECK(fused_shape_of(a, 1)->shared == 4);
  a.batch.extent = {1, 1, 1};
  CHECK(fused_shape_of(a, 1)->heads == 1);
  a.batch.ndim = 0;
  CHECK(fused_shape_of(a, 1)->batch == 1);
}

TEST_CASE("what is of no such form") {
  auto const refused = [](auto const& change) {
    auto a = grouped();
    change(a);
    return !fused_shape_of(a, 1).has_value();
  };
  CHECK(refused([](auto& a) { a.head = 12; }));
  CHECK(refused([](auto& a) { a.values = 264; }));
  CHECK(refused([](auto& a) { a.q_row = 516; }));
  CHECK(refused([](auto& a) { a.soft_cap = 30; }));
  CHECK(refused([](auto& a) { a.dropped = 0.1; }));
  CHECK(refused([](auto& a) { a.biased = true; }));
  std::int32_t const some = 1;
  CHECK(refused([&](auto& a) { a.lengths = &some; }));
  CHECK(refused([&](auto& a) { a.query_ids = &some; }));
  CHECK(refused([](auto& a) { a.batch.stride[mtf::backend::of_q][1] = 3 * 64; }));  // heads not evenly apart
  CHECK(refused([](auto& a) { a.batch.stride[mtf::backend::of_k][0] = 0; }));       // sequences that share keys
  CHECK(refused([](auto& a) {                                                       // one loop too many
    a.batch.ndim = 4;
    a.batch.extent = {2, 3, 2, 4};
    for (auto& s : a.batch.stride) s = {1 << 20, s[0], s[1], s[2]};
  }));
}

}  // namespace
