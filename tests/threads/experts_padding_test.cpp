// Layers of experts whose tokens, experts, slots and width have pads are those without.
// links: models
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/models/common/experts.hpp>

#include "support/ranks_as_threads.hpp"

namespace {

struct batch : mtf::dim<"batch", 2> {};
struct choice : mtf::dim<"choice", 2> {};
struct d_ff : mtf::dim<"d_ff", 4> {};
struct plain {
  struct token : mtf::dim<"token", 7> {};
  struct expert : mtf::dim<"expert", 3> {};
  struct slot : mtf::dim<"slot", 3> {};
  struct d_model : mtf::dim<"d_model", 5> {};
};
struct padded {
  struct token : mtf::dim<"token", 7, mtf::pad_to<8>> {};
  struct expert : mtf::dim<"expert", 3, mtf::pad_to<4>> {};
  struct slot : mtf::dim<"slot", 3, mtf::pad_to<4>> {};
  struct d_model : mtf::dim<"d_model", 5, mtf::pad_to<8>> {};
};
using where = mtf::any_layout<0>;
using by_expert = mtf::any_layout<1>;
using sorted = mtf::any_layout<2>;

template <class D>
struct layer {
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<batch, typename D::token, typename D::d_model> x;
    Tensor<typename D::d_model, typename D::expert> gate;
    Tensor<mtf::under<by_expert>, typename D::expert, typename D::d_model, d_ff> w1;
    Tensor<mtf::under<by_expert>, typename D::expert, d_ff, typename D::d_model> w2;
    MTF_FIELDS(x, gate, w1, w2);
  };
};

template <class D, mtf::models::priority By>
constexpr auto loss = [](auto const& p) {
  using token = typename D::token;
  using expert = typename D::expert;
  using slot = typename D::slot;
  using d_model = typename D::d_model;
  auto const gates = mtf::relayout<sorted>(mtf::softmax<expert>(mtf::einsum<batch, token, expert>(p.x, p.gate)));
  auto const r = mtf::models::tokens_choose<token, expert, slot, choice, By>(gates, true);
  auto const sent = mtf::models::dispatch<by_expert>(mtf::relayout<sorted>(p.x), r);
  auto const h = mtf::silu(mtf::einsum<batch, expert, slot, d_ff>(sent, p.w1));
  auto const made = mtf::einsum<batch, expert, slot, d_model>(h, p.w2);
  auto const y = mtf::relayout<where>(mtf::models::combine<sorted>(made, r));
  auto const lost = mtf::cast<double>(mtf::models::dropped(r)) + mtf::cast<double>(mtf::models::unserved(r)) * 100;
  return mtf::sum(y * mtf::sin(p.x)) + mtf::models::load_balance_loss<expert>(gates, r.chosen) + lost;
};

using results = std::vector<std::vector<double>>;
template <class D, mtf::models::priority By>
results run(thread_backend& b) {
  auto p =
      mtf::sized<typename layer<D>::template parameters<mtf::place<double, where, thread_backend>::template tensor>>(b);
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::zeros<std::remove_cvref_t<decltype(x)>>(b);
        // Numbers are functions of the position among elements without pads.
        auto const size = static_cast<std::int64_t>(mtf::to_global(x).size());
        std::vector<double> v;
        for (std::int64_t i = 0; i < size; ++i) v.push_back(std::sin(static_cast<double>(7 * i + 1 + name[0] * 13)));
        x = mtf::from_global<std::remove_cvref_t<decltype(x)>>(b, v);
      },
      p);
  auto const [value, gradients] = mtf::value_and_grad(loss<D, By>)(std::as_const(p));
  results all{{mtf::item(value)}};
  mtf::for_each_tensor([&](auto, auto const& g) { all.push_back(mtf::to_global(g.complete())); }, gradients);
  return all;
}

template <mtf::models::priority By>
void as_without() {
  results want;
  auto const add = [](thread_backend& b, auto const& texts) {
    for (auto const* const text : texts) b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:2"), text));
  };
  on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
    add(b, std::array{"", "", ""});
    auto const found = run<plain, By>(b);
    if (b.ranks().rank() == 0) want = found;
  });
  constexpr std::array<std::array<char const*, 3>, 4> layouts{{{"", "", ""},
                                                               {"batch:p", "expert:p;d_ff:q", "batch:p"},
                                                               {"token:p;d_model:q", "expert:p;d_ff:q", "expert:p"},
                                                               {"token:p+q", "expert:p+q", "token:p+q"}}};
  for (auto const& texts : layouts) {
    CAPTURE(texts[0]);
    CAPTURE(texts[1]);
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      add(b, texts);
      auto const found = run<padded, By>(b);
      REQUIRE(found.size() == want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        CAPTURE(i);
        REQUIRE(found[i].size() == want[i].size());
        for (std::size_t j = 0; j < want[i].size(); ++j)
          CHECK(found[i][j] == doctest::Approx(want[i][j]).epsilon(1e-10).scale(1));
      }
    });
  }
}

TEST_CASE("tokens, experts, slots and width with pads") { as_without<mtf::models::priority::position>(); }
TEST_CASE("and where the largest gates get the slots") { as_without<mtf::models::priority::gate>(); }

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
