// Rotary position embedding (Su et al. 2021): queries and keys are rotated by an angle that grows with the position,
// so that their products depend on distances alone.
#include "on_ranks.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

struct batch : mtf::dim<"batch", 2> {};
struct sequence : mtf::dim<"sequence", 8> {};
struct memory : mtf::dim<"memory", 8> {};
struct heads : mtf::dim<"heads", 2> {};

struct d_head : mtf::dim<"d_head", 6> {};
struct from : mtf::dim<"from", 6> {};  // d_head under a second name

// Elements i and i + 3 of a head are the two coordinates of a vector. Its angle at a position:
constexpr int half = d_head::extent / 2;
MTF_FUNCTION double angle(int position, int i) { return position * std::pow(10000.0, -double(i % half) / half); }
struct cosine {
  MTF_FUNCTION float operator()(int position, int i) const { return static_cast<float>(std::cos(angle(position, i))); }
};
struct sine {
  MTF_FUNCTION float operator()(int position, int i) const { return static_cast<float>(std::sin(angle(position, i))); }
};
// The matrix that gives each element its partner: (x, y) becomes (-y, x).
struct partner {
  MTF_FUNCTION float operator()(int to, int from) const {
    return from == to + half ? -1.0F : from == to - half ? 1.0F : 0.0F;
  }
};

// x [batch, Positions, heads, d_head], the same, rotated.
template <class Positions>
constexpr auto rotated(auto const& x) {
  using X = std::remove_cvref_t<decltype(x)>;
  using number = mtf::place<std::int32_t, typename X::layout_type, typename X::backend_type>;
  using table = typename number::template tensor<Positions, d_head>;
  using matrix = typename number::template tensor<d_head, from>;
  auto& machine = x.backend();
  auto const position = mtf::iota<Positions, table>(machine), i = mtf::iota<d_head, table>(machine);
  auto const swap = mtf::map(partner{}, mtf::iota<d_head, matrix>(machine), mtf::iota<from, matrix>(machine));
  auto const partners = mtf::einsum<batch, Positions, heads, d_head>(mtf::rename<d_head, from>(x), swap);
  return x * mtf::map(cosine{}, position, i) + partners * mtf::map(sine{}, position, i);
}

struct p : mtf::axis<"p", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
template <class Dim>
using split_over_two = mtf::layout<mtf::mesh<p>, mtf::split<Dim, p>>;

// Where sequences or heads are split, nothing is sent: each rank knows the positions of its part.
constexpr auto rotate_queries = [](auto const& x) { return rotated<sequence>(x); };
using queries = mtf::input<float, batch, sequence, heads, d_head>;
static_assert(mtf::plan_of<split_over_two<sequence>>(rotate_queries, queries{}).count() == 0);
static_assert(mtf::plan_of<split_over_two<heads>>(rotate_queries, queries{}).count() == 0);

template <class Layout>
std::vector<float> rotated_under() {
  std::vector<float> all;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<float, Layout, recipes::backend>;
    using X = typename real::template tensor<batch, sequence, heads, d_head>;
    auto const numbers = mtf::to_global(rotated<sequence>(recipes::random<X>(machine, "x")));
    if (machine.ranks().rank() == 0) all = numbers;
  });
  return all;
}

TEST_CASE("rotated as in plain loops, under every layout") {
  std::vector<float> want;
  recipes::on_ranks<one_rank>([&](recipes::backend& machine) {
    using X = mtf::place<float, one_rank, recipes::backend>::tensor<batch, sequence, heads, d_head>;
    want = mtf::to_global(recipes::random<X>(machine, "x"));
  });
  for (std::size_t row = 0; row < want.size() / d_head::extent; ++row)
    for (std::size_t i = 0; i < half; ++i) {
      float &x = want[row * d_head::extent + i], &y = want[row * d_head::extent + half + i];
      auto const position = static_cast<double>(row / heads::extent % sequence::extent);
      double const a = position / std::pow(10000.0, static_cast<double>(i) / 3);
      auto const new_x = static_cast<float>(x * std::cos(a) - y * std::sin(a));
      y = static_cast<float>(x * std::sin(a) + y * std::cos(a));
      x = new_x;
    }
  recipes::check_close(rotated_under<one_rank>(), want, 1e-5);
  recipes::check_close(rotated_under<split_over_two<sequence>>(), want, 1e-5);
  recipes::check_close(rotated_under<split_over_two<heads>>(), want, 1e-5);
  recipes::check_close(rotated_under<split_over_two<d_head>>(), want, 1e-5);
}

TEST_CASE("products of rotated queries and keys depend on distances alone") {
  recipes::on_ranks<split_over_two<sequence>>([](recipes::backend& machine) {
    using real = mtf::place<float, split_over_two<sequence>, recipes::backend>;
    auto const q = mtf::broadcast<batch, sequence, heads, d_head>(recipes::random<real::tensor<d_head>>(machine, "q"));
    auto const k = mtf::broadcast<batch, memory, heads, d_head>(recipes::random<real::tensor<d_head>>(machine, "k"));
    auto const products = mtf::to_global(mtf::einsum<sequence, memory>(rotated<sequence>(q), rotated<memory>(k)));
    for (std::size_t i = 0; i + 9 < products.size(); ++i)
      if (i % 8 < 7) CHECK(products[i + 9] == doctest::Approx(products[i]).epsilon(1e-4).scale(1));
    CHECK(products[1] != doctest::Approx(products[0]).epsilon(1e-2));
  });
}

}  // namespace
