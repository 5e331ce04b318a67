// Accuracy: in how many rows the largest logit is the label's.
#include "on_ranks.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <mtf/ops/sorting.hpp>

namespace {

struct batch : mtf::dim<"batch", 8> {};
struct digit : mtf::dim<"digit", 4> {};

// The position of the largest logit, the first if there are several; of a NaN, if there is one.
constexpr auto predicted = [](auto const& logits) { return mtf::argmax<digit>(logits); };
// Of the rows that have a label: negative labels are not counted.
constexpr auto accuracy = [](auto const& logits, auto const& label) {
  return mtf::weighted_mean(mtf::cast<float>(predicted(logits) == label), label >= 0);
};

struct p : mtf::axis<"p", 2> {};
struct q : mtf::axis<"q", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_batch = mtf::layout<mtf::mesh<p>, mtf::split<batch, p>>;
using by_digit = mtf::layout<mtf::mesh<p>, mtf::split<digit, p>>;
using by_both = mtf::layout<mtf::mesh<p, q>, mtf::split<batch, p>, mtf::split<digit, q>>;

template <class Layout>
double accuracy_under(std::vector<float> const& logits, std::vector<std::int32_t> const& label) {
  double found = -1;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<float, Layout, recipes::backend>;
    using whole = mtf::place<std::int32_t, Layout, recipes::backend>;
    auto const number =
        mtf::item(accuracy(mtf::from_global<typename real::template tensor<batch, digit>>(machine, logits),
                           mtf::from_global<typename whole::template tensor<batch>, digit>(machine, label)));
    if (machine.ranks().rank() == 0) found = number;
  });
  return found;
}

TEST_CASE("accuracy is what plain loops count, under every layout") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const logits{1,  2,   3,  0,    // 2: right
                                  9,  2,   3,  0,    // 0: right
                                  1,  5,   5,  0,    // 1, the first of two: right
                                  1,  2,   2,  7,    // 3: wrong
                                  -4, -3,  -2, -1,   // 3: right
                                  1,  nan, 3,  0,    // 1, NaN: wrong
                                  1,  2,   3,  9,    // no label
                                  0,  0,   0,  -1};  // 0, the first of three: wrong
  std::vector<std::int32_t> const label{2, 0, 1, 2, 3, 2, -1, 1};
  for (double const found : {accuracy_under<one_rank>(logits, label), accuracy_under<by_batch>(logits, label),
                             accuracy_under<by_digit>(logits, label), accuracy_under<by_both>(logits, label)})
    CHECK(found == doctest::Approx(4.0 / 7));
}

// With the digits split, two all-gathers of one number a row: each rank's largest logit, and its position.
constexpr auto plan = mtf::plan_of<by_digit>(predicted, mtf::input<float, batch, digit>{});
static_assert(plan.count() == 2 && plan.count(mtf::collective_kind::all_gather) == 2);
static_assert(plan.collectives[0].payload == sizeof(float) * batch::extent);

}  // namespace
