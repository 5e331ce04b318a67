// Attention with biases, segments, a soft cap, groups and values of another width against PyTorch's
// (tests/reference/make_attention.py), and what only one rank need say: options that are refused, dropout.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/nn.hpp>

#include "reference/reference.hpp"

namespace {

struct batch : mtf::dim<"batch", 2> {};
struct group : mtf::dim<"group", 2> {};
struct member : mtf::dim<"member", 3> {};
struct query : mtf::dim<"query", 6> {};
struct key : mtf::dim<"key", 9> {};
struct head : mtf::dim<"head", 4> {};
struct wide : mtf::dim<"wide", 5> {};
using backend = mtf::kokkos_backend<>;
template <class T, class... D>
using on_one = typename mtf::place<T, mtf::layout<mtf::mesh<>>, backend>::template tensor<D...>;
template <class... D>
using of_doubles = on_one<double, D...>;

template <class Width>
struct operands {
  template <template <class...> class Tensor>
  struct on {
    Tensor<batch, group, member, query, head> q;
    Tensor<batch, group, key, head> k;
    Tensor<batch, group, key, Width> v;
    Tensor<group, member, query, key> bias;
    MTF_FIELDS(q, k, v, bias);
  };
};

struct fixture {
  mtf::reference::file all{std::string(MTF_TEST_DIR) + "/reference/attention.bin"};
  mtf::single_rank alone;
  backend machine{alone};

  template <class X>
  X tensor(std::string_view name) {
    auto const& values = all[name].values;
    return mtf::from_global<X>(machine, std::vector<typename X::element_type>(values.begin(), values.end()));
  }
  int differ(auto const& x, std::string const& name) {
    auto const found = mtf::to_global(x);
    auto const& want = all[name].values;
    REQUIRE(found.size() == want.size());
    int wrong = 0;
    for (std::size_t i = 0; i < want.size(); ++i) wrong += std::abs(found[i] - want[i]) <= 1e-13 ? 0 : 1;
    return wrong;
  }
  /// f(operands) is the file's, and so are its gradients.
  template <class Width, class F>
  void check(std::string const& name, std::string const& values, std::string const& weights, bool biased, F const& f) {
    CAPTURE(name);
    typename operands<Width>::template on<of_doubles> const p{
        tensor<of_doubles<batch, group, member, query, head>>("q"), tensor<of_doubles<batch, group, key, head>>("k"),
        tensor<of_doubles<batch, group, key, Width>>(values), tensor<of_doubles<group, member, query, key>>("bias")};
    auto const g = tensor<of_doubles<batch, group, member, query, Width>>(weights);
    CHECK(differ(f(p), name + ".out") == 0);
    auto const d = mtf::value_and_grad([&](auto const& of) { return mtf::sum(f(of) * g); })(p).gradients;
    CHECK(differ(d.q.complete(), name + ".dq") == 0);
    CHECK(differ(d.k.complete(), name + ".dk") == 0);
    CHECK(differ(d.v.complete(), name + ".dv") == 0);
    if (biased) CHECK(differ(d.bias.complete(), name + ".dbias") == 0);
  }
};

using mtf::attention_bias, mtf::attention_options, mtf::attention_segments, mtf::visible;
auto const causal = visible::causal(3);

}  // namespace

TEST_CASE_FIXTURE(fixture, "as PyTorch has it") {
  check<head>("biased", "v", "g", true, [](auto const& p) {
    return mtf::attention<query, key, head>(p.q, p.k, p.v, visible::everything(), {.scale = 0.6},
                                            attention_bias(p.bias));
  });
  check<head>("biased_causal", "v", "g", true, [](auto const& p) {
    return mtf::attention<query, key, head>(p.q, p.k, p.v, causal, {.scale = 0.6}, attention_bias(p.bias));
  });
  check<head>("capped", "v", "g", true, [](auto const& p) {
    return mtf::attention<query, key, head>(p.q, p.k, p.v, causal, {.scale = 0.6, .soft_cap = 1.3},
                                            attention_bias(p.bias));
  });
  auto const of_queries = tensor<on_one<std::int32_t, batch, query>>("of_queries");
  auto const of_keys = tensor<on_one<std::int32_t, batch, key>>("of_keys");
  check<head>("packed", "v", "g", false, [&](auto const& p) {
    return mtf::attention<query, key, head>(p.q, p.k, p.v, causal, {.scale = 0.6},
                                            attention_segments(of_queries, of_keys));
  });
  check<wide>("wide", "wide", "wide_g", false,
              [](auto const& p) { return mtf::attention<query, key, head>(p.q, p.k, p.v, causal, 0.6); });
}

