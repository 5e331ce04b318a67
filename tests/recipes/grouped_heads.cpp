// Grouped-query attention (Ainslie et al. 2023): several query heads share one head of keys and values.
#include "on_ranks.hpp"

#include <type_traits>
#include <vector>

namespace {

struct batch : mtf::dim<"batch", 2> {};
struct sequence : mtf::dim<"sequence", 8> {};
struct memory : mtf::dim<"memory", 8> {};  // sequence under a second name, for keys and values
struct d_model : mtf::dim<"d_model", 12> {};
struct group : mtf::dim<"group", 2> {};    // heads of keys and values
struct member : mtf::dim<"member", 3> {};  // query heads of one group
struct d_head : mtf::dim<"d_head", 4> {};

template <template <class...> class Tensor>
struct attention {
  Tensor<d_model, group, member, d_head> wq;
  Tensor<d_model, group, d_head> wk, wv;
  Tensor<group, member, d_head, d_model> wo;
  MTF_FIELDS(wq, wk, wv, wo);
};

// x [batch, sequence, d_model] -> the same
constexpr auto attend = [](auto const& p, auto const& x) {
  auto const q = mtf::einsum<batch, sequence, group, member, d_head>(x, p.wq);
  auto const k = mtf::rename<sequence, memory>(mtf::einsum<batch, sequence, group, d_head>(x, p.wk));
  auto const v = mtf::rename<sequence, memory>(mtf::einsum<batch, sequence, group, d_head>(x, p.wv));
  auto const seen =
      mtf::attention<sequence, memory, d_head>(q, mtf::broadcast<batch, memory, group, member, d_head>(k),
                                               mtf::broadcast<batch, memory, group, member, d_head>(v),
                                               mtf::visible::causal(), 1 / mtf::math::sqrt(double{d_head::extent}));
  return mtf::einsum<batch, sequence, d_model>(seen, p.wo);  // partial over the axes that split groups
};

// The same by definition: k and v are not repeated, but all scores are stored.
constexpr auto attend_by_definition = [](auto const& p, auto const& x) {
  auto const q = mtf::einsum<batch, sequence, group, member, d_head>(x, p.wq);
  auto const k = mtf::rename<sequence, memory>(mtf::einsum<batch, sequence, group, d_head>(x, p.wk));
  auto const v = mtf::rename<sequence, memory>(mtf::einsum<batch, sequence, group, d_head>(x, p.wv));
  auto const scores = mtf::einsum<batch, group, member, sequence, memory>(q, k);
  auto const weights = mtf::masked_softmax<sequence, memory>(scores, mtf::visible::causal(),
                                                             1 / mtf::math::sqrt(double{d_head::extent}));
  auto const seen = mtf::einsum<batch, sequence, group, member, d_head>(weights, v);
  return mtf::einsum<batch, sequence, d_model>(seen, p.wo);
};

struct model : mtf::axis<"model", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_group = mtf::layout<mtf::mesh<model>, mtf::split<group, model>>;

// Groups over two ranks: one all-reduce, of the result.
constexpr auto size = [](auto const& p, auto const& x) { return mtf::mean(mtf::square(attend(p, x))); };
constexpr auto plan =
    mtf::plan_of<by_group>(size, mtf::parameters<attention>{}, mtf::input<float, batch, sequence, d_model>{});
static_assert(plan.count() == 2);  // the result; the gradients' norm
static_assert(plan.collectives[0].payload == sizeof(float) * batch::extent * sequence::extent * d_model::extent);

struct answer {
  std::vector<float> y, dwk;
};
template <class Layout, class F>
answer answer_under(F attention_function) {
  answer a;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<float, Layout, recipes::backend>;
    attention<real::template tensor> p;
    mtf::for_each_tensor(
        [&](auto name, auto& w) {
          using W = std::remove_reference_t<decltype(w)>;
          w = mtf::random_normal<W>(machine, mtf::random_key(1).of(name), 0, 0.5);
        },
        p);
    auto const x = recipes::random<typename real::template tensor<batch, sequence, d_model>>(machine, "x");
    auto const [value, gradients] = mtf::value_and_grad(
        [&](auto const& q, auto const& given) { return mtf::mean(mtf::square(attention_function(q, given))); })(p, x);
    auto const y = mtf::to_global(attention_function(p, x)), dwk = mtf::to_global(gradients.wk.complete());
    if (machine.ranks().rank() == 0) a = {y, dwk};
  });
  return a;
}

TEST_CASE("grouped heads are what they are by definition, with groups over two ranks too") {
  auto const want = answer_under<one_rank>(attend_by_definition);
  for (auto const& found :
       {answer_under<one_rank>(attend), answer_under<by_group>(attend), answer_under<by_group>(attend_by_definition)}) {
    recipes::check_close(found.y, want.y, 1e-5);
    recipes::check_close(found.dwk, want.dwk, 1e-5);
  }
}

}  // namespace
