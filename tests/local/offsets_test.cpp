// Adding a constant to a row changes nothing of what is made of the differences in it, beyond the row's own rounding:
// here the rows are whole numbers, and the constants so large that these are just told apart.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/nn/attention.hpp>

namespace {

using backend = mtf::kokkos_backend<>;
struct row : mtf::dim<"row", 3> {};
struct c : mtf::dim<"c", 40> {};
struct query : mtf::dim<"query", 70> {};
struct key : mtf::dim<"key", 70> {};
struct head : mtf::dim<"head", 4> {};
template <class T>
using here = mtf::place<T, mtf::layout<mtf::mesh<>>, backend>;
template <template <class...> class Tensor>
struct logits_of {
  Tensor<row, c> x;
  MTF_FIELDS(x);
};
template <template <class...> class Tensor>
struct attended {
  Tensor<query, head> q;
  Tensor<key, head> k, v;
  MTF_FIELDS(q, k, v);
};

template <class T>
double as_double(T x) {
  if constexpr (std::is_same_v<T, mtf::bfloat16>)
    return static_cast<double>(static_cast<float>(x));
  else
    return static_cast<double>(x);
}
template <class T>
T number(double x) {
  if constexpr (std::is_same_v<T, mtf::bfloat16>)
    return T(static_cast<float>(x));
  else
    return static_cast<T>(x);
}
template <class T>
std::vector<double> numbers_of(std::vector<T> const& x) {
  std::vector<double> all;
  for (T const v : x) all.push_back(as_double(v));
  return all;
}

/// From this one on the next number is 1 away.
template <class T>
inline constexpr double offset = std::is_same_v<T, double>  ? 0x1p52
                                 : std::is_same_v<T, float> ? 0x1p23
                                                            : 0x1p7;
template <class T>
inline constexpr double tolerance = std::is_same_v<T, double>  ? 1e-14
                                    : std::is_same_v<T, float> ? 2e-6
                                                               : 1e-2;

template <class T>
void check_close(std::vector<double> const& got, std::vector<double> const& want) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (double const off = std::abs(got[i] - want[i]) / (1 + std::abs(want[i])); !(off <= worst))
      worst = std::isnan(off) ? HUGE_VAL : off, at = i;
  INFO("element ", at, ": ", got[at], ", without the offset ", want[at]);
  CHECK(worst <= tolerance<T>);
}

/// Value and gradient of f(x), weighted, of logits with an offset.
template <class T, class F>
std::pair<std::vector<double>, std::vector<double>> with_offset(F const& f, double v) {
  mtf::single_rank alone;
  backend machine(alone);
  using X = typename here<T>::template tensor<row, c>;
  std::vector<T> x;
  for (int i = 0; i < 3 * 40; ++i) x.push_back(number<T>(v + (i * 7 % 11 < 4 ? i % 5 : 0)));
  logits_of<here<T>::template tensor> const p{mtf::from_global<X>(machine, x)};
  std::vector<double> result;
  auto const g = mtf::value_and_grad([&](auto const& q) {
                   auto const y = f(machine, q.x);
                   result = numbers_of(mtf::to_global(y));
                   using Y = std::remove_cvref_t<decltype(y)>;
                   return mtf::sum(y * mtf::random_uniform<Y>(machine, mtf::random_key(3), 0.5, 1.5));
                 })(p)
                     .gradients;
  return {result, numbers_of(g.x.complete().local())};
}

TEST_CASE_TEMPLATE("a constant added to a row of logits", T, float, double, mtf::bfloat16) {
  auto const check = [](char const* name, bool moves, auto const& f) {
    CAPTURE(std::string(name));
    auto const still = with_offset<T>(f, 0);
    for (double const v : {offset<T>, -offset<T> - 8, offset<T> / 2}) {
      CAPTURE(v);
      auto const [value, gradient] = with_offset<T>(f, v);
      if (!moves) check_close<T>(value, still.first);
      check_close<T>(gradient, still.second);
    }
  };
  check("softmax", false, [](auto&, auto const& x) { return mtf::softmax<c>(x); });
  check("log_softmax", false, [](auto&, auto const& x) { return mtf::log_softmax<c>(x); });
  check("logsumexp", true, [](auto&, auto const& x) { return mtf::logsumexp<c>(x); });
  check("cross_entropy", false, [](auto& machine, auto const& x) {
    using X = std::remove_cvref_t<decltype(x)>;
    using labels = mtf::place<std::int32_t, typename X::layout_type, backend>::template tensor<row>;
    return mtf::cross_entropy<c>(x, mtf::from_global<labels>(machine, std::vector<std::int32_t>{2, 0, 39}));
  });
}

