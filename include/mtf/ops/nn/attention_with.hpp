#pragma once
// Attention with more than queries, keys and values: a soft cap, a bias, segments, dropout of the weights.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include <mtf/core/error.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/math/functions.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/elementwise/map.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/nn/attention.hpp>
#include <mtf/ops/nn/dropout.hpp>
#include <mtf/ops/nn/ring_attention.hpp>
#include <mtf/ops/nn/whole_attention.hpp>
#include <mtf/ops/reduction/masked_softmax.hpp>

namespace mtf {

/// What `attention` does to products and weights.
struct attention_options {
  /// Times the products of queries and keys.
  double scale = 1;
  /// If not 0, a score s becomes soft_cap tanh(s / soft_cap) (Gemma 2, 2024), before a bias is added.
  double soft_cap = 0;
  /// Of the weights so many become 0, others are divided by 1 - dropout: as `dropout` of the tensor [..., Query, Key]
  /// of all weights would say, its other dimensions in the order of the queries'.
  double dropout = 0;
  random_key key{0};
};

/// Operands of `attention` beside queries, keys and values. A bias is added to the scores.
template <operand X>
struct attention_bias {
  X const& of;
  explicit constexpr attention_bias(X const& x) : of(x) {}
};
/// How many of the keys each sequence has.
template <operand X>
struct attention_lengths {
  X const& of;
  explicit constexpr attention_lengths(X const& x) : of(x) {}
};
/// Queries see keys of their own segment alone, as of packed documents.
template <operand Queries, operand Keys>
struct attention_segments {
  Queries const& of_queries;
  Keys const& of_keys;
  constexpr attention_segments(Queries const& q, Keys const& k) : of_queries(q), of_keys(k) {}
};

namespace detail {

enum attention_extras : unsigned { with_lengths = 1, with_bias = 2, with_segments = 4 };

template <unsigned Kind, class X>
constexpr auto operands_for(X const&) {
  return std::tuple<>{};
}
template <unsigned Kind, class X>
constexpr auto operands_for(attention_lengths<X> const& l) {
  if constexpr (Kind == with_lengths)
    return std::tie(l.of);
  else
    return std::tuple<>{};
}
template <unsigned Kind, class X>
constexpr auto operands_for(attention_bias<X> const& b) {
  if constexpr (Kind == with_bias)
    return std::tie(b.of);
  else
    return std::tuple<>{};
}
template <unsigned Kind, class Q, class K>
constexpr auto operands_for(attention_segments<Q, K> const& s) {
  if constexpr (Kind == with_segments)
    return std::tie(s.of_queries, s.of_keys);
  else
    return std::tuple<>{};
}
template <class X>
inline constexpr unsigned attention_extra = 0;
template <class X>
inline constexpr unsigned attention_extra<attention_lengths<X>> = with_lengths;
template <class X>
inline constexpr unsigned attention_extra<attention_bias<X>> = with_bias;
template <class Q, class K>
inline constexpr unsigned attention_extra<attention_segments<Q, K>> = with_segments;

/// What attention has besides, in this order: lengths, the bias, the segments of queries and of keys.
template <std::size_t N, unsigned Has>
struct attention_with {
  struct work : attention_work<N> {
    sharding scores;  // of all keys
  };
  static constexpr bool lengths = (Has & with_lengths) != 0, bias = (Has & with_bias) != 0,
                        segments = (Has & with_segments) != 0;
  static constexpr bool of_queries = bias || segments;                         // some of it may lie as queries do
  static constexpr std::size_t first_id = (lengths ? 1 : 0) + (bias ? 1 : 0);  // among those besides
  double soft_cap;
  double dropped;
  std::uint64_t key;

