// What the entry points take at run time: functions without a derivative, and elements from the host.
#include <array>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

#include "../support/error_of.hpp"

namespace {

using backend = mtf::kokkos_backend<>;
using here = mtf::place<float, mtf::layout<mtf::mesh<>>, backend>;
struct n : mtf::dim<"n", 5> {};
using vector = here::tensor<n>;

template <template <class...> class Tensor>
struct two {
  Tensor<n> a, b;
  MTF_FIELDS(a, b);
};
using parameters = two<here::tensor>;

struct square {  // of plain numbers alone
  MTF_FUNCTION float operator()(float x) const { return x * x; }
};
struct exponential {
  MTF_FUNCTION float operator()(float x) const { return std::exp(x); }
};
struct product_of_one_type {
  template <class T>
  MTF_FUNCTION T operator()(T x, T y) const {
    return x * y;
  }
};
struct product_by_a_number {  // differentiable in its second argument
  template <class Y>
  MTF_FUNCTION auto operator()(float x, Y y) const {
    return x * y;
  }
};
struct is_large {  // no derivative is ever asked of a condition
  MTF_FUNCTION bool operator()(float x) const { return x > 0.5F; }
};

struct fixture {
  mtf::single_rank ranks;
  backend machine{ranks};
  std::array<float, 5> const x{-2, -0.5F, 0, 0.75F, 3}, y{1, 2, 3, 4, -5};
  parameters const p{mtf::from_global<vector>(machine, x), mtf::from_global<vector>(machine, y)};

  template <class F>
  void check_values(vector const& result, F f) const {
    auto const at = result.local();
    for (std::size_t i = 0; i < at.size(); ++i) CHECK(at[i] == doctest::Approx(f(x[i], y[i])));
  }
  /// What value_and_grad of the sum of f(p) says; empty if it says nothing.
  template <class F>
  [[nodiscard]] std::string refusal(F f) const {
    return error_of([&] { return mtf::value_and_grad([&](auto const& q) { return mtf::sum(f(q)); })(p); });
  }
};

TEST_CASE_FIXTURE(fixture, "a function without a derivative is mapped where no gradient is wanted") {
  check_values(mtf::map(square{}, p.a), [](float a, float) { return a * a; });
  check_values(mtf::map(exponential{}, p.a), [](float a, float) { return std::exp(a); });
  check_values(mtf::map(product_of_one_type{}, p.a, p.b), [](float a, float b) { return a * b; });
  CHECK(refusal([](auto const& q) { return mtf::map(square{}, mtf::stop_gradient(q.a)) * q.b; }).empty());
  CHECK(refusal([](auto const& q) { return mtf::where(mtf::map(is_large{}, q.a), q.a, q.b); }).empty());

  auto const loss = [](auto const& q) {
    return mtf::sum(mtf::map(product_by_a_number{}, mtf::stop_gradient(q.a), q.b));
  };
  auto const [value, gradients] = mtf::value_and_grad(loss)(p);
  CHECK(gradients.a.is_zero());
  check_values(gradients.b.complete(), [](float a, float) { return a; });
}

TEST_CASE_FIXTURE(fixture, "where a gradient is wanted, it is refused with the argument's number") {
  auto const says = [](std::string const& text, char const* argument) {
    CAPTURE(text);
    return text.find(argument) != std::string::npos && text.find("has no derivative") != std::string::npos;
  };
  CHECK(says(refusal([](auto const& q) { return mtf::map(square{}, q.a); }), "argument 1"));
  CHECK(says(refusal([](auto const& q) { return mtf::map(product_of_one_type{}, mtf::stop_gradient(q.a), q.b); }),
             "argument 2"));
  CHECK(says(refusal([](auto const& q) { return mtf::map(product_by_a_number{}, q.a, q.b); }), "argument 1"));
}

TEST_CASE_FIXTURE(fixture, "bools come from the host, and numbers from anything in one piece") {
  using flags = mtf::place<bool, mtf::layout<mtf::mesh<>>, backend>::tensor<n>;
  std::array<bool, 5> const chosen{true, false, false, true, true};
  auto const c = mtf::from_global<flags>(machine, chosen);
  CHECK(mtf::cast<std::int32_t>(c).local() == std::vector<std::int32_t>{1, 0, 0, 1, 1});
  float plain[5] = {1, 2, 3, 4, 5};
  CHECK(mtf::from_global<vector>(machine, plain).local() ==
        mtf::from_global<vector>(machine, std::vector<float>{1, 2, 3, 4, 5}).local());
}

}  // namespace
