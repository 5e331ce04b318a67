// A block of a Llama, as its paper has it: what transformers computes, and all gradients, under every layout of four
// ranks.
#include "on_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mtf/ops/nn.hpp>
#include <mtf/plan/plan_under.hpp>

#include "reference/reference.hpp"

namespace {

struct batch : mtf::dim<"batch", 2> {};
struct sequence : mtf::dim<"sequence", 8> {};
struct memory : mtf::dim<"memory", 8> {};  // sequence under a second name, for keys and values
struct d_model : mtf::dim<"d_model", 16> {};
struct kv_heads : mtf::dim<"kv_heads", 2> {};
struct group : mtf::dim<"group", 2> {};  // query heads of one head of keys and values
struct d_head : mtf::dim<"d_head", 4> {};
struct d_ff : mtf::dim<"d_ff", 12> {};

template <template <class...> class Tensor>
struct llama_block {
  Tensor<d_model> gamma1, gamma2;
  Tensor<kv_heads, group, d_head, d_model> wq;
  Tensor<kv_heads, d_head, d_model> wk, wv;
  Tensor<d_model, kv_heads, group, d_head> wo;
  Tensor<d_ff, d_model> w_gate, w_up;
  Tensor<d_model, d_ff> w_down;
  MTF_FIELDS(gamma1, gamma2, wq, wk, wv, wo, w_gate, w_up, w_down);
};

// The angle of a pair of elements at a position (Su et al. 2021): elements i and i + d_head / 2 are one pair.
struct turned {
  bool sine;
  MTF_FUNCTION float operator()(float position, float i) const {
    constexpr int half = d_head::extent / 2;
    double const angle = position * std::pow(10000.0, -std::fmod(i, half) / half);
    return static_cast<float>(sine ? std::sin(angle) : std::cos(angle));
  }
};

// x [batch, sequence, d_model] -> the same
constexpr auto block = [](auto const& p, auto const& x) {
  using angles =
      mtf::tensor<float, mtf::shape<sequence, d_head>, typename std::remove_cvref_t<decltype(x)>::layout_type,
                  mtf::partial<>, typename std::remove_cvref_t<decltype(x)>::backend_type>;
  auto const at = mtf::iota<sequence, angles>(x.backend()), i = mtf::iota<d_head, angles>(x.backend());
  auto const cosines = mtf::map(turned{false}, at, i), sines = mtf::map(turned{true}, at, i);
  auto const h = mtf::rms_norm<d_model>(x, p.gamma1, 1e-5);
  auto const q = mtf::rotary<d_head>(mtf::einsum<batch, sequence, kv_heads, group, d_head>(h, p.wq), cosines, sines);
  auto const k = mtf::rotary<d_head>(mtf::einsum<batch, sequence, kv_heads, d_head>(h, p.wk), cosines, sines);
  auto const v = mtf::einsum<batch, sequence, kv_heads, d_head>(h, p.wv);
  auto const keys = mtf::rename<sequence, memory>(k), values = mtf::rename<sequence, memory>(v);
  auto const seen = mtf::attention<sequence, memory, d_head>(q, keys, values, mtf::visible::causal(), 0.5);
  auto const y = x + mtf::einsum<batch, sequence, d_model>(seen, p.wo);
  auto const g = mtf::rms_norm<d_model>(y, p.gamma2, 1e-5);
  auto const up = mtf::einsum<batch, sequence, d_ff>(g, p.w_up), gate = mtf::einsum<batch, sequence, d_ff>(g, p.w_gate);
  return y + mtf::einsum<batch, sequence, d_model>(mtf::swiglu(up, gate), p.w_down);
};

constexpr auto loss = [](auto const& p, auto const& x, auto const& w) { return mtf::sum(block(p, x) * w); };

// With heads over `model` a block sends the results of its two halves, and their gradients.
using by_heads = mtf::layout_of<"data:2;model:2", "batch:data;kv_heads:model;d_ff:model", batch, kv_heads, d_ff>;
constexpr auto plan =
    mtf::plan_of<by_heads>(loss, mtf::parameters<llama_block>{}, mtf::input<float, batch, sequence, d_model>{},
                           mtf::input<float, batch, sequence, d_model>{});
constexpr auto of_a_result = [](mtf::planned_collective const& c) {
  return c.payload == sizeof(float) * batch::extent / 2 * sequence::extent * d_model::extent;
};
static_assert(plan.count(of_a_result) == 4);

using real = mtf::place<float, mtf::any_layout<>, recipes::backend>;
using activations = real::tensor<batch, sequence, d_model>;
template <template <class...> class Tensor>
struct block_and_input {
  llama_block<Tensor> block;
  Tensor<batch, sequence, d_model> x;
  MTF_FIELDS(block, x);
};
constexpr auto loss_of_both = [](auto const& p, auto const& w) { return loss(p.block, p.x, w); };

mtf::reference::file const& transformers() {
  static mtf::reference::file const blocks(std::string(MTF_TEST_DIR) + "/reference/blocks.bin");
  return blocks;
}
template <class X>
X given(recipes::backend& machine, std::string const& name) {
  auto const& values = transformers()["llama." + name].values;
  return mtf::from_global<X>(machine, std::vector<float>(values.begin(), values.end()));
}
/// "block.wq" is wq there.
std::string name_there(std::string_view path) { return std::string(path.substr(path.rfind('.') + 1)); }

void check_under(mtf::layout_value const& layout) {
  CAPTURE(layout.text());
  mtf::rank_threads pool(layout.mesh.shape.size());
  pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
    recipes::backend machine = recipes::backend::one_of_many(ranks);
    machine.layouts().add(layout);
    block_and_input<real::tensor> p;
    mtf::for_each_tensor(
        [&](auto path, auto& x) { x = given<std::remove_reference_t<decltype(x)>>(machine, name_there(path)); }, p);
    auto const w = given<activations>(machine, "w");
    auto const close = [](std::vector<float> const& found, std::string const& name) {
      auto const& want = transformers()["llama." + name].values;
      REQUIRE(found.size() == want.size());
      double largest = 0;
      for (double const v : want) largest = std::max(largest, std::abs(v));
      int wrong = 0;
      for (std::size_t i = 0; i < want.size(); ++i) wrong += std::abs(found[i] - want[i]) <= 5e-6 * largest ? 0 : 1;
      CAPTURE(name);
      CHECK(wrong == 0);
    };
    close(mtf::to_global(block(p.block, p.x)), "y");
    auto const gradients = mtf::value_and_grad(loss_of_both)(p, w).gradients;
    mtf::for_each_tensor(
        [&](auto path, auto const& g) { close(mtf::to_global(g.complete()), "grad." + name_there(path)); }, gradients);
  });
}

