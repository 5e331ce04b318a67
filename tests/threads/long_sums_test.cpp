// Sums of many terms lose none, whatever their elements are: gradients of many micro-batches, of a parameter that one
// loss uses often, of a tensor between them. (In bfloat16 1 + 1/256 is 1, however often it is added.)
// devices: none
#include <cstddef>
#include <string>
#include <type_traits>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/ranks_as_threads.hpp"
#include "support/to_double.hpp"

namespace {

struct batch : mtf::dim<"batch", 4> {};
struct width : mtf::dim<"width", 8> {};

template <template <class...> class Tensor>
struct weights {
  Tensor<width> w;
  MTF_FIELDS(w);
};

using mtf::completed_gradients;
constexpr double rounding = 0x1p-8;  // of a number to bfloat16

/// The gradient of w is that of n equal terms: 1 in each element.
struct once {
  constexpr auto operator()(auto const& p, auto const& x) const {
    return mtf::cast<float>(mtf::sum(mtf::einsum<batch, width>(x, p.w)));
  }
};
/// The same with n uses of w in one loss, each with the share 1/n.
struct often {
  int n;
  auto operator()(auto const& p, auto const& x) const {
    auto total = once{}(p, x) * (1.0 / n);
    for (int i = 1; i < n; ++i) total = total + once{}(p, x) * (1.0 / n);
    return total;
  }
};
/// The same with n uses of what is computed of w.
struct often_between {
  int n;
  auto operator()(auto const& p, auto const& x) const {
    struct {
      std::remove_cvref_t<decltype(p.w + p.w)> w;
    } const twice{p.w + p.w};
    auto total = once{}(twice, x) * (0.5 / n);
    for (int i = 1; i < n; ++i) total = total + once{}(twice, x) * (0.5 / n);
    return total;
  }
};

/// Each element of w's gradient, where x is 1/batch everywhere.
template <class P, class Loss>
void check_ones(thread_backend& machine, completed_gradients when, Loss const& loss) {
  using place = mtf::place<P, mtf::any_layout<>, thread_backend>;
  using parameters = weights<place::template tensor>;
  using computed = typename decltype(mtf::as_computed_t<parameters>::w)::element_type;
  parameters const p{mtf::ones<decltype(parameters::w)>(machine)};
  auto const x = mtf::full<typename place::template rebound<computed>::template tensor<batch, width>>(
      machine, 1.0 / batch::extent);
  auto const result = mtf::value_and_grad(loss, when)(p, x);
  CHECK(mtf::item(result.value) == doctest::Approx(width::extent).epsilon(2 * rounding));
  auto const found = mtf::to_global(result.gradients.w.complete());
  for (auto const g : found) CHECK(tests::to_double(g) == doctest::Approx(1).epsilon(rounding));
}

template <class P>
void loses_none(std::string const& mesh_words, std::string const& rules) {
  CAPTURE(mesh_words);
  CAPTURE(rules);
  auto const mesh = mtf::mesh_from(mesh_words);
  auto const layout = mtf::layout_from<batch, width>(mesh, rules);
  mtf::rank_threads pool(mesh.shape.size());
  pool.run(
      mesh.shape,
      [&](mtf::collectives& ranks) {
        thread_backend machine = thread_backend::one_of_many(ranks);
        machine.layouts().add(layout);
        for (auto const when : {completed_gradients::later, completed_gradients::overlapped})
          for (int const n : {1, 2, 3, 5, 64, 512, 2048}) {
            CAPTURE(n);
            check_ones<P>(machine, when, mtf::accumulated(once{}, static_cast<std::size_t>(n)));
            check_ones<P>(machine, when, often{n});
            check_ones<P>(machine, when, often_between{n});
            check_ones<P>(machine, when, mtf::accumulated(often{n}, 3));
          }
      },
      mesh.text());
}

TEST_CASE_TEMPLATE("sums of many terms lose none", P, float, double, mtf::bfloat16, mtf::mixed_bfloat16,
                   mtf::precision<float, mtf::bfloat16, float>) {
  loses_none<P>("one:1", "");
  loses_none<P>("data:2", "batch:data");
  loses_none<P>("data:2;model:2", "batch:data;width:model");
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