TEST_CASE_FIXTURE(fixture, "options that are none are refused") {
  auto const q = tensor<of_doubles<batch, group, member, query, head>>("q");
  auto const k = tensor<of_doubles<batch, group, key, head>>("k");
  auto const with = [&](attention_options const& o) { mtf::attention<query, key, head>(q, k, k, causal, o); };
  CHECK_THROWS_WITH_AS(with({.soft_cap = -1}), doctest::Contains("soft_cap is -1"), mtf::user_error);
  CHECK_THROWS_WITH_AS(with({.soft_cap = NAN}), doctest::Contains("soft_cap is"), mtf::user_error);
  CHECK_THROWS_WITH_AS(with({.dropout = 1.5}), doctest::Contains("a probability, from 0 to 1"), mtf::user_error);
}

TEST_CASE_FIXTURE(fixture, "dropout is that of the weights") {
  auto const q = tensor<of_doubles<batch, group, member, query, head>>("q");
  auto const k = tensor<of_doubles<batch, group, key, head>>("k");
  mtf::random_key const random(5);
  auto const found = mtf::attention<query, key, head>(q, k, k, causal, {.scale = 0.6, .dropout = 0.5, .key = random});
  auto const weights = mtf::dropout(
      mtf::masked_softmax<query, key>(mtf::einsum<batch, group, member, query, key>(q, k), causal, 0.6), 0.5, random);
  auto const want = mtf::to_global(mtf::einsum<batch, group, member, query, head>(weights, k));
  auto const got = mtf::to_global(found);
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-13));
  auto const none = mtf::to_global(mtf::attention<query, key, head>(q, k, k, causal, {.dropout = 1}));
  for (double const x : none) CHECK(x == 0);
}

TEST_CASE_FIXTURE(fixture, "special values of a bias, and queries without a key of their segment") {
  auto const q = tensor<of_doubles<batch, group, member, query, head>>("q");
  auto const k = tensor<of_doubles<batch, group, key, head>>("k");
  auto const out = [&](double of_key_0, double of_others) {
    std::vector<double> bias(9, of_others);
    bias[0] = of_key_0;
    return mtf::to_global(mtf::attention<query, key, head>(
        q, k, k, visible::everything(), {}, attention_bias(mtf::from_global<of_doubles<key>>(machine, bias))));
  };
  double const infinity = HUGE_VAL;
  auto const keys = mtf::to_global(k);
  CHECK(out(0, -infinity)[0] == keys[0]);  // all others are hidden
  CHECK(std::isnan(out(-infinity, -infinity)[0]));
  CHECK(std::isnan(out(NAN, 0)[0]));
  auto const ids = [&](std::int32_t first, auto n) {
    using X = on_one<std::int32_t, decltype(n)>;
    return mtf::from_global<X>(machine, std::vector<std::int32_t>(decltype(n)::extent, first));
  };
  auto const loss = [&](auto const& p) {
    return mtf::sum(mtf::attention<query, key, head>(p.q, p.k, p.v, causal, {},
                                                     attention_segments(ids(1, query{}), ids(2, key{}))));
  };
  operands<head>::on<of_doubles> const p{q, k, k, tensor<of_doubles<group, member, query, key>>("bias")};
  auto const result = mtf::value_and_grad(loss)(p);
  CHECK(mtf::to_global(result.value)[0] == 0);
  for (double const x : mtf::to_global(result.gradients.q.complete())) CHECK(x == 0);
  for (double const x : mtf::to_global(result.gradients.v.complete())) CHECK(x == 0);
}