// All sets of at most two dimensions that an axis may split.
std::vector<std::string> rules_of(std::string const& axis) {
  std::vector<std::string> const dims{"batch", "sequence", "memory", "d_model", "kv_heads", "group", "d_head", "d_ff"};
  std::vector<std::string> all{""};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto const one = dims[i] + ":" + axis + ";";
    all.push_back(one);
    for (std::size_t j = 0; j < i; ++j) all.push_back(dims[j] + ":" + axis + ";" + one);
  }
  return all;
}

TEST_CASE("a block of a Llama is transformers', and its gradients, under every layout of four ranks") {
  auto const mesh = mtf::mesh_from("data:2;model:2");
  int valid = 0;
  for (auto const& over_data : rules_of("data"))
    for (auto const& over_model : rules_of("model")) {
      mtf::layout_value layout;
      try {
        layout = mtf::layout_from(mesh, over_data + over_model);
        mtf::plan_under(loss, layout, mtf::parameters<llama_block>{}, mtf::input<float, batch, sequence, d_model>{},
                        mtf::input<float, batch, sequence, d_model>{});
      } catch (mtf::user_error const&) {
        continue;  // two dimensions of a tensor over one axis, or one over two that it does not have room for
      }
      ++valid;
      check_under(layout);
    }
  MESSAGE(valid << " layouts");
  CHECK(valid > 100);
}

}  // namespace
