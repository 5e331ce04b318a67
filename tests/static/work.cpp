// What a plan says that a step computes: the flops of the example's model, under several layouts, against closed forms.
#include <mtf/mtf.hpp>

#include "../../examples/transformer/model.hpp"
#include "model_config.hpp"

namespace {

using config = model_config<model_sizes{.batch = 4, .sequence = 8, .d_model = 16, .heads = 4, .d_ff = 32, .vocab = 24}>;
using model = transformer::model<config>;
struct data : mtf::axis<"data", 2> {};
struct cores : mtf::axis<"cores", 2> {};

template <class Layout>
constexpr auto plan_under = mtf::plan_of<Layout>(
    [](auto const& p, auto const& ids, auto const& labels) { return model::loss(p, ids, labels); },
    mtf::parameters<model::parameters>{}, mtf::input<std::int32_t, config::batch, config::sequence>{},
    mtf::input<std::int32_t, config::batch, config::sequence>{});

// Each weight is multiplied with each token once forward and twice backward. Attention multiplies what a query sees
// twice forward and, as it computes the weights again, five times backward.
constexpr double tokens = 4 * 8, per_token = 2 * (4 * 16 * 16 + 2 * 16 * 32) + 16 * 24;
constexpr double products = 3 * 2 * tokens * per_token, attention = 2 * (2 + 5) * 2.0 * 4 * 16 * (8 * 9 / 2);

template <class Layout, int Ranks>
constexpr bool computes_its_share() {
  constexpr auto& plan = plan_under<Layout>;
  static_assert((plan.flops("einsum") + plan.flops("linear")) * Ranks == products);
  static_assert(plan.flops("causal_attention") * Ranks == attention);
  static_assert(plan.flops() * Ranks == products + attention);
  static_assert(plan.flops([](auto const& w) { return w.when == mtf::pass::forward; }) * Ranks ==
                products / 3 + attention * 2 / 7);
  static_assert(plan.flops([](auto const& w) { return w.bound != mtf::limit::matrix; }) == 0);
  return true;
}
using one = mtf::mesh<>;
using two = mtf::mesh<data>;
using four = mtf::mesh<data, cores>;
static_assert(computes_its_share<mtf::layout<one>, 1>());
static_assert(computes_its_share<mtf::layout<two, mtf::split<config::batch, data>>, 2>());
static_assert(computes_its_share<mtf::layout<four, mtf::split<config::batch, data>, mtf::split<config::heads, cores>,
                                             mtf::split<config::d_ff, cores>, mtf::split<config::vocab, cores>>,
                                 4>());

// Bytes: a copy reads and writes each element once; a broadcast reads its operand once.
struct rows : mtf::dim<"rows", 6> {};
struct columns : mtf::dim<"columns", 10> {};
template <class F>
constexpr auto plan_of_call =
    mtf::plan_of<mtf::layout<one>>(F{}, mtf::input<float, rows, columns>{}, mtf::input<float, columns>{});
struct transposed {
  constexpr auto operator()(auto const& x, auto const&) const { return mtf::transpose<columns, rows>(x); }
};
struct added {
  constexpr auto operator()(auto const& x, auto const& b) const { return x + b; }
};
struct looped {  // the same three times over: a plan counts what runs
  constexpr auto operator()(auto const& x, auto const& b) const { return ((x + b) + b) + b; }
};
static_assert(plan_of_call<transposed>.bytes_moved("transpose") == 2 * 4 * 60);
static_assert(plan_of_call<added>.bytes_moved("add") == 4 * (60 + 60 + 10) && plan_of_call<added>.flops() == 0);
static_assert(plan_of_call<looped>.bytes_moved("add") == 3 * plan_of_call<added>.bytes_moved("add"));
static_assert(plan_of_call<looped>.work.size() == plan_of_call<added>.work.size());

}  // namespace
