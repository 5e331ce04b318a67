// A block of experts of Mixtral's is transformers' (tests/reference/make_experts.py), under layouts too.
// links: models
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/models/common/experts.hpp>

#include "reference/reference.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

struct batch : mtf::dim<"batch", 4> {};
struct token : mtf::dim<"token", 8> {};
struct expert : mtf::dim<"expert", 4> {};
struct slot : mtf::dim<"slot", 8> {};  // no token is dropped
struct choice : mtf::dim<"choice", 2> {};
struct d_model : mtf::dim<"d_model", 6> {};
struct d_ff : mtf::dim<"d_ff", 4> {};
using where = mtf::any_layout<0>;
using by_expert = mtf::any_layout<1>;

template <template <class...> class Tensor>
struct block {
  Tensor<batch, token, d_model> x;
  Tensor<d_model, expert> gate;
  Tensor<mtf::under<by_expert>, expert, d_model, d_ff> w1, w3;
  Tensor<mtf::under<by_expert>, expert, d_ff, d_model> w2;
  MTF_FIELDS(x, gate, w1, w3, w2);
};

constexpr auto mixed(auto const& p) {
  auto const gates = mtf::softmax<expert>(mtf::einsum<batch, token, expert>(p.x, p.gate));
  auto const r = mtf::models::tokens_choose<token, expert, slot, choice>(gates, true);
  auto const sent = mtf::models::dispatch<by_expert>(p.x, r);
  auto const h = mtf::silu(mtf::einsum<batch, expert, slot, d_ff>(sent, p.w1)) *
                 mtf::einsum<batch, expert, slot, d_ff>(sent, p.w3);
  auto const y = mtf::models::combine<where>(mtf::einsum<batch, expert, slot, d_model>(h, p.w2), r);
  return std::pair(y, mtf::models::load_balance_loss<expert>(gates, r.chosen));
}
constexpr auto loss = [](auto const& p, auto const& w) {
  auto const [y, balance] = mixed(p);
  return mtf::sum(y * w) + balance * 0.5;
};

void check_close(std::vector<double> const& found, std::vector<double> const& want) {
  REQUIRE(found.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == doctest::Approx(want[i]).epsilon(2e-6).scale(1));  // their softmax has 24 bits
  }
}

TEST_CASE("a block of Mixtral's: results, the balance loss, gradients") {
  mtf::reference::file const all{std::string(MTF_TEST_DIR) + "/reference/experts.bin"};
  constexpr std::array<std::array<char const*, 2>, 4> layouts{
      {{"", ""}, {"batch:p", "expert:p;d_ff:q"}, {"batch:p;expert:q", "expert:p+q"}, {"batch:p+q", "expert:p+q"}}};
  for (auto const& rules : layouts) {
    CAPTURE(rules[0]);
    CAPTURE(rules[1]);
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      for (auto const* const text : rules) b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:2"), text));
      auto p = mtf::sized<block<mtf::place<double, where, thread_backend>::tensor>>(b);
      auto const read = [&](auto& x, std::string_view name) {
        x = mtf::from_global<std::remove_cvref_t<decltype(x)>>(b, all[name].values);
      };
      mtf::for_each_tensor([&](auto name, auto& x) { read(x, name); }, p);
      auto w = p.x;
      read(w, "w");
      auto const [y, balance] = mixed(std::as_const(p));
      check_close(mtf::to_global(y), all["y"].values);
      check_close({mtf::item(balance)}, all["balance"].values);
      auto const gradients = mtf::value_and_grad(loss)(std::as_const(p), w).gradients;
      mtf::for_each_tensor(
          [&](auto name, auto const& g) {
            check_close(mtf::to_global(g.complete()), all["grad." + std::string(name)].values);
          },
          gradients);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
