// A model's precision: which types its tensors have, and what half as many bytes make of a plan.
#include "names.hpp"

using mtf::pass;

struct model {
  template <template <class...> class Tensor>
  struct layer {
    Tensor<hidden, sequence> w;
    MTF_FIELDS(w);
  };
  template <template <class...> class Tensor>
  struct parameters {
    layer<Tensor> first;
    layer<mtf::relaid<Tensor, mtf::layout<machine>>::template tensor> second;
    Tensor<vocab, hidden> v;
    MTF_FIELDS(first, second, v);
  };
};

template <class T>
using of = model::parameters<mtf::place<T, where>::template tensor>;
template <class T, class... D>
using lies = typename mtf::place<T, where>::template tensor<D...>;
template <class P>
using computed = mtf::as_computed_t<of<P>>;

// --- types -----------------------------------------------------------------------------------------------------------

using mtf::bfloat16, mtf::mixed_bfloat16;
using wide_gradients = mtf::precision<float, bfloat16, float>;

// Parameters at rest are of the first type, copies for the function of the second, whatever their layout.
static_assert(same<decltype(of<mixed_bfloat16>::v), lies<float, vocab, hidden>>);
static_assert(same<decltype(computed<mixed_bfloat16>::v), lies<bfloat16, vocab, hidden>>);
static_assert(same<decltype(computed<mixed_bfloat16>::second.w),
                   mtf::place<bfloat16, mtf::layout<machine>>::tensor<hidden, sequence>>);
// Gradients are of the third, and lie like the parameters.
static_assert(same<decltype(mtf::gradients_t<of<mixed_bfloat16>>::v)::tensor_type, lies<bfloat16, vocab, hidden>>);
static_assert(same<decltype(mtf::gradients_t<of<wide_gradients>>::v)::tensor_type, lies<float, vocab, hidden>>);
// One type for all changes nothing, and neither does asking twice.
static_assert(same<computed<float>, of<float>> && same<computed<mtf::precision<float>>, of<mtf::precision<float>>>);
static_assert(same<mtf::as_computed_t<computed<mixed_bfloat16>>, computed<mixed_bfloat16>>);

// What is refused.
template <class Parameter, class Compute, class Completed, class State>
constexpr bool accepted = mtf::detail::precision_verdict_t<Parameter, Compute, Completed, State>::value;
static_assert(accepted<float, bfloat16, float, float> && accepted<double, double, double, double> &&
              accepted<bfloat16, bfloat16, bfloat16, float> && accepted<float, bfloat16, float, bfloat16> &&
              accepted<bfloat16, bfloat16, bfloat16, bfloat16>);
static_assert(!accepted<int, int, int, int> && !accepted<double, bfloat16, bfloat16, double> &&
              !accepted<bfloat16, float, float, float> && !accepted<float, float, bfloat16, float> &&
              !accepted<float, bfloat16, double, float> && !accepted<float, bfloat16, float, double> &&
              !accepted<double, double, double, bfloat16>);

// The optimizer's state.
template <class P>
using moment = decltype(mtf::detail::state_t<mtf::detail::kept_like_it<"m">, of<P>>{}.v);
static_assert(same<typename moment<mixed_bfloat16>::element_type, float> &&
              same<typename moment<mtf::precision<float, bfloat16, float, bfloat16>>::element_type, bfloat16>);

// Losses are float, whatever the logits are.
static_assert(
    same<decltype(mtf::cross_entropy<vocab>(lies<bfloat16, batch, vocab>(), lies<std::int32_t, batch>()))::element_type,
         float>);
static_assert(same<decltype(mtf::mean(lies<bfloat16, batch, vocab>()))::element_type, float> &&
              same<decltype(mtf::sum<vocab, batch>(lies<bfloat16, batch, vocab>()))::element_type, float> &&
              same<decltype(mtf::sum<vocab>(lies<bfloat16, batch, vocab>()))::element_type, bfloat16>);

// --- plans -----------------------------------------------------------------------------------------------------------

using split_over_rows = mtf::state_split_over<rows>;
template <class P>
constexpr auto plan = mtf::plan_of<where, mtf::completed_gradients::overlapped, split_over_rows>(
    [](auto const& p, auto const& ids, auto const& labels) {
      auto const second = mtf::relayout<where>(p.second.w);
      auto const x =
          mtf::einsum<batch, hidden>(mtf::einsum<batch, sequence>(mtf::embedding<vocab>(p.v, ids), p.first.w), second);
      return mtf::mean(mtf::cross_entropy<vocab>(mtf::einsum<batch, vocab>(x, p.v), labels));
    },
    mtf::parameters<model::parameters, P>{}, mtf::input<std::int32_t, batch>{}, mtf::input<std::int32_t, batch>{});

/// Bytes that a rank sends in reductions of gradients; the parameters that are shared are float in any case.
template <class P>
constexpr std::uint64_t gradients = plan<P>.bytes_sent_per_rank(pass::backward);
// A message of losses is four bytes: all others are halved.
constexpr std::uint64_t of_losses = 4;
static_assert(plan<mixed_bfloat16>.bytes_sent_per_rank(pass::forward) - of_losses ==
              (plan<float>.bytes_sent_per_rank(pass::forward) - of_losses) / 2);
static_assert(gradients<mixed_bfloat16> > 0 && 2 * gradients<mixed_bfloat16> == gradients<float>);
static_assert(gradients<wide_gradients> > gradients<mixed_bfloat16> && gradients<wide_gradients> <= gradients<float>);
// The same gradients are scattered: what is small is so by the numbers, not by the bytes.
static_assert(plan<mixed_bfloat16>.count() == plan<float>.count() &&
              plan<wide_gradients>.count() == plan<float>.count());
static_assert(plan<mixed_bfloat16>.flops() == plan<float>.flops());
