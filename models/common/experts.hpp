#pragma once
// Mixtures of experts (Shazeer et al. 2017): which tokens go to which expert, their way there and back, and the losses
// that keep experts busy. A layer is made of these and of the experts themselves, an einsum over their dimension:
//
//   auto const p = mtf::softmax<expert>(mtf::einsum<group, token, expert>(x, gate));
//   auto const r = tokens_choose<token, expert, slot, choice>(p);
//   auto const h = mtf::relu(mtf::einsum<group, expert, slot, d_ff>(dispatch<by_expert>(x, r), w1));
//   auto const y = combine<where>(mtf::einsum<group, expert, slot, d_model>(h, w2), r);
//
// An expert has `slot` places in each group of tokens: groups are what dimensions x has beside `token` and its width,
// so usually `batch`. One group of all tokens: merge_dims first. What is computed and sent are the slots, those that
// stay empty too: experts * slot rows of x a group.
//
// Where axes that split groups split the experts, in the layout of their weights, dispatch is one all-to-all of the
// slots, and combine another: a token goes to each of its experts once, and its result back. (That layout splits groups
// over the other axes as before.) Where an axis splits no tokens, let `where` split the experts over it too: a rank
// then takes what its experts need and sends nothing, and combine's result is partial over the axis. Where an axis
// splits `token` itself, choose, dispatch and combine under a layout that splits experts in its place: tokens are
// gathered (fewer bytes than their slots), and a reduce-scatter brings results back. Every layout gives what one rank
// would, token for token.
#include <cstdint>
#include <type_traits>

#include <mtf/mtf.hpp>
#include <mtf/ops/create.hpp>
#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/reduction.hpp>
#include <mtf/ops/sorting.hpp>

