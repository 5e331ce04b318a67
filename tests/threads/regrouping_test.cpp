// One dimension as two, two as one, also one after the other: no copy where nothing need move; extents that are values,
// and what they must fit.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/ops/movement.hpp>
#include <support/counted_backend.hpp>
#include <support/error_of.hpp>
#include <support/layouts_agree.hpp>

namespace {

struct m : mtf::dim<"m", 3> {};
struct n : mtf::dim<"n", 24> {};
struct outer : mtf::dim<"outer", 4> {};
struct inner : mtf::dim<"inner", 6> {};
using numbers = std::vector<double>;

numbers counted(std::size_t size) {
  numbers x(size);
  std::iota(x.begin(), x.end(), 1.0);
  return x;
}

/// There and back; whether without a copy.
template <class Layout, class Backend>
void check_on(Backend& b, bool without_copy) {
  using place = mtf::place<double, Layout, Backend>;
  auto const x = mtf::from_global<typename place::template tensor<m, n>>(b, counted(72));
  auto const two = mtf::split_dim<n, outer, inner>(x);
  CHECK(mtf::to_global(two) == counted(72));
  CHECK((two.value().data() == x.value().data()) == without_copy);
  auto const one = mtf::merge_dims<outer, inner, n>(two);
  CHECK(mtf::to_global(one) == counted(72));
  CHECK((one.value().data() == two.value().data()) == without_copy);
}
template <mtf::fixed_string Rules>
void check(bool without_copy) {
  tests::on_ranks_under<Rules, m, n, outer, inner>(
      [&]<class Layout>(thread_backend& b, Layout const*) { check_on<Layout>(b, without_copy); });
}

TEST_CASE("the result has x's memory where the splits are those of one another") {
  check<"">(true);
  check<"n:p;outer:p">(true);
  check<"n:p+q;outer:p+q">(true);
  check<"n:p;inner:p">(false);
  check<"n:p+q;outer:q+p">(false);
  check<"n:p">(false);
  check<"outer:p;inner:q">(false);
}

struct any_n : mtf::dim<"n"> {};
struct any_outer : mtf::dim<"outer"> {};
struct any_inner : mtf::dim<"inner"> {};
struct any_six : mtf::dim<"inner", 6> {};
struct forty : mtf::dim<"n", 40> {};

template <class... D>
using tensor = mtf::place<double, mtf::any_layout<>, thread_backend>::tensor<D...>;

TEST_CASE("an extent that is a value is what the other one leaves, or what was given") {
  mtf::single_rank alone;
  thread_backend b(alone);
  b.layouts().add(mtf::layout_from(mtf::mesh_from(""), ""));
  b.layouts().give({{"n", 24}});
  auto const x = mtf::zeros<tensor<any_n>>(b);
  auto const rows = mtf::split_dim<any_n, any_outer, any_six>(x);
  CHECK(mtf::extent<any_outer>(rows) == 4);
  CHECK(mtf::extent<any_inner>(mtf::split_dim<any_n, outer, any_inner>(x)) == 6);
  CHECK(mtf::extent<any_n>(mtf::merge_dims<any_outer, any_six, any_n>(rows)) == 24);

  b.layouts().give({{"outer", 3}, {"inner", 8}});
  auto const both = mtf::split_dim<any_n, any_outer, any_inner>(x);
  CHECK(mtf::extent<any_outer>(both) == 3);
  CHECK(mtf::extent<any_inner>(both) == 8);
  b.layouts().give({{"outer", 8}, {"inner", 3}});
  CHECK(mtf::extent<any_outer>(mtf::split_dim<any_n, any_outer, any_inner>(x)) == 8);

  b.layouts().give({{"outer", 5}});
  CHECK(error_of([&] { return mtf::split_dim<any_n, any_outer, any_inner>(x); }) ==
        "a dimension that becomes two, or is made of two, is as long as the product of their extents; here: [n 24] to "
        "outer 5, inner 3; by split_dim");
  CHECK(error_of([&] { return mtf::merge_dims<any_outer, any_six, forty>(rows); }) ==
        "a dimension that becomes two, or is made of two, is as long as the product of their extents; here: [outer 4, "
        "inner 6] to n 40; by merge_dims");
  b.layouts().give(mtf::extents_from("outer:8;inner:3/2"));
  std::string const rows_of_pads =
      "where a dimension becomes two, or is made of two, pads are whole rows: the inner one has none, and the one is "
      "padded to as many as the inner extent times what is stored of the outer one; here: ";
  CHECK(error_of([&] { return mtf::split_dim<any_n, any_outer, any_inner>(x); }) ==
        rows_of_pads + "[n 24] to outer 8, inner 3 of 4; by split_dim");
  b.layouts().give(mtf::extents_from("n:24/16"));
  auto const padded = mtf::zeros<tensor<any_n>>(b);
  CHECK(error_of([&] { return mtf::split_dim<any_n, outer, inner>(padded); }) ==
        rows_of_pads + "[n 24 of 32] to outer 4, inner 6; by split_dim");
  // What nobody says follows, pads too.
  b.layouts().give(mtf::extents_from("n:24/36"));
  auto const whole_rows = mtf::iota<any_n, tensor<any_n>>(b);
  auto const two = mtf::split_dim<any_n, any_outer, any_six>(whole_rows);
  CHECK(mtf::detail::place_of(two).spec()[0].extent == 6);
  CHECK(mtf::to_global(two) == mtf::to_global(whole_rows));
  auto const one = mtf::merge_dims<any_outer, any_six, any_n>(two);
  CHECK(mtf::detail::place_of(one).spec() == mtf::detail::place_of(whole_rows).spec());
}

struct any_both : mtf::dim<"both"> {};
struct both : mtf::dim<"both", 27> {};

TEST_CASE("what two tensors become is as long as both together") {
  mtf::single_rank alone;
  thread_backend b(alone);
  b.layouts().add(mtf::layout_from(mtf::mesh_from(""), ""));
  b.layouts().give({{"n", 5}});
  auto const x = mtf::from_global<tensor<m, any_n>>(b, counted(15));
  auto const y = mtf::from_global<tensor<inner, m>>(b, counted(18));
  auto const joined = mtf::concat<any_both, any_n, inner>(x, y);
  CHECK(mtf::extent<any_both>(joined) == 11);
  CHECK(mtf::to_global(joined) == numbers{1, 2, 3,  4,  5,  1,  4,  7,  10, 13, 16, 6, 7, 8,  9,  10, 2,
                                          5, 8, 11, 14, 17, 11, 12, 13, 14, 15, 3,  6, 9, 12, 15, 18});
  CHECK(mtf::extent<any_both>(mtf::concat<any_both, any_n, any_n>(x, x)) == 10);
  CHECK(error_of([&] { return mtf::concat<both, any_n, inner>(x, y); }) ==
        "a dimension that is made of others, one after the other, is as long as all together; here: both 27, n 5, "
        "inner 6; by concat");
  b.layouts().give(mtf::extents_from("n:5/4"));
  auto const padded = mtf::from_global<tensor<m, any_n>>(b, counted(15));
  CHECK(mtf::to_global(mtf::concat<any_both, any_n, inner>(padded, y)) == mtf::to_global(joined));
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
