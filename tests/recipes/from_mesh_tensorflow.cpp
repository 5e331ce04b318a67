// Three layers that Mesh-TensorFlow has, as docs/from-mesh-tensorflow.md writes them beside their Python: a
// feed-forward layer (mtf.layers.dense, twice), an attention layer (mtf.layers.multihead_attention), and one of experts
// (transformer_moe_layer_v1 with a Switch).
#include "on_ranks.hpp"

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/models/common/experts.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/ops/nn/attention.hpp>

#include "support/experts_definition.hpp"

namespace {

struct batch : mtf::dim<"batch", 4> {};
struct length : mtf::dim<"length", 6> {};
struct memory_length : mtf::dim<"memory_length", 6> {};
struct d_model : mtf::dim<"d_model", 8> {};
struct d_ff : mtf::dim<"d_ff", 12> {};
struct heads : mtf::dim<"heads", 2> {};
struct d_head : mtf::dim<"d_head", 5> {};

using where = mtf::layout_of<"data:2;model:2", "batch:data;d_ff:model;heads:model", batch, d_ff, heads>;

template <template <class...> class Tensor>
struct feed_forward_parameters {
  Tensor<d_model, d_ff> wi;
  Tensor<d_ff> bi;
  Tensor<d_ff, d_model> wo;
  Tensor<d_model> bo;
  MTF_FIELDS(wi, bi, wo, bo);
};

// x [batch, length, d_model] -> the same
constexpr auto feed_forward = [](auto const& p, auto const& x) {
  auto const h = mtf::relu(mtf::linear<batch, length, d_ff>(x, p.wi, p.bi));
  return mtf::linear<batch, length, d_model>(h, p.wo, p.bo);
};

template <template <class...> class Tensor>
struct attention_parameters {
  Tensor<heads, d_model, d_head> wq, wk, wv, wo;
  MTF_FIELDS(wq, wk, wv, wo);
};

// x [batch, length, d_model] -> the same
constexpr auto self_attention = [](auto const& p, auto const& x) {
  auto const m = mtf::rename<length, memory_length>(x);
  auto const q = mtf::einsum<batch, heads, length, d_head>(x, p.wq);
  auto const k = mtf::einsum<batch, heads, memory_length, d_head>(m, p.wk);
  auto const v = mtf::einsum<batch, heads, memory_length, d_head>(m, p.wv);
  auto const o = mtf::attention<length, memory_length, d_head>(q, k, v, mtf::visible::causal(), 1);
  return mtf::einsum<batch, length, d_model>(o, p.wo);
};

// Their dot_product_attention, line for line: all logits are stored, and the mask is a bias of -1e9.
constexpr auto dot_product_attention = [](auto const& q, auto const& k, auto const& v, auto const& mask) {
  auto const logits = mtf::einsum<batch, heads, length, memory_length>(q, k) + mask;
  auto const weights = mtf::softmax<memory_length>(logits);
  return mtf::einsum<batch, heads, length, d_head>(weights, v);
};
constexpr auto self_attention_by_bias = [](auto const& p, auto const& x) {
  using Layout = typename std::remove_cvref_t<decltype(x)>::layout_type;
  auto const m = mtf::rename<length, memory_length>(x);
  auto const q = mtf::einsum<batch, heads, length, d_head>(x, p.wq);
  auto const k = mtf::einsum<batch, heads, memory_length, d_head>(m, p.wk);
  auto const v = mtf::einsum<batch, heads, memory_length, d_head>(m, p.wv);
  auto const hidden = !mtf::attention_mask<length, memory_length, Layout>(x.backend(), mtf::visible::causal());
  auto const o = dot_product_attention(q, k, v, mtf::cast<float>(hidden) * -1e9);
  return mtf::einsum<batch, length, d_model>(o, p.wo);
};

// Experts over the ranks that split the batch, and the inside of each over the others.
struct experts : mtf::dim<"experts", 4> {};
struct capacity : mtf::dim<"capacity", mtf::models::expert_capacity(length::extent, experts::extent, 1, 1.25)> {};
struct choice : mtf::dim<"choice", 1> {};

using by_expert = mtf::layout_of<"data:2;model:2", "experts:data;d_ff:model", experts, d_ff>;

template <class ByExpert>
struct moe {
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<d_model, experts> gate;
    Tensor<mtf::under<ByExpert>, experts, d_model, d_ff> wi;
    Tensor<mtf::under<ByExpert>, experts, d_ff, d_model> wo;
    MTF_FIELDS(gate, wi, wo);
  };
};

