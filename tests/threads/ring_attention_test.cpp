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
#include <mtf/ops/nn/attention_with.hpp>

#include "support/ranks_as_threads.hpp"

namespace {

struct batch : mtf::dim<"batch"> {};
struct heads : mtf::dim<"heads"> {};
struct group : mtf::dim<"group"> {};
struct sequence : mtf::dim<"sequence"> {};
struct memory : mtf::dim<"memory"> {};
struct d_head : mtf::dim<"d_head"> {};
struct d_value : mtf::dim<"d_value"> {};

/// What attention is given besides queries, keys and values of the same width.
enum class more { nothing, lengths, cap_and_bias, bias_of_keys, segments, dropout_and_wide_values };

// The second layout splits no memory: there a bias of queries and keys can lie.
template <template <class...> class Tensor>
struct parameters {
  Tensor<batch, heads, group, sequence, d_head> q;
  Tensor<batch, heads, memory, d_head> k, v;
  Tensor<batch, heads, memory, d_value> wide;
  Tensor<mtf::under<mtf::any_layout<1>>, sequence, heads, memory> bias;
  Tensor<memory, heads> of_keys;
  MTF_FIELDS(q, k, v, wide, bias, of_keys);
};

using numbers = std::vector<std::vector<double>>;

/// The result and the gradients.
template <more With, class T>
numbers attended(thread_backend& b, mtf::visible const& seen) {
  using place = mtf::place<T, mtf::any_layout<>, thread_backend>;
  using ints = mtf::place<std::int32_t, mtf::any_layout<>, thread_backend>;
  parameters<place::template tensor> p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(1).of(name));
      },
      p);
  auto const lengths = mtf::from_global<typename ints::template tensor<batch>>(b, std::vector<std::int32_t>{7, 0});
  // Segments of some positions: one that only queries have, one that only keys have.
  auto const segments_of = [&]<class X>(X const*, int first) {
    auto const n = static_cast<int>(mtf::extent<sequence>(p.q)), m = static_cast<int>(mtf::extent<memory>(p.k));
    std::vector<std::int32_t> ids;
    for (int s = 0; s < 2; ++s)
      for (int at = 0; at < (first == 0 ? n : m); ++at) ids.push_back(first + (at + s) / 5);
    return mtf::from_global<X>(b, ids);
  };
  auto const result = [&](auto const& of) {
    mtf::attention_options const options{.scale = 0.6};
    auto const attends = [&](auto const& v, auto const&... x) {
      return mtf::attention<sequence, memory, d_head>(of.q, of.k, v, seen, x...);
    };
    if constexpr (With == more::nothing)
      return attends(of.v, 0.6);
    else if constexpr (With == more::lengths)
      return attends(of.v, lengths, 0.6);
    else if constexpr (With == more::cap_and_bias)
      return attends(of.v, mtf::attention_options{.scale = 0.9, .soft_cap = 0.7}, mtf::attention_bias(of.bias));
    else if constexpr (With == more::bias_of_keys)
      return attends(of.v, options, mtf::attention_bias(of.of_keys), mtf::attention_lengths(lengths));
    else if constexpr (With == more::segments)
      return attends(of.v, options,
                     mtf::attention_segments(
                         segments_of(static_cast<typename ints::template tensor<batch, sequence> const*>(nullptr), 0),
                         segments_of(static_cast<typename ints::template tensor<batch, memory> const*>(nullptr), 1)));
    else
      return attends(of.wide, mtf::attention_options{.scale = 0.6, .dropout = 0.4, .key = mtf::random_key(3)});
  };
  numbers all;
  auto const note = [&](auto const& x) { all.push_back(mtf::to_global(mtf::cast<double>(x))); };
  auto const y = result(p);
  note(y);
  auto const weights = mtf::random_normal<std::remove_cvref_t<decltype(y)>>(b, mtf::random_key(2));
  auto const found = mtf::value_and_grad([&](auto const& of) { return mtf::sum(result(of) * weights); })(p);
  mtf::for_each_tensor([&](auto, auto const& g) { note(g.complete()); }, found.gradients);
  return all;
}

