// Attention of sequences that are split: on any ranks what one rank has, in all types, with pads, and with kernels
// whose blocks are shorter than the parts.
// devices: none
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/ops/nn/attention.hpp>

#include "support/ranks_as_threads.hpp"

namespace {

struct batch : mtf::dim<"batch"> {};
struct heads : mtf::dim<"heads"> {};
struct group : mtf::dim<"group"> {};
struct sequence : mtf::dim<"sequence"> {};
struct memory : mtf::dim<"memory"> {};
struct d_head : mtf::dim<"d_head"> {};

template <template <class...> class Tensor>
struct parameters {
  Tensor<batch, heads, group, sequence, d_head> q;
  Tensor<batch, heads, memory, d_head> k, v;
  MTF_FIELDS(q, k, v);
};

using numbers = std::vector<std::vector<double>>;

/// The result and the gradients.
template <class T>
numbers attended(thread_backend& b, mtf::visible const& seen, bool with_lengths) {
  using here = mtf::place<T, mtf::any_layout<>, thread_backend>;
  using X = typename here::template tensor<batch, heads, group, sequence, d_head>;
  using ints = typename mtf::place<std::int32_t, mtf::any_layout<>, thread_backend>::template tensor<batch>;
  parameters<here::template tensor> p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(1).of(name));
      },
      p);
  auto const weights = mtf::random_normal<X>(b, mtf::random_key(2));
  auto const lengths = mtf::from_global<ints>(b, std::vector<std::int32_t>{7, 0});
  auto const result = [&](auto const& of) {
    return with_lengths ? mtf::attention<sequence, memory, d_head>(of.q, of.k, of.v, seen, lengths, 0.6)
                        : mtf::attention<sequence, memory, d_head>(of.q, of.k, of.v, seen, 0.6);
  };
  numbers all;
  auto const note = [&](auto const& x) { all.push_back(mtf::to_global(mtf::cast<double>(x))); };
  note(result(p));
  auto const found = mtf::value_and_grad([&](auto const& of) { return mtf::sum(result(of) * weights); })(p);
  mtf::for_each_tensor([&](auto, auto const& g) { note(g.complete()); }, found.gradients);
  return all;
}

template <class T>
void check(mtf::visible const& seen, bool with_lengths, std::string const& extents, double tolerance) {
  numbers expected;
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    auto given = mtf::extents_from(extents);
    for (char const* const name : {"sequence", "memory"}) given.give(name, *given.find(name));  // without pads
    b.layouts().give(given);
    expected = attended<T>(b, seen, with_lengths);
  });
  for (char const* const text :
       {"sequence:p+q;memory:p+q", "sequence:q+p;memory:p+q", "sequence:p;memory:p;batch:q", "sequence:p;memory:q",
        "sequence:p;memory:p+q", "sequence:p+q;memory:q", "memory:p+q", "sequence:p+q", "group:p;memory:p+q"})
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:2"), text));
      b.layouts().give(mtf::extents_from(extents));
      auto const found = attended<T>(b, seen, with_lengths);
      if (b.ranks().rank() != 0) return;
      CAPTURE(text);
      CAPTURE(to_string(seen));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        REQUIRE(found[i].size() == expected[i].size());
        double apart = 0;
        for (std::size_t j = 0; j < found[i].size(); ++j)
          apart = std::fmax(apart, std::isnan(found[i][j]) ? HUGE_VAL : std::abs(found[i][j] - expected[i][j]));
        CAPTURE(i);
        CHECK(apart < tolerance);
      }
    });
}

using mtf::visible;

}  // namespace

TEST_CASE("what positions hide, and lengths") {
  std::string const extents = "batch:2;heads:2;group:2;sequence:12;memory:12;d_head:5";
  for (auto const& seen : {visible::everything(), visible::causal(), visible::window(4), visible::window(3, -5),
                           visible::causal(2) & (visible::window(2, 2) | visible::prefix(1))})
    for (bool const with_lengths : {false, true}) check<double>(seen, with_lengths, extents, 1e-12);
}

TEST_CASE("pads, and ranks that have nothing else") {
  check<double>(visible::causal(), false, "batch:2;heads:1;group:2;sequence:9/4;memory:7/4;d_head:3", 1e-12);
  check<double>(visible::everything(), true, "batch:2;heads:1;group:2;sequence:5/4;memory:3/4;d_head:3", 1e-12);
}

TEST_CASE("parts that are longer than a kernel's blocks, in every type") {
  std::string const extents = "batch:2;heads:1;group:2;sequence:1200;memory:1200;d_head:16";
  check<float>(visible::causal(), false, extents, 2e-4);
  check<mtf::bfloat16>(visible::window(500), false, "batch:2;heads:1;group:2;sequence:600;memory:600;d_head:16", 0.3);
}

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
