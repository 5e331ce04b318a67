#pragma once
// Attention as one operation, whatever is split.
#include <type_traits>

#include <mtf/core/dim.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/operate.hpp>
#include <mtf/ops/nn/ring_attention.hpp>
#include <mtf/ops/nn/whole_attention.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

namespace detail {

/// Whether sequences are split, or may be, where layouts are values.
template <class Query, class Key, class Head, class Q, class K, class V>
constexpr bool may_split_sequences() {
  if constexpr (!tensor_type<Q> || !tensor_type<K> || !tensor_type<V>) {
    return false;
  } else if constexpr (by_value<Q>) {
    return true;
  } else {
    int const d = Q::spec.find(Query::id), e = K::spec.find(Key::id);
    return (d >= 0 && Q::spec[d].split.size > 0) || (e >= 0 && K::spec[e].split.size > 0);
  }
}

template <class Query, class Key, class Head, class Q, class K, class V>
using attention_call_for = std::conditional_t<may_split_sequences<Query, Key, Head, Q, K, V>(),
                                              ring_call<Query, Key, Head>, attention_call<Query, Key, Head>>;
/// What attention of these operands does.
template <class Query, class Key, class Head, class Q, class K, class V>
constexpr auto attention_of(visible const& seen, double scale) {
  attention_call_for<Query, Key, Head, Q, K, V> call{};
  call.seen = seen;
  call.scale = scale;
  return call;
}

}  // namespace detail

/// The sum over Key of softmax(scale q . k) v, the softmax over the keys that `seen` shows the query (Vaswani et al.
/// 2017, 3.2.1; Dao et al. 2022); 0 where it shows none, with no gradient. q has Query and Head, k and v have Key and
/// Head; their other dimensions are the same, or q has more, such as several heads for one of keys and values (Ainslie
/// et al. 2023), which are not copied. In place of Head v may have a dimension of its own, which the result then has.
/// The result has q's dimensions in q's order. Partial operands are reduced first.
///
/// Nothing of the size of Query x Key is stored, blocks of keys that are hidden are not computed, two numbers a row are
/// kept for the backward pass. Where neither Key nor Head is split nothing is sent. Where the axes that split the keys
/// split something that the queries have and the keys lack (their own dimension, or several heads for one of keys and
/// values), keys and values go round these p ranks while those that are there are worked on (Liu et al. 2023): each
/// rank sends its part of k and v p - 1 times; what hides keys makes it fewer where nobody sees what would come last,
/// and only what somebody still sees is moved. Backward they go round again, and as many gradients of them. Where one
/// rank's queries would see more keys than another's, as with `causal`, ranks exchange half of them first, and half of
/// the results at the end, so that all have as much to do (without a bias or segments; Query and Key split by the same
/// axes in one order; of Query an even part and no pads; where it saves a quarter). Over axes
/// that split the keys alone each rank has a term of the result, which is partial, and one all-reduce of the largest
/// score of each query and one of the sum are made, backward one more: no gather, after which each rank would do the
/// work of all. With a split Head, or a split dimension of the values' own, it is einsum, masked_softmax and einsum,
/// with what they send and store.
///
/// What is hidden is multiplied by 0, so it must be finite. Refused: operands with other dimensions, split differently,
/// of different element types.
template <dimension Query, dimension Key, dimension Head, operand Q, operand K, operand V>
constexpr auto attention(Q const& q, K const& k, V const& v, visible const& seen, double scale) {
  return detail::operate(detail::attention_of<Query, Key, Head, Q, K, V>(seen, scale), q, k, v);
}

/// The same of sequences of several lengths: of the keys only those at positions below `lengths` are visible, a tensor
/// of int32 over some of the dimensions that queries and keys have in common. Refused: lengths of another type, over
/// other dimensions.
template <dimension Query, dimension Key, dimension Head, operand Q, operand K, operand V, operand Lengths>
constexpr auto attention(Q const& q, K const& k, V const& v, visible const& seen, Lengths const& lengths,
                         double scale) {
  return detail::operate(detail::attention_of<Query, Key, Head, Q, K, V>(seen, scale), q, k, v, lengths);
}

}  // namespace mtf
