// Patches of pictures: dimensions with names.
#include "on_ranks.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include <mtf/ops/movement.hpp>

namespace {

struct batch : mtf::dim<"batch", 2> {};
// A picture of 8 x 12 pixels, each with 3 channels: 4 rows of patches by 4 columns, each patch of 2 x 3 pixels.
struct rows : mtf::dim<"rows", 4> {};
struct patch_height : mtf::dim<"patch_height", 2> {};
struct columns : mtf::dim<"columns", 4> {};
struct patch_width : mtf::dim<"patch_width", 3> {};
struct channel : mtf::dim<"channel", 3> {};
struct d_model : mtf::dim<"d_model", 8> {};
// As dimensions of their own: what is split into patches, and what these are as tokens.
struct height : mtf::dim<"height", 8> {};
struct width : mtf::dim<"width", 12> {};
struct token : mtf::dim<"token", 4 * 4> {};
struct patch_row : mtf::dim<"patch_row", 3 * 3> {};
struct pixel : mtf::dim<"pixel", 2 * 3 * 3> {};
// What a patch sees: rows and columns under second names, which are not split.
struct seen_rows : mtf::dim<"seen_rows", 4> {};
struct seen_columns : mtf::dim<"seen_columns", 4> {};

struct p : mtf::axis<"p", 2> {};
struct q : mtf::axis<"q", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_batch = mtf::layout<mtf::mesh<p>, mtf::split<batch, p>>;
using by_rows = mtf::layout<mtf::mesh<p>, mtf::split<rows, p>>;
using by_height = mtf::layout<mtf::mesh<p>, mtf::split<height, p>, mtf::split<rows, p>, mtf::split<token, p>>;
using by_both = mtf::layout<mtf::mesh<p, q>, mtf::split<rows, p>, mtf::split<d_model, q>>;

template <class Layout>
using real = mtf::place<float, Layout, recipes::backend>;

// Pictures as they lie in memory, [batch, height, width, channel], row-major: the height is its patches' rows by the
// rows within a patch, the width likewise, so these are the same numbers in the same order.
template <class Layout>
using pictures = typename real<Layout>::template tensor<batch, rows, patch_height, columns, patch_width, channel>;

template <template <class...> class Tensor>
struct patch_embedding {
  Tensor<patch_height, patch_width, channel, d_model> w;
  Tensor<rows, columns, d_model> position;
  MTF_FIELDS(w, position);
};
// x, pictures -> [batch, rows, columns, d_model]: a vector for each patch.
constexpr auto embedded = [](auto const& weights, auto const& x) {
  return mtf::einsum<batch, rows, columns, d_model>(x, weights.w) + weights.position;
};
// Where rows of patches are split, a rank has whole patches, and nothing is sent.
constexpr auto plan = mtf::plan_of<by_rows>(
    [](auto const& w, auto const& position, auto const& x) {
      return mtf::einsum<batch, rows, columns, d_model>(x, w) + position;
    },
    mtf::input<float, patch_height, patch_width, channel, d_model>{}, mtf::input<float, rows, columns, d_model>{},
    mtf::input<float, batch, rows, patch_height, columns, patch_width, channel>{});
static_assert(plan.count() == 0);

// x, [batch, height, width, channel] -> [batch, token, pixel]: the numbers of each patch side by side. The
// transposition alone copies.
constexpr auto patches_of = [](auto const& x) {
  auto const split = mtf::split_dim<width, columns, patch_width>(mtf::split_dim<height, rows, patch_height>(x));
  auto const by_patch = mtf::transpose<batch, rows, columns, patch_height, patch_width, channel>(split);
  auto const of_token = mtf::merge_dims<rows, columns, token>(by_patch);
  return mtf::merge_dims<patch_height, patch_row, pixel>(mtf::merge_dims<patch_width, channel, patch_row>(of_token));
};
static_assert(mtf::plan_of<by_height>(patches_of, mtf::input<float, batch, height, width, channel>{}).count() == 0);

// Attention of all patches to all: along two dimensions, which need not become one.
constexpr auto attended = [](auto const& x) {
  // Where rows are split: one all-gather.
  auto const seen = mtf::rename<columns, seen_columns>(mtf::rename<rows, seen_rows>(x));
  auto const scores = mtf::einsum<batch, rows, columns, seen_rows, seen_columns>(x, seen);
  auto const share = mtf::softmax<seen_rows, seen_columns>(scores, 1 / mtf::math::sqrt(double{d_model::extent}));
  return mtf::einsum<batch, rows, columns, d_model>(share, seen);
};
constexpr auto plan_of_attention = mtf::plan_of<by_rows>(attended, mtf::input<float, batch, rows, columns, d_model>{});
static_assert(plan_of_attention.count() == 1 && plan_of_attention.count(mtf::collective_kind::all_gather) == 1);

struct results {
  std::vector<float> pictures, w, position;
  std::vector<float> patches, embedded, attended;
};
template <class Layout>
results run() {
  results found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    std::vector<float> numbers(static_cast<std::size_t>(pictures<Layout>::shape_type::size));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
    auto const x = mtf::from_global<pictures<Layout>>(machine, numbers);
    using parameters = patch_embedding<real<Layout>::template tensor>;
    parameters const weights{recipes::random<decltype(parameters::w)>(machine, "w"),
                             recipes::random<decltype(parameters::position)>(machine, "position")};
    auto const tokens = embedded(weights, x);
    auto const patches = patches_of(
        mtf::from_global<typename real<Layout>::template tensor<batch, height, width, channel>>(machine, numbers));
    results const mine{numbers,
                       mtf::to_global(weights.w),
                       mtf::to_global(weights.position),
                       mtf::to_global(patches),
                       mtf::to_global(tokens),
                       mtf::to_global(attended(tokens))};
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}

TEST_CASE("patches by dimensions are those that plain loops take of a picture") {
  constexpr std::size_t height = rows::extent * patch_height::extent, width = columns::extent * patch_width::extent;
  constexpr std::size_t ph = patch_height::extent, pw = patch_width::extent, c = channel::extent, d = d_model::extent;
  auto const alone = run<one_rank>();
  std::vector<float> patches, tokens;
  for (std::size_t b = 0; b < batch::extent; ++b)
    for (std::size_t y = 0; y < height; y += ph)
      for (std::size_t x = 0; x < width; x += pw) {
        std::vector<double> token(d);
        for (std::size_t k = 0; k < d; ++k) token[k] = alone.position[(y / ph * columns::extent + x / pw) * d + k];
        for (std::size_t i = 0; i < ph; ++i)
          for (std::size_t j = 0; j < pw; ++j)
            for (std::size_t n = 0; n < c; ++n) {
              patches.push_back(alone.pictures[((b * height + y + i) * width + x + j) * c + n]);
              for (std::size_t k = 0; k < d; ++k)
                token[k] += double{patches.back()} * alone.w[((i * pw + j) * c + n) * d + k];
            }
        tokens.insert(tokens.end(), token.begin(), token.end());
      }
  constexpr std::size_t each = rows::extent * columns::extent;
  std::vector<float> attention;
  for (std::size_t b = 0; b < batch::extent; ++b)
    for (std::size_t t = 0; t < each; ++t) {
      std::vector<double> sum(d);
      double total = 0;
      for (std::size_t s = 0; s < each; ++s) {
        double score = 0;
        for (std::size_t k = 0; k < d; ++k)
          score += double{tokens[(b * each + t) * d + k]} * tokens[(b * each + s) * d + k];
        double const share = std::exp(score / std::sqrt(double{d}));
        total += share;
        for (std::size_t k = 0; k < d; ++k) sum[k] += share * tokens[(b * each + s) * d + k];
      }
      for (double const x : sum) attention.push_back(static_cast<float>(x / total));
    }
  for (auto const& found : {alone, run<by_batch>(), run<by_rows>(), run<by_height>(), run<by_both>()}) {
    CHECK(found.patches == patches);
    recipes::check_close(found.embedded, tokens, 1e-5);
    recipes::check_close(found.attended, attention, 1e-4);
  }
}

}  // namespace