/// All scores of a query have a constant in common where a column of the keys is one number.
template <class T>
std::vector<std::vector<double>> attention_with_offset(double v, double scale) {
  mtf::single_rank alone;
  backend machine(alone);
  using Q = typename here<T>::template tensor<query, head>;
  using K = typename here<T>::template tensor<key, head>;
  std::vector<T> q, k, values;
  for (int i = 0; i < 70; ++i)
    for (int h = 0; h < 4; ++h) {
      q.push_back(number<T>(h == 0 ? 1 : i * 3 % 2));
      k.push_back(number<T>(h == 0 ? v : (i * 7 + h) % 3 == 0 ? 1 : 0));
      values.push_back(number<T>((i * 5 + h) % 7 - 3));
    }
  attended<here<T>::template tensor> const p{mtf::from_global<Q>(machine, q), mtf::from_global<K>(machine, k),
                                             mtf::from_global<K>(machine, values)};
  std::vector<double> result;
  auto const g = mtf::value_and_grad([&](auto const& a) {
                   auto const y = mtf::attention<query, key, head>(a.q, a.k, a.v, mtf::visible::causal(), scale);
                   result = numbers_of(mtf::to_global(y));
                   using Y = std::remove_cvref_t<decltype(y)>;
                   return mtf::sum(y * mtf::random_uniform<Y>(machine, mtf::random_key(3), 0.5, 1.5));
                 })(p)
                     .gradients;
  // The gradients of the queries' constant column, which is multiplied by the offset, are sums that cancel.
  auto dq = numbers_of(g.q.complete().local());
  for (std::size_t i = 0; i < dq.size(); i += 4) dq[i] = 0;
  return {result, dq, numbers_of(g.k.complete().local()), numbers_of(g.v.complete().local())};
}

TEST_CASE_TEMPLATE("a constant added to all scores of a query", T, float, double, mtf::bfloat16) {
  // Scores are sums in the compute type.
  double const v = std::is_same_v<T, double> ? 0x1p52 : 0x1p22;
  for (double const scale : {1.0, 2.0}) {
    CAPTURE(scale);
    auto const still = attention_with_offset<T>(0, scale), moved = attention_with_offset<T>(v, scale);
    for (std::size_t i = 0; i < still.size(); ++i) {
      CAPTURE(i);
      check_close<T>(moved[i], still[i]);
    }
  }
}

// The scale may round the scores: then to the same numbers in both passes, so that weights still add up to 1. With
// values that are all alike, every gradient of a score is 0.
TEST_CASE_TEMPLATE("weights add up to 1 also where the scores are rounded", T, float, double) {
  mtf::single_rank alone;
  backend machine(alone);
  using Q = typename here<T>::template tensor<query, head>;
  using K = typename here<T>::template tensor<key, head>;
  std::vector<T> q, k;
  for (int i = 0; i < 70; ++i)
    for (int h = 0; h < 4; ++h) {
      q.push_back(number<T>(h == 0 ? 1 : i * 3 % 2));
      k.push_back(number<T>(h == 0 ? offset<T> / 2 : (i * 7 + h) % 3));
    }
  attended<here<T>::template tensor> const p{mtf::from_global<Q>(machine, q), mtf::from_global<K>(machine, k),
                                             mtf::full<K>(machine, 1)};
  auto const g = mtf::value_and_grad([](auto const& a) {
                   return mtf::sum(mtf::attention<query, key, head>(a.q, a.k, a.v, mtf::visible::causal(), 0.7071));
                 })(p)
                     .gradients;
  // The gradient of a value is the sum of its weights: of all values together one a query.
  double total = 0;
  for (T const w : g.v.complete().local()) total += as_double(w);
  CHECK(total / (70 * 4) == doctest::Approx(1).epsilon(100 * tolerance<T>));
}

}  // namespace