// x [batch, length, d_model] -> the same, and the loss that balances experts
template <class Where, class ByExpert>
constexpr auto switch_layer(auto const& p, auto const& x) {
  auto const gates = mtf::softmax<experts>(mtf::einsum<batch, length, experts>(x, p.gate));
  auto const r = mtf::models::tokens_choose<length, experts, capacity, choice>(gates);
  auto const sent = mtf::models::dispatch<ByExpert>(x, r);
  auto const h = mtf::silu(mtf::einsum<batch, experts, capacity, d_ff>(sent, p.wi));
  auto const y = mtf::einsum<batch, experts, capacity, d_model>(h, p.wo);
  return std::pair(mtf::models::combine<Where>(y, r), mtf::models::load_balance_loss<experts, batch>(gates, r.chosen));
}

// Both of the first two, one after the other.
template <template <class...> class Tensor>
struct block_parameters {
  attention_parameters<Tensor> attention;
  feed_forward_parameters<Tensor> feed_forward;
  MTF_FIELDS(attention, feed_forward);
};
constexpr auto loss = [](auto const& p, auto const& x) {
  auto const y = x + self_attention(p.attention, x);
  return mtf::mean(mtf::square(y + feed_forward(p.feed_forward, y)));
};

// What a step sends forward: of each layer the result, of which the ranks along `model` have terms; and the mean.
constexpr auto plan =
    mtf::plan_of<where>(loss, mtf::parameters<block_parameters>{}, mtf::input<float, batch, length, d_model>{});
constexpr auto forward = [](mtf::planned_collective const& c) { return c.when == mtf::pass::forward; };
constexpr auto of_a_result = [](mtf::planned_collective const& c) {
  return forward(c) && c.payload == sizeof(float) * batch::extent / 2 * length::extent * d_model::extent;
};
static_assert(plan.count(of_a_result) == 2 && plan.count(forward) == 3);

using numbers = std::vector<float>;
struct answer {
  numbers x, y;
  std::vector<numbers> parameters, gradients;
};
template <class Layout, template <template <class...> class> class Parameters>
answer answer_under(auto const& layer) {
  answer a;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<float, Layout, recipes::backend>;
    Parameters<real::template tensor> p;
    mtf::for_each_tensor(
        [&](auto name, auto& w) {
          w = mtf::random_normal<std::remove_reference_t<decltype(w)>>(machine, mtf::random_key(5).of(name), 0, 0.5);
        },
        p);
    auto const x = recipes::random<typename real::template tensor<batch, length, d_model>>(machine, "x");
    auto const [value, gradients] = mtf::value_and_grad(
        [&](auto const& q, auto const& given) { return mtf::mean(mtf::square(layer(q, given))); })(p, x);
    answer mine{mtf::to_global(x), mtf::to_global(layer(p, x)), {}, {}};
    mtf::for_each_tensor([&](auto, auto const& w) { mine.parameters.push_back(mtf::to_global(w)); }, p);
    mtf::for_each_tensor([&](auto, auto const& g) { mine.gradients.push_back(mtf::to_global(g.complete())); },
                         gradients);
    if (machine.ranks().rank() == 0) a = mine;
  });
  return a;
}

using one_rank = mtf::layout<mtf::mesh<>>;
struct p : mtf::axis<"p", 2> {};
using by_length = mtf::layout<mtf::mesh<p>, mtf::split<length, p>>;  // sequence parallelism

constexpr std::size_t sequences = batch::extent, positions = length::extent, width = d_model::extent;