  /// Of what an operand has along the keys, where those begin that are the tensor's from `first_key` on.
  static constexpr index keys_before(work const& w, std::size_t operand, index first_key) {
    auto const& s = w.in[operand];
    int const d = s.find(w.scores[w.scores.ndim - 1].id);
    return d >= 0 && s[d].split.size == 0 ? first_key : 0;
  }
  /// Of the rank's queries and all keys, from these on.
  constexpr void say(attention_shape& s, work const& w, mesh_shape const& mesh, int rank, auto const& kept,
                     index first_query, index first_key) const {
    s.soft_cap = soft_cap;
    s.dropped = dropped;
    s.drop_key = key;
    if (dropped != 0)
      s.first_weight = placement_of(w.scores, mesh, rank).offset + first_query * s.weights_row + first_key;
    if constexpr (segments) {
      s.query_ids = data_of<std::int32_t>(kept[5 + first_id]);
      s.key_ids =
          data_of<std::int32_t>(kept[6 + first_id], keys_before(w, 4 + first_id, first_key) * w.shape.key_ids_step);
    }
  }
};

template <class Query, class Key, unsigned Has>
struct attention_with_rule {
  static constexpr bool takes_pads = true;
  static constexpr auto derive(mesh_shape const& mesh, sharding const& q, sharding const& k, sharding const& v,
                               auto const&... more) {
    using with = attention_with<3 + sizeof...(more), Has>;
    typename with::work w;
    static_cast<attention_work<3 + sizeof...(more)>&>(w) =
        derive_attention<with::lengths>(mesh, Query::id, Key::id, q, k, v, more...);
    w.scores = without<2>(q, {Query::id, q[q.ndim - 1].id}, 2);
    w.scores.partial = 0;
    w.scores.push(q[q.find(Query::id)]);
    axis_mask const of_scores = w.scores.split_axes() | k[k.find(Key::id)].split.mask();
    w.scores.push(k[k.find(Key::id)]);
    w.scores[w.scores.ndim - 1].split = {};
    auto& s = w.shape;
    constexpr std::size_t bias = with::lengths ? 4 : 3, ids = 3 + with::first_id;
    std::array<sharding const*, 8> of{&q, &k, &v, &w.out, &no_operand, &no_operand, &no_operand, &w.scores};
    auto const step = [&](sharding const& x, std::uint64_t id) {
      int const d = x.find(id);
      return d < 0 ? index{0} : x.local_stride(d, mesh);
    };
    if constexpr (with::bias) {
      auto const& b = w.in[bias];
      of[of_bias] = &b;
      s.biased = true;
      s.bias_query = step(b, Query::id);
      s.bias_key = step(b, Key::id);
      w.gradient_sums[bias] = of_scores & ~b.split_axes();
    }
    if constexpr (with::segments) {
      of[of_query_ids] = &w.in[ids];
      of[of_key_ids] = &w.in[ids + 1];
      s.query_ids_step = step(w.in[ids], Query::id);
      s.key_ids_step = step(w.in[ids + 1], Key::id);
    }
    s.batch = attention_batch(mesh, Query::id, q, of);
    s.weights_row = w.scores.global_stride(w.scores.ndim - 2);
    return w;
  }
};

/// x where the segments are one, else the number.
template <class T>
struct of_one_segment {
  static constexpr char const* name = "where";
  T number;
  template <class A>
  MTF_FUNCTION auto operator()(A x, std::int32_t of_query, std::int32_t of_key) const {
    return math::where(of_query == of_key, x, number);
  }
};

/// Call: attention_call, or ring_call.
template <class Call, class Query, class Key, class Head, unsigned Has>
struct attention_with_call : Call {
  attention_options options;

  template <class Q, class K, class V, class... More>
  static auto verdict() {
    using plain = decltype(Call::template verdict<Q, K, V>());
    if constexpr (!plain::value) {
      return plain{};
    } else {
      using batch = attention_dims_t<Q, Q, any_of_shapes<shape<Query, Head>>>;
      using of_queries = attention_dims_t<Q, Q, any_of_shapes<shape<Head>>>;
      using of_keys = attention_dims_t<Q, K, any_of_shapes<shape<Query, Head>>, Key>;
      using scores = attention_dims_t<Q, K, any_of_shapes<shape<Query, Head>>, Query, Key>;
      using more = list<More...>;
      constexpr std::size_t bias = (Has & with_lengths) != 0 ? 1 : 0, ids = bias + ((Has & with_bias) != 0 ? 1 : 0);
      return first_failed_t<decltype(lengths_are<batch, more>()), decltype(bias_is<Q, scores, bias, more>()),
                            decltype(ids_are<of_queries, of_keys, ids, more>())>{};
    }
  }