template <more With, class T, class Mesh = mtf::mesh_of<"p:2;q:2">>
void check(mtf::visible const& seen, std::string const& extents, double tolerance,
           std::vector<std::string> const& layouts = {"sequence:p+q;memory:p+q", "sequence:q+p;memory:p+q",
                                                      "sequence:p;memory:p;batch:q", "sequence:p;memory:q",
                                                      "sequence:p;memory:p+q", "sequence:p+q;memory:q", "memory:p+q",
                                                      "sequence:p+q", "group:p;memory:p+q"}) {
  numbers expected;
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    for (int i = 0; i < 2; ++i) b.layouts().add({});
    auto given = mtf::extents_from(extents);
    for (char const* const name : {"sequence", "memory"}) given.give(name, *given.find(name));  // without pads
    b.layouts().give(given);
    expected = attended<With, T>(b, seen);
  });
  for (auto const& text : layouts) {
    // Of all that a bias has, memory is split last here.
    auto const without_memory = text.substr(0, text.find(text.starts_with("memory") ? "memory" : ";memory"));
    on_ranks_of<Mesh>([&](thread_backend& b) {
      for (auto const& rules : {text, without_memory})
        b.layouts().add(mtf::layout_from(mtf::mesh_from(Mesh::text()), rules));
      b.layouts().give(mtf::extents_from(extents));
      auto const found = attended<With, T>(b, seen);
      if (b.ranks().rank() != 0) return;
      CAPTURE(text);
      CAPTURE(to_string(seen));
      CAPTURE(static_cast<int>(With));
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
}
template <class T, more... With>
void check_each(mtf::visible const& seen, std::string const& extents, double tolerance) {
  (check<With, T>(seen, extents, tolerance), ...);
}

using mtf::visible;

}  // namespace

TEST_CASE("what positions hide, and what else there is") {
  using enum more;
  std::string const extents = "batch:2;heads:2;group:2;sequence:12;memory:12;d_head:5;d_value:4";
  for (auto const& seen : {visible::everything(), visible::causal(), visible::window(4), visible::window(3, -5),
                           visible::causal(2) & (visible::window(2, 2) | visible::prefix(1))})
    check_each<double, nothing, lengths, cap_and_bias, bias_of_keys, segments, dropout_and_wide_values>(seen, extents,
                                                                                                        1e-12);
}

TEST_CASE("pads, and ranks that have nothing else") {
  using enum more;
  check_each<double, nothing, cap_and_bias, segments, dropout_and_wide_values>(
      visible::causal(), "batch:2;heads:1;group:2;sequence:9/4;memory:7/4;d_head:3;d_value:4", 1e-12);
  check_each<double, lengths, bias_of_keys>(
      visible::everything(), "batch:2;heads:1;group:2;sequence:5/4;memory:3/4;d_head:3;d_value:4", 1e-12);
}

TEST_CASE("halves of queries that are exchanged") {
  using enum more;
  std::string const extents = "batch:2;heads:2;group:2;sequence:24;memory:24;d_head:5;d_value:4";
  for (auto const& seen : {visible::causal(), visible::causal(3), visible::window(17),
                           visible::causal() & (visible::window(20) | visible::prefix(2))})
    check_each<double, nothing, lengths, dropout_and_wide_values>(seen, extents, 1e-12);
  // A rank in the middle has its own two halves.
  for (std::string const odd : {"sequence:p;memory:p", "memory:p"})
    check<dropout_and_wide_values, double, mtf::mesh_of<"p:3">>(visible::causal(), extents, 1e-12, {odd});
  check<nothing, double, mtf::mesh_of<"p:6">>(visible::causal(), extents, 1e-12, {"sequence:p;memory:p"});
  check<nothing, double>(visible::causal(), extents, 1e-12, {"sequence:q+p;memory:q+p"});
  // Exchanged, though no key goes anywhere; and nothing to exchange for.
  for (auto const& seen : {visible::window(1), visible::window(0)})
    check<nothing, double, mtf::mesh_of<"p:2">>(seen, "batch:2;heads:2;group:2;sequence:8;memory:4;d_head:5;d_value:4",
                                                1e-12, {"sequence:p;memory:p"});
  check<nothing, mtf::bfloat16>(visible::causal(), extents, 0.3);
  check<lengths, double>(visible::causal(), "batch:2;heads:2;group:2;sequence:8;memory:7/4;d_head:5;d_value:4", 1e-12);
}

TEST_CASE("parts that are longer than a kernel's blocks, in every type") {
  using enum more;
  check_each<float, nothing, cap_and_bias>(
      visible::causal(), "batch:2;heads:1;group:2;sequence:1200;memory:1200;d_head:16;d_value:4", 2e-4);
  check_each<mtf::bfloat16, nothing, segments>(
      visible::window(500), "batch:2;heads:1;group:2;sequence:600;memory:600;d_head:16;d_value:4", 0.3);
}

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
