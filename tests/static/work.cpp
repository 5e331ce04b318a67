// What a plan says that a step computes: the flops of the example's model, of the example's and of the benchmark's
// sizes, under several layouts, against closed forms.
#include <mtf/mtf.hpp>

#include "../../models/gpt2/config.hpp"
#include "support/model_loss.hpp"

// Each has a `config`.
namespace demo {
#include "../../examples/transformer/configs/demo.hpp"
}
namespace train_step {
#include "../../benchmarks/train-step/config.hpp"
}
namespace gpt2 {
#include "../../benchmarks/train-step/gpt2.hpp"
}

namespace {

/// Flops of a step on all ranks. Each weight is multiplied with each token once forward and twice backward, the token
/// embedding only where it is the output too.
template <class C>
constexpr double of_weights = 3 * 2.0 * C::batch::extent * C::sequence::extent *
                              (C::layers::extent * (4.0 * C::d_model::extent * C::heads::extent * C::d_head::extent +
                                                    2.0 * C::d_model::extent * C::d_ff::extent) +
                               1.0 * C::d_model::extent * C::vocab::extent);
/// Of one product of attention, of each query with the keys that count.
template <class C>
constexpr double of_attention(double keys) {
  return C::layers::extent * 2.0 * C::batch::extent * C::heads::extent * C::d_head::extent * C::sequence::extent * keys;
}

template <class C, mtf::fixed_string Mesh, mtf::fixed_string Rules>
constexpr bool computes_its_share() {
  using layout =
      mtf::layout_of<Mesh, Rules, typename C::batch, typename C::sequence, typename C::memory, typename C::d_model,
                     typename C::heads, typename C::d_head, typename C::d_ff, typename C::vocab>;
  using loss = model_loss<C>;
  constexpr auto plan = mtf::plan_of<layout>(loss{}, loss::parameters, loss::tokens, loss::tokens);
  constexpr double ranks = layout::mesh_type::size;

  // Attention multiplies what the mask leaves: twice forward and, as it computes the weights again, five times
  // backward. Where the sequence is split a plan is that of the rank with the last queries, which see the most.
  constexpr double in_parts = layout::split_of(C::sequence::id).size == 0 ? 1 : ranks;
  constexpr int forward = 2, backward = 5;
  constexpr double product = of_attention<C>(C::sequence::extent - (C::sequence::extent / in_parts - 1) / 2);
  static_assert((plan.flops("einsum") + plan.flops("linear")) * ranks == of_weights<C>);
  static_assert(plan.flops("attention") * ranks == (forward + backward) * product);
  static_assert(plan.flops() * ranks == of_weights<C> + (forward + backward) * product);
  static_assert(plan.flops([](auto const& w) { return w.when == mtf::pass::forward; }) * ranks ==
                of_weights<C> / 3 + forward * product);
  static_assert(plan.flops([](auto const& w) { return w.bound != mtf::limit::matrix; }) == 0);
  return true;
}
static_assert(computes_its_share<demo::config, "data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">());
static_assert(computes_its_share<train_step::config, "one:1", "">());
static_assert(computes_its_share<train_step::config, "seq:2", "sequence:seq">());
static_assert(computes_its_share<gpt2::config, "one:1", "">());

// Two layers: the input has no gradient, so the first layer's products are two.
struct examples : mtf::dim<"examples", 8> {};
struct in : mtf::dim<"in", 12> {};
struct hidden : mtf::dim<"hidden", 20> {};
struct out : mtf::dim<"out", 28> {};
template <template <class...> class Tensor>
struct mlp {
  Tensor<in, hidden> w1;
  Tensor<hidden, out> w2;
  MTF_FIELDS(w1, w2);
};
constexpr auto two_layers = mtf::plan_of<mtf::layout<mtf::mesh<>>>(
    [](auto const& p, auto const& x) {
      return mtf::mean(mtf::einsum<examples, out>(mtf::relu(mtf::einsum<examples, hidden>(x, p.w1)), p.w2));
    },
    mtf::parameters<mlp>{}, mtf::input<float, examples, in>{});
static_assert(two_layers.flops() == 2 * 8 * 20 * (2 * 12 + 3 * 28));

// Bytes: a copy reads and writes each element once; a broadcast reads its operand once.
struct rows : mtf::dim<"rows", 6> {};
struct columns : mtf::dim<"columns", 10> {};
template <class F>
constexpr auto plan_of_call =
    mtf::plan_of<mtf::layout<mtf::mesh<>>>(F{}, mtf::input<float, rows, columns>{}, mtf::input<float, columns>{});
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