  template <class Q, class K, class V, class... More>
  constexpr auto operator()(Q const& q, K const& k, V const& v, More const&... more) const {
    check();
    return Call::by_splits(*this, q, k, v, more...);
  }
  template <class Q, class K, class V, class... More>
  constexpr auto fused(Q const& q, K const& k, V const& v, More const&... more) const {
    return Call::template run_fused<rule>(operation<attention_operation, Q, More...>(), q, k, v, more...);
  }
  template <class Q, class K, class V, class... More>
  constexpr auto in_parts(Q const& q, K const& k, V const& v, More const&... more) const {
    auto const run = [&](auto const&... x) {
      return Call::template run_in_parts<rule>(operation<ring_operation, Q, More...>(), q, k, v, x...);
    };
    // What has keys, and does not go round with them, is whole.
    if constexpr (by_value<Q>) {
      if (Call::go_round(q.where().spec, k.where().spec)) return std::apply(run, std::tuple{whole(more)...});
      return run(more...);
    } else if constexpr (Call::go_round(Q::spec, K::spec)) {
      return std::apply(run, std::tuple{whole(more)...});
    } else {
      return run(more...);
    }
  }
  template <class Q, class K, class V, class... More>
  constexpr auto by_products(Q const& q, K const& k, V const& v, More const&... more) const {
    return Call::products(
        [&](auto const& products, auto const&... given) { return weights(products, std::tie(given...)); }, q, k, v,
        more...);
  }

 private:
  using rule = attention_with_rule<Query, Key, Has>;

  template <class X>
  static constexpr auto whole(X const& x) {
    if constexpr (X::shape_type::template has<Key>)
      return relaid_as<description_of<typename X::element_type, whole_along<Key>, typename X::description>,
                       whole_along<Key>>("attention", x);
    else
      return x;
  }
  template <template <class, std::size_t, class> class Operation, class Q, class... More>
  constexpr auto operation() const {
    using T = typename Q::element_type;
    using with = attention_with<3 + sizeof...(More), Has>;
    return Operation<T, 3 + sizeof...(More), with>{nullptr, static_cast<compute_t<T>>(options.scale), this->seen,
                                                   with{options.soft_cap, options.dropout, options.key.bits()}};
  }
  template <class Rest, class More>
  static auto lengths_are() {
    if constexpr ((Has & with_lengths) != 0)
      return lengths_t<typename More::template at<0>, Rest>{};
    else
      return ok{};
  }
  template <class Q, class Scores, std::size_t I, class More>
  static auto bias_is() {
    if constexpr ((Has & with_bias) != 0) {
      using B = typename More::template at<I>;
      return first_failed_t<same_element_t<Q, B>, typename lengths_verdict<typename B::shape_type, Scores>::type>{};
    } else {
      return ok{};
    }
  }
  template <class OfQueries, class OfKeys, std::size_t I, class More>
  static auto ids_are() {
    if constexpr ((Has & with_segments) != 0)
      return first_failed_t<lengths_t<typename More::template at<I>, OfQueries>,
                            lengths_t<typename More::template at<I + 1>, OfKeys>>{};
    else
      return ok{};
  }
  constexpr void check() const {
    if (!(options.soft_cap >= 0 && options.soft_cap < 1e300))
      throw user_error("attention: soft_cap is " + std::to_string(options.soft_cap) +
                       "; a number above 0 was expected, or 0 for none");
    if (!(options.dropout >= 0 && options.dropout <= 1))
      throw user_error("attention: dropout is " + std::to_string(options.dropout) +
                       "; a probability, from 0 to 1, was expected");
  }