numbers feed_forward_in_plain_loops(answer const& of) {
  constexpr std::size_t inner = d_ff::extent;
  auto const &wi = of.parameters[0], &bi = of.parameters[1], &wo = of.parameters[2], &bo = of.parameters[3];
  numbers y;
  for (std::size_t row = 0; row < sequences * positions; ++row) {
    std::vector<double> sum(bo.begin(), bo.end());
    for (std::size_t f = 0; f < inner; ++f) {
      double h = bi[f];
      for (std::size_t d = 0; d < width; ++d) h += of.x[row * width + d] * wi[d * inner + f];
      for (std::size_t d = 0; d < width && h > 0; ++d) sum[d] += h * wo[f * width + d];
    }
    for (double s : sum) y.push_back(static_cast<float>(s));
  }
  return y;
}

// Of each head at each position: x w.
std::vector<double> projected(numbers const& x, numbers const& w, std::size_t row, std::size_t head) {
  constexpr std::size_t inner = d_head::extent;
  std::vector<double> y(inner);
  for (std::size_t d = 0; d < width; ++d)
    for (std::size_t i = 0; i < inner; ++i) y[i] += x[row * width + d] * w[(head * width + d) * inner + i];
  return y;
}
numbers attention_in_plain_loops(answer const& of) {
  constexpr std::size_t inner = d_head::extent;
  numbers y;
  for (std::size_t row = 0; row < sequences * positions; ++row) {
    std::vector<double> sum(width);
    for (std::size_t head = 0; head < heads::extent; ++head) {
      auto const q = projected(of.x, of.parameters[0], row, head);
      std::vector<double> seen(inner);
      double total = 0;
      for (std::size_t other = row - row % positions; other <= row; ++other) {
        auto const k = projected(of.x, of.parameters[1], other, head),
                   v = projected(of.x, of.parameters[2], other, head);
        double logit = 0;
        for (std::size_t i = 0; i < inner; ++i) logit += q[i] * k[i];
        total += std::exp(logit);
        for (std::size_t i = 0; i < inner; ++i) seen[i] += std::exp(logit) * v[i];
      }
      for (std::size_t d = 0; d < width; ++d)
        for (std::size_t i = 0; i < inner; ++i)
          sum[d] += seen[i] / total * of.parameters[3][(head * width + d) * inner + i];
    }
    for (double s : sum) y.push_back(static_cast<float>(s));
  }
  return y;
}

void check_same(answer const& found, answer const& want) {
  recipes::check_close(found.y, want.y, 1e-4);
  REQUIRE(found.gradients.size() == want.gradients.size());
  for (std::size_t i = 0; i < want.gradients.size(); ++i)
    recipes::check_close(found.gradients[i], want.gradients[i], 1e-4);
}

TEST_CASE("a feed-forward layer of Mesh-TensorFlow's, under three layouts") {
  auto const alone = answer_under<one_rank, feed_forward_parameters>(feed_forward);
  recipes::check_close(alone.y, feed_forward_in_plain_loops(alone), 1e-4);
  check_same(answer_under<where, feed_forward_parameters>(feed_forward), alone);
  check_same(answer_under<by_length, feed_forward_parameters>(feed_forward), alone);
}

TEST_CASE("an attention layer of Mesh-TensorFlow's, in its words and in ours, under three layouts") {
  auto const alone = answer_under<one_rank, attention_parameters>(self_attention_by_bias);
  recipes::check_close(alone.y, attention_in_plain_loops(alone), 1e-4);
  check_same(answer_under<one_rank, attention_parameters>(self_attention), alone);
  check_same(answer_under<where, attention_parameters>(self_attention), alone);
  check_same(answer_under<by_length, attention_parameters>(self_attention), alone);
  check_same(answer_under<where, attention_parameters>(self_attention_by_bias), alone);
  check_same(answer_under<by_length, attention_parameters>(self_attention_by_bias), alone);
}