namespace mtf::models {

/// Places for tokens of a group that an expert has: tokens * choices * factor / experts, rounded down, at least `least`
/// and at most all tokens. `choices`: experts that a token has.
constexpr std::int64_t expert_capacity(std::int64_t tokens, std::int64_t experts, std::int64_t choices, double factor,
                                       std::int64_t least = 1) {
  auto const even =
      static_cast<std::int64_t>(static_cast<double>(tokens * choices) * factor / static_cast<double>(experts));
  std::int64_t const some = even < least ? least : even;
  return some < tokens ? some : tokens;
}

/// Who gets a place where more tokens choose an expert than it has: the first tokens, all first choices before the
/// second ones (Switch, GShard); or those of the largest gates, of equal ones the first.
enum class priority : std::uint8_t { position, gate };

/// Which token is in an expert's slot (int32, along Token; -1: none), and by how much its result counts, 0 for none:
/// both [groups..., Expert, Slot].
template <class Token, class Expert, class Slot, class Ids, class Gates>
struct routing {
  Ids token;
  Gates gate;
};
/// And which experts each token chose, slot or no slot: bools [groups..., Token, Expert].
template <class Token, class Expert, class Slot, class Ids, class Gates, class Chosen>
struct token_routing : routing<Token, Expert, Slot, Ids, Gates> {
  Chosen chosen;
};

namespace experts {

template <class Token, class Expert, class Slot, class Ids, class Gates>
constexpr routing<Token, Expert, Slot, Ids, Gates> routed(Ids const& token, Gates const& gate) {
  return {token, gate};
}
template <class Token, class Expert, class Slot, class Ids, class Gates, class Chosen>
constexpr token_routing<Token, Expert, Slot, Ids, Gates, Chosen> routed(Ids const& token, Gates const& gate,
                                                                        Chosen const& chosen) {
  return {{token, gate}, chosen};
}

/// (Two returns, not `?:`, of which GCC 12 loses the gradient in a constant expression, a plan.)
template <class Expert, class X>
constexpr X weighed(X const& own, bool renormalised) {
  if (!renormalised) return own;
  auto const all = mtf::sum<Expert>(own);
  return own / mtf::where(all == 0, 1, all);  // of gates that are all 0 none counts
}

/// The first tokens that chose an expert (priority::position): one number a token, choice and expert, counted up along
/// tokens and summed where it names a slot.
template <class Token, class Slot, class Choice>
constexpr auto in_order_of_position(auto const& taken) {
  auto const of_choices_before = mtf::cumulative_sum<Choice>(mtf::sum<Token>(taken), mtf::cumulative::exclusive);
  auto const before = mtf::cumulative_sum<Token>(taken, mtf::cumulative::exclusive) + of_choices_before;
  auto const at = mtf::where(taken == 1, mtf::cast<std::int32_t>(before), -1);  // beyond the slots nothing is added
  return mtf::complete(mtf::scatter_add<Slot, Token, Choice>(at, mtf::iota<Token>(at) + 1)) - 1;
}

}  // namespace experts

/// Each token goes to its best experts, as many as Choice is long: one is Switch (Fedus et al. 2021), two are GShard's
/// and Mixtral's. `gates`: floats [groups..., Token, Expert], not negative, usually a softmax of the router's products;
/// of equal ones the first expert is taken. A token's gates may be divided by the sum of those it chose
/// (`renormalised`; Mixtral, GShard: tokens that find no slot count). The gradient goes through the gates. Choosing
/// sends what top_k, cumulative_sum and scatter_add do, or, by gate, two top_k: nothing where neither Token nor Expert
/// is split. Refused by gate: more slots than tokens.
template <dimension Token, dimension Expert, dimension Slot, dimension Choice, priority By = priority::position>
constexpr auto tokens_choose(operand auto const& gates, bool renormalised = false) {
  auto const [best, places] = mtf::top_k<Expert, Choice>(mtf::stop_gradient(gates));
  auto const taken = mtf::one_hot<Expert, std::int32_t>(places);
  auto const chosen = mtf::reduce_max<Choice>(taken) == 1;
  auto const own = mtf::where(chosen, gates, 0);
  auto const gate = experts::weighed<Expert>(own, renormalised);
  if constexpr (By == priority::position) {
    auto const token = experts::in_order_of_position<Token, Slot, Choice>(taken);
    return experts::routed<Token, Expert, Slot>(token, mtf::complete(mtf::gather<Token>(gate, token)), chosen);
  } else {
    auto const [largest, first] = mtf::top_k<Token, Slot>(mtf::where(chosen, gate, -1));
    auto const none = largest < 0;
    return experts::routed<Token, Expert, Slot>(mtf::where(none, -1, first), mtf::where(none, 0, largest), chosen);
  }
}

/// Each expert takes the tokens of its largest gates, as many as it has slots (Zhou et al. 2022): none stays empty,
/// and a token may have several experts or none. It looks at later tokens too: not for models that write. Refused: more
/// slots than tokens.
template <dimension Token, dimension Expert, dimension Slot>
constexpr auto experts_choose(operand auto const& gates) {
  auto const [largest, token] = mtf::top_k<Token, Slot>(gates);
  return experts::routed<Token, Expert, Slot>(token, largest);
}

/// The tokens that are in the experts' slots, [groups..., Expert, Slot, others of x], split as Layout says: that of the
/// experts' weights. Empty slots are zeros. Backward: their gradients, added up.
template <layout_type Layout, class Token, class Expert, class Slot, class Ids, class Gates>
constexpr auto dispatch(operand auto const& x, routing<Token, Expert, Slot, Ids, Gates> const& r) {
  return mtf::relayout<Layout>(mtf::gather<Token>(x, r.token));
}

/// What experts made of them, y [groups..., Expert, Slot, others], back at the tokens: each is the sum of its experts'
/// results times their gates, 0 without one. Layout: that in which tokens chose. A partial y stays partial.
template <layout_type Layout, class Token, class Expert, class Slot, class Ids, class Gates>
constexpr auto combine(operand auto const& y, routing<Token, Expert, Slot, Ids, Gates> const& r) {
  using T = typename std::remove_cvref_t<decltype(y)>::element_type;
  return mtf::scatter_add<Token, Expert, Slot>(r.token, mtf::relayout<Layout>(y) * mtf::cast<T>(r.gate));
}

/// How many choices of tokens found no slot (int64, a scalar).
template <class Token, class Expert, class Slot, class Ids, class Gates, class Chosen>
constexpr auto dropped(token_routing<Token, Expert, Slot, Ids, Gates, Chosen> const& r) {
  return mtf::sum(mtf::cast<std::int32_t>(r.chosen)) - mtf::sum(mtf::cast<std::int32_t>(r.token >= 0));
}
/// How many tokens are in no slot (int64, a scalar): the layer gives 0 for them.
template <class Token, class Expert, class Slot, class Ids, class Gates>
constexpr auto unserved(routing<Token, Expert, Slot, Ids, Gates> const& r) {
  return mtf::sum(
      mtf::cast<std::int32_t>(mtf::scatter_add<Token, Expert, Slot>(r.token, mtf::ones_like(r.token)) == 0));
}

namespace experts {

template <class... D>
constexpr double extents_of(auto const& x) {
  return (1.0 * ... * static_cast<double>(mtf::extent<D>(x)));
}
template <class... Own>
constexpr double size_of(mtf::shape<Own...> const*, auto const& x) {
  return extents_of<Own...>(x);
}

}  // namespace experts

/// The loss that keeps experts equally busy (Fedus et al. 2021, equations 4 to 6): experts times the sum over them of
/// the share of tokens that chose one and the mean of its gates, which are probabilities; as many as a token's choices
/// where all are equal. Taken in each position of Groups, if some are named, then their mean; else over all tokens.
/// Times 0.01 it is added to the loss. Both losses are in the type that gates are computed in. The gradient goes
/// through the gates. Sends the sums: two numbers an expert.
template <dimension Expert, dimension... Groups>
constexpr auto load_balance_loss(operand auto const& gates, operand auto const& chosen) {
  using X = std::remove_cvref_t<decltype(gates)>;
  using A = mtf::compute_t<typename X::element_type>;
  auto const share = mtf::einsum<Groups..., Expert>(mtf::cast<A>(chosen));
  auto const mean_gate = mtf::einsum<Groups..., Expert>(mtf::cast<A>(gates));
  double const n = experts::size_of(static_cast<typename X::shape_type const*>(nullptr), gates) /
                   experts::extents_of<Expert, Groups...>(gates);
  return mtf::mean(mtf::sum<Expert>(share * mean_gate)) * (static_cast<double>(mtf::extent<Expert>(gates)) / (n * n));
}

/// The mean of logsumexp(logits)^2 over all tokens (Zoph et al. 2022, equation 5): times 0.001, it keeps the router's
/// products small.
template <dimension Expert>
constexpr auto router_z_loss(operand auto const& logits) {
  using A = mtf::compute_t<typename std::remove_cvref_t<decltype(logits)>::element_type>;
  return mtf::mean(mtf::square(mtf::logsumexp<Expert>(mtf::cast<A>(logits))));
}

/// Each element times a number from [1 - epsilon, 1 + epsilon), which depends on the key and the global position only:
/// the router's input in training (Fedus et al. 2021).
constexpr auto jitter(operand auto const& x, double epsilon, random_key key) {
  auto const all = mtf::complete(x);
  return all * mtf::random_uniform_like(all, key, 1 - epsilon, 1 + epsilon);
}

}  // namespace mtf::models