  template <class X, class Given>
  constexpr auto weights(X const& products, Given const& given) const {
    constexpr std::size_t bias = (Has & with_lengths) != 0 ? 1 : 0, ids = bias + ((Has & with_bias) != 0 ? 1 : 0);
    using A = compute_t<typename X::element_type>;
    auto const scores = capped(complete(products));
    auto const biased = [&] {
      if constexpr ((Has & with_bias) != 0)
        return scores + std::get<bias>(given);
      else
        return scores;
    }();
    auto const softmax_of = [&](auto const& x) {
      if constexpr ((Has & with_lengths) != 0)
        return masked_softmax<Query, Key>(x, this->seen, std::get<0>(given));
      else
        return masked_softmax<Query, Key>(x, this->seen);
    };
    auto const own = [&] {
      if constexpr ((Has & with_segments) != 0) {
        // Hidden before, by a finite number, since infinities alone would make a row no number, and its gradient, which
        // no factor of 0 hides; and after, as a row may have no key of its segment.
        auto const own = [&](auto const& x, A others) {
          return map(of_one_segment<A>{others}, x, std::get<ids>(given), std::get<ids + 1>(given));
        };
        return own(softmax_of(own(biased, A(-3e38))), A(0));
      } else {
        return softmax_of(biased);
      }
    }();
    return dropout(own, options.dropout, options.key);
  }
  template <class X>
  constexpr auto capped(X const& products) const {
    double const cap = options.soft_cap;
    if (cap == 0) return products * options.scale;
    return tanh(products * (options.scale / cap)) * cap;
  }
};

}  // namespace detail

/// `attention` with options, and with operands in any order, each at most once:
///
///   attention<query, key, head>(q, k, v, seen, {.scale = 0.125, .soft_cap = 50})
///   attention<query, key, head>(q, k, v, seen, {.scale = 0.125}, attention_bias(b), attention_lengths(n))
///   attention<query, key, head>(q, k, v, seen, {.scale = 0.125}, attention_segments(of_queries, of_keys))
///
/// A bias has q's element type and some of q's dimensions but Head, and of Query and Key: it is the same along those
/// that it lacks, and its gradient is the sum over them. Lengths are as above. Segments are int32, those of queries
/// over some of q's dimensions but Head, those of keys over Key and q's but Query and Head; blocks of queries and keys
/// that have no range of ids in common are not computed. Nothing of the size of Query x Key is stored, dropout's mask
/// neither, where `attention` stores nothing such; the bias' gradient computes the scores once more. What is sent is
/// the same; where keys go round, a bias or segments that are split along Key are gathered first, as many bytes as if
/// they went with them. A partial operand is reduced first. Refused, by a user_error: a negative soft_cap, a rate
/// outside [0, 1].
template <dimension Query, dimension Key, dimension Head, operand Q, operand K, operand V, class... More>
constexpr auto attention(Q const& q, K const& k, V const& v, visible const& seen, attention_options const& options,
                         More const&... more) {
  using namespace detail;  // NOLINT
  constexpr unsigned has = (attention_extra<More> | ... | 0U);
  static_assert(((attention_extra<More> != 0) && ...) && (attention_extra<More> + ... + 0U) == has,
                "mtf: besides options attention takes attention_bias, attention_lengths and attention_segments, each "
                "at most once");
  return std::apply(
      [&](auto const&... x) {
        using call = attention_call_for<Query, Key, Head, Q, K, V>;
        return operate(
            attention_with_call<call, Query, Key, Head, has>{
                attention_of<Query, Key, Head, Q, K, V>(seen, options.scale), options},
            q, k, v, x...);
      },
      std::tuple_cat(operands_for<with_lengths>(more)..., operands_for<with_bias>(more)...,
                     operands_for<with_segments>(more)...));
}

}  // namespace mtf