template <class Where, class ByExpert>
answer experts_under() {
  return answer_under<Where, moe<ByExpert>::template parameters>(
      [](auto const& p, auto const& x) { return switch_layer<Where, ByExpert>(p, x).first; });
}
TEST_CASE("a layer of experts of Mesh-TensorFlow's, under three layouts") {
  auto const alone = experts_under<one_rank, one_rank>();
  auto const in = [&](numbers const& v) { return std::vector<double>(v.begin(), v.end()); };
  auto const want =
      tests::experts_in_loops({sequences, positions, experts::extent, capacity::extent, 1, width, d_ff::extent}, {},
                              in(alone.x), in(alone.parameters[0]), in(alone.parameters[1]), in(alone.parameters[2]));
  CHECK(want.dropped > 0);
  recipes::check_close(in(alone.y), want.y, 1e-4);
  check_same(experts_under<where, by_expert>(), alone);
  check_same(experts_under<mtf::layout<mtf::mesh<p>, mtf::split<batch, p>>,
                           mtf::layout<mtf::mesh<p>, mtf::split<experts, p>>>(),
             alone);
}

// Lines of the page's tables, on rows of eight positions.
struct row : mtf::dim<"row", 2> {};
struct place : mtf::dim<"place", 8> {};
struct pool : mtf::dim<"pool", 4> {};
struct within : mtf::dim<"within", 2> {};
struct one : mtf::dim<"one", 1> {};

struct lines {
  numbers first, pooled, with_extra_logit, soft, nonzero, rms;
};
template <class Layout>
lines lines_under(numbers const& given) {
  lines found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using X = typename mtf::place<float, Layout, recipes::backend>::template tensor<row, place>;
    auto const x = mtf::from_global<X>(machine, given);
    auto const extra = mtf::zeros<typename mtf::place<float, Layout, recipes::backend>::template tensor<row>>(machine);
    lines const mine{
        mtf::to_global(mtf::sum<one>(mtf::slice<place, one>(x, 0))),
        mtf::to_global(mtf::mean<within>(mtf::split_dim<place, pool, within>(x))),
        mtf::to_global(mtf::exp(x - mtf::logaddexp(mtf::logsumexp<place>(x), extra))),
        mtf::to_global(-mtf::sum<place>(mtf::softmax<place>(x) * mtf::log_softmax<place>(x))),
        mtf::to_global(mtf::cast<float>(x != 0)),
        {mtf::item(mtf::sqrt(mtf::mean(mtf::square(x))))},
    };
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}

TEST_CASE("what the tables write in a line is what they say") {
  numbers const x{2, 5, 9, 15, 0, 1, -1, 0.5F, 3, 0, 0, -2, 1, 4, 0, 7};
  lines want{{2, 3}, {3.5F, 12, 0.5F, -0.25F, 1.5F, -1, 2.5F, 3.5F}, {}, {}, {}, {}};
  double squares = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    double total = 0, entropy = 0;
    for (std::size_t i = 0; i < 8; ++i) total += std::exp(x[r * 8 + i]);
    for (std::size_t i = 0; i < 8; ++i) {
      double const e = std::exp(x[r * 8 + i]);
      want.with_extra_logit.push_back(static_cast<float>(e / (total + 1)));
      entropy -= e / total * std::log(e / total);
      want.nonzero.push_back(x[r * 8 + i] == 0 ? 0.0F : 1.0F);
      squares += double{x[r * 8 + i]} * x[r * 8 + i];
    }
    want.soft.push_back(static_cast<float>(entropy));
  }
  want.rms = {static_cast<float>(std::sqrt(squares / 16))};
  for (auto const& found :
       {lines_under<one_rank>(x), lines_under<mtf::layout<mtf::mesh<p>, mtf::split<place, p>>>(x)}) {
    recipes::check_close(found.first, want.first, 1e-6);
    recipes::check_close(found.pooled, want.pooled, 1e-6);
    recipes::check_close(found.with_extra_logit, want.with_extra_logit, 1e-5);
    recipes::check_close(found.soft, want.soft, 1e-5);
    recipes::check_close(found.nonzero, want.nonzero, 1e-6);
    recipes::check_close(found.rms, want.rms, 1e-5);
  }
}

}  // namespace
