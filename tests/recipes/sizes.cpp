// Sizes that are known when the program runs: batches, also a last one that is smaller, and a width from a text.
#include "on_ranks.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include <mtf/tensor/extent.hpp>

namespace {

// Dimensions without an extent: names alone.
struct batch : mtf::dim<"batch"> {};
struct pixels : mtf::dim<"pixels"> {};
struct digit : mtf::dim<"digit", 10> {};  // both kinds may meet

using here = mtf::place<float, mtf::any_layout<>, recipes::backend>;
using images = here::tensor<batch, pixels>;

template <template <class...> class Tensor>
struct weights {
  Tensor<pixels, digit> w;
  MTF_FIELDS(w);
};

// The mean over all images of the largest logit; the images come in batches of at most `most`.
template <class Weights>
double mean_of_largest(recipes::backend& machine, Weights const& p, std::vector<float> const& all, std::size_t most) {
  auto const width = static_cast<std::size_t>(mtf::extent<pixels>(p.w));
  double sum = 0;
  for (std::size_t at = 0; at < all.size(); at += most * width) {
    auto const end = std::min(all.size(), at + most * width);
    // How many there are follows from the numbers: the last batch may be smaller.
    auto const x = mtf::from_global<images>(machine, std::span(all).subspan(at, end - at));
    auto const largest = mtf::reduce_max<digit>(mtf::einsum<batch, digit>(x, p.w));
    sum += mtf::item(mtf::mean(largest)) * static_cast<double>(mtf::extent<batch>(x));
  }
  return sum * static_cast<double>(width) / static_cast<double>(all.size());
}

// One program for every width.
double run(recipes::backend& machine, std::string_view sizes, std::vector<float> const& all, std::size_t most) {
  machine.layouts().give(mtf::extents_from(sizes));
  weights<here::tensor> const p{mtf::iota<digit, here::tensor<pixels, digit>>(machine)};
  return mean_of_largest(machine, p, all, most);
}

TEST_CASE("batches of every length, and images of every size") {
  std::vector<float> const all(60, 0.5F);
  for (char const* const rules : {"", "pixels:p", "digit:p"})
    recipes::on_ranks<mtf::layout<mtf::mesh_of<"p:2">>>([&](recipes::backend& machine) {
      machine.layouts().add(mtf::layout_from(mtf::mesh_from("p:2"), rules));
      for (std::size_t const most : {1U, 4U, 7U, 100U}) {
        CHECK(run(machine, "pixels:4", all, most) == doctest::Approx(9 * 4 * 0.5));  // 15 images
        CHECK(run(machine, "pixels:6", all, most) == doctest::Approx(9 * 6 * 0.5));  // 10
      }
    });
}

}  // namespace
