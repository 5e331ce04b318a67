#pragma once
// Attention of a rank that has whole sequences, which keeps no scores and computes none of keys that are hidden; or by
// the products and the softmax that it means.
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/attention.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/reduction/masked_softmax.hpp>

namespace mtf::detail {

template <std::size_t N>
struct attention_work : operation_work<N> {  // rows of Head, or of what values have, which is their last dimension
  attention_shape shape;
  loops<2> of_lengths;  // operands (one number for each of the batch, the lengths)
};

/// In place of an operand that there is not. (A null pointer would do, but for GCC bug 71962: with its sanitizers the
/// address of a static sharding is no constant where it is compared with one.)
inline constexpr sharding no_operand{};

/// The loops over what queries have besides Query and Head. Of the weights: strides in the global tensor.
constexpr loops<8> attention_batch(mesh_shape const& mesh, std::uint64_t query, sharding const& q,
                                   std::array<sharding const*, 8> const& of) {
  loops<8> l;
  for (int d = 0; d + 1 < q.ndim; ++d) {
    if (q[d].id == query) continue;
    auto const at = static_cast<std::size_t>(l.ndim++);
    l.extent[at] = q.local_extent(d, mesh);
    for (std::size_t o = 0; o < of.size(); ++o)
      if (int const e = of[o]->find(q[d].id); e >= 0)
        l.stride[o][at] = o == of_weights ? of[o]->global_stride(e) : of[o]->local_stride(e, mesh);
  }
  return collapsed(l);
}

/// more: the lengths, if there are, and what else is an operand.
template <bool Lengths>
constexpr auto derive_attention(mesh_shape const& mesh, std::uint64_t query, std::uint64_t key, sharding const& q,
                                sharding const& k, sharding const& v, auto const&... more) {
  attention_work<3 + sizeof...(more)> w;
  w.in = {q, k, v, more...};
  w.out = q;
  w.out.partial = 0;
  w.out[q.ndim - 1] = v[v.ndim - 1];
  w.complete = {q.partial, k.partial, v.partial, more.partial...};
  w.gradient_may_be_partial = ~q.split_axes();
  w.gradient_sums[1] = axes_of_others(k, q);
  w.gradient_sums[2] = axes_of_others(v, q);
  auto& s = w.shape;
  s.batch = attention_batch(mesh, query, q, {&q, &k, &v, &w.out, &no_operand, &no_operand, &no_operand, &no_operand});
  // None of these is split where this work is done: pads come last.
  s.queries = q[q.find(query)].logical();
  s.keys = k[k.find(key)].logical();
  s.head = q.local_extent(q.ndim - 1, mesh);
  s.values = v.local_extent(v.ndim - 1, mesh);
  s.q_row = q.local_stride(q.find(query), mesh);
  s.k_row = k.local_stride(k.find(key), mesh);
  s.v_row = v.local_stride(v.find(key), mesh);
  s.out_row = w.out.local_stride(q.find(query), mesh);
  if constexpr (Lengths) {
    auto batch = without<2>(q, {query, q[q.ndim - 1].id}, 2);
    batch.partial = 0;
    w.of_lengths = aligned<1>(mesh, batch, {w.in[3]});
  }
  return w;
}

/// Attention with nothing but its operands, of which the fourth are lengths. What there is more says the same.
template <std::size_t N>
struct plain_attention {
  using work = attention_work<N>;
  static constexpr bool lengths = N > 3, bias = false, of_queries = false;
  static constexpr void say(attention_shape&, work const&, mesh_shape const&, int, auto const&, index, index) {}
};

/// For the backward pass: queries, keys, values, the result, what is known of rows, and other operands; lengths in an
/// order of their own.
template <class More, std::size_t N>
constexpr void keep_for_gradients(auto& f, auto const& queries, auto const& statistics,
                                  typename More::work const& work) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    f.kept = {queries,    f.template memory<1>(),       f.template memory<2>(), f.out,
              statistics, f.template memory<3 + I>()...};
  }(std::make_index_sequence<N - 3>{});
  if constexpr (More::lengths) {
    f.kept[5] = make_buffer<std::int32_t>(f.backend, work.shape.batch.size());
    f.run(primitives::copy<std::int32_t, std::int32_t>{work.of_lengths, data_of<std::int32_t>(f.kept[5]),
                                                       f.template x<3>()});
  }
}

template <class T, std::size_t N = 3, class More = plain_attention<N>>
struct attention_operation {
  using A = compute_t<T>;
  typename More::work const* work;
  A scale;
  visible seen;
  [[no_unique_address]] More more{};
  // q, k, v, the result, each query's largest score and sum of exponentials; lengths, if there are, and others
  static constexpr std::size_t kept = 2 + N;
  static constexpr std::size_t bias = 5 + (More::lengths ? 1 : 0);  // of what is kept
  static constexpr char const* name() { return "attention"; }

  constexpr void forward(auto& f) const {
    auto const rows = work->shape.batch.size() * work->shape.queries;
    auto statistics = make_buffer<A>(f.backend, 2 * rows);
    T* const y = f.y();
    keep_for_gradients<More, N>(f, f.memory(), statistics, *work);
    f.run(primitives::attention<T>{shape(f), scale, y, data_of<A>(statistics), data_of<A>(statistics, rows), f.x(),
                                   f.template x<1>(), f.template x<2>(), of_bias(f)});
  }
  constexpr void backward(auto& g) const {
    auto const s = shape(g);
    auto const& kept = g.kept;
    auto const rows = s.batch.size() * s.queries;
    T const *const q = data_of<T>(kept[0]), *const k = data_of<T>(kept[1]), *const v = data_of<T>(kept[2]),
                   *const out = data_of<T>(kept[3]);
    A const *const max = data_of<A>(kept[4]), *const sum = data_of<A>(kept[4], rows);
    g.run(primitives::attention_vjp<T>{s, scale, g.dx(), g.template dx<1>(), g.template dx<2>(), q, k, v, out, max, sum,
                                       g.dy(), of_bias(g)});
    if constexpr (More::bias)
      if (g.template wants<bias - 2>())
        g.run(primitives::attention_bias_vjp<T>{s, scale, g.template dx<bias - 2>(), q, k, v, out, max, sum, g.dy(),
                                                of_bias(g)});
  }

 private:
  /// The rank has whole sequences: positions in the shard are those of the tensor.
  [[nodiscard]] constexpr attention_shape shape(auto const& pass) const {
    auto s = work->shape;
    s.seen = seen;
    if constexpr (More::lengths) s.lengths = data_of<std::int32_t>(pass.kept[5]);
    more.say(s, *work, pass.mesh(), pass.rank(), pass.kept, 0, 0);
    return s;
  }
  [[nodiscard]] static constexpr T const* of_bias([[maybe_unused]] auto const& pass) {
    if constexpr (More::bias)
      return data_of<T>(pass.kept[bias]);
    else
      return nullptr;
  }
};

template <class Query, class Key>
struct attention_rule {
  static constexpr bool takes_pads = true;
  static constexpr auto derive(mesh_shape const& mesh, auto const&... in) {
    return derive_attention<(sizeof...(in) > 3)>(mesh, Query::id, Key::id, in...);
  }
};

/// Dimensions that the operands of an attention have in common: those of the queries without some, then others.
template <class Q, class K, class Without, class... Then>
struct attention_dims {
  static constexpr sharding make() {
    sharding s;
    for (int d = 0; d < Q::spec.ndim; ++d)
      if (!Without::has_id(Q::spec[d].id)) s.push(Q::spec[d]);
    (s.push(Q::spec.has(Then::id) ? Q::spec[Q::spec.find(Then::id)] : K::spec[K::spec.find(Then::id)]), ...);
    return s;
  }
  static constexpr sharding out = make();
};
template <class Q, class K, class Without, class... Then>
using attention_dims_t = shape_of_rule<dims_of<Q, K>, attention_dims<Q, K, Without, Then...>>;

/// The values' last dimension: Head, or the first one that keys lack.
template <class K, class V, class Head>
struct attention_values {
  static constexpr sharding make() {
    sharding s;
    for (int d = 0; d < V::spec.ndim && s.ndim == 0; ++d)
      if (V::spec.has(Head::id) ? V::spec[d].id == Head::id : !K::spec.has(V::spec[d].id)) s.push(V::spec[d]);
    return s;
  }
  static constexpr sharding out = make();
};
template <class D>
auto only_dim(shape<D> const*) -> D;
template <class K, class V, class Head>
using attention_values_t =
    decltype(only_dim(static_cast<shape_of_rule<dims_of<V>, attention_values<K, V, Head>> const*>(nullptr)));

/// The queries' dimensions with the values' last in place of Head.
template <class Q, class K, class V, class Head>
struct attention_result {
  static constexpr sharding make() {
    sharding s = Q::spec;
    s[s.find(Head::id)] = attention_values<K, V, Head>::out[0];
    return s;
  }
  static constexpr sharding out = make();
};
template <class Q, class K, class V, class Head>
using attention_result_t = shape_of_rule<dims_of<Q, V>, attention_result<Q, K, V, Head>>;

/// What keys and values must look like: keys have no dimension that queries lack, values have theirs; but in place of
/// Head values may have a dimension of their own.
template <class Q, class K, class V, class Query, class Key, class Head>
struct attention_shapes {
  using expected = attention_dims_t<Q, K, any_of_shapes<shape<Query>>, Key>;
  using of_keys = attention_dims_t<K, K, any_of_shapes<shape<Key>>, Key>;
  static constexpr bool has_all() {
    for (int d = 0; d < K::spec.ndim; ++d)
      if (K::spec[d].id == Query::id || (K::spec[d].id != Key::id && !Q::spec.has(K::spec[d].id))) return false;
    return true;
  }
  static constexpr bool alike() {
    for (int d = 0; d < K::spec.ndim; ++d)
      if (K::spec[d].id != Head::id && !V::spec.has(K::spec[d].id)) return false;
    return V::spec.ndim == K::spec.ndim &&
           (V::spec.has(Head::id) || !Q::spec.has(attention_values<K, V, Head>::out[0].id));
  }
  using type =
      std::conditional_t<!has_all(), error_shapes_differ<typename K::shape_type, expected>,
                         std::conditional_t<alike(), ok, error_shapes_differ<typename V::shape_type, of_keys>>>;
};

/// Head last: rows of it are what products of blocks are made of.
template <class Head, class X>
constexpr auto head_last(X const& x) {
  using D = typename X::description;
  using order = attention_dims_t<D, D, any_of_shapes<shape<Head>>, Head>;
  return transposed(static_cast<order const*>(nullptr), x);
}

template <class Query, class Key, class Head>
struct attention_call {
  visible seen;
  double scale;

  /// l: the lengths, if there are.
  template <class Q, class K, class V, class... L>
  static auto verdict() {
    using names = first_failed_t<shape_verdict_t<Query, Key, Head>, named_dims_t<typename Q::shape_type, Query, Head>,
                                 named_dims_t<typename K::shape_type, Key, Head>,
                                 named_dims_t<typename V::shape_type, Key>, same_element_t<Q, K, V>, floating_t<Q>>;
    if constexpr (!names::value)
      return names{};
    else
      return first_failed_t<typename attention_shapes<Q, K, V, Query, Key, Head>::type,
                            lengths_t<L, attention_dims_t<Q, Q, any_of_shapes<shape<Query, Head>>>>...>{};
  }
  static constexpr char const* name = "attention";
  /// Whether Head is split, or what values have in its place.
  static constexpr bool splits_rows(sharding const& k, sharding const& v) {
    bool any = k[k.find(Head::id)].split.size > 0;
    for (int d = 0; d < v.ndim; ++d) any = any || (!k.has(v[d].id) && v[d].split.size > 0);
    return any;
  }

  template <class Q, class K, class V, class... L>
  constexpr auto operator()(Q const& q, K const& k, V const& v, L const&... l) const {
    return by_splits(*this, q, k, v, l...);
  }
  template <class Q, class K, class V, class... L>
  constexpr auto by_products(Q const& q, K const& k, V const& v, L const&... l) const {
    return products([&](auto const& scores,
                        auto const&... lengths) { return masked_softmax<Query, Key>(scores, seen, lengths..., scale); },
                    q, k, v, l...);
  }
  template <class Q, class K, class V, class... L>
  constexpr auto fused(Q const& q, K const& k, V const& v, L const&... l) const {
    using T = typename Q::element_type;
    return run_fused<attention_rule<Query, Key>>(
        attention_operation<T, 3 + sizeof...(L)>{nullptr, static_cast<compute_t<T>>(scale), seen}, q, k, v, l...);
  }

 protected:
  /// What `of` does where the operands are split so.
  template <class Of, class Q, class K, class V, class... L>
  static constexpr auto by_splits(Of const& of, Q const& q, K const& k, V const& v, L const&... l) {
    if constexpr (by_value<Q>) {
      if (splits_sequences(q.where().spec, k.where().spec, v.where().spec)) return of.by_products(q, k, v, l...);
      return of.fused(q, k, v, l...);
    } else if constexpr (splits_sequences(Q::spec, K::spec, V::spec)) {
      return of.by_products(q, k, v, l...);
    } else {
      return of.fused(q, k, v, l...);
    }
  }
  static constexpr bool splits_sequences(sharding const& q, sharding const& k, sharding const& v) {
    return splits_rows(k, v) || q[q.find(Query::id)].split.size + k[k.find(Key::id)].split.size > 0;
  }
  /// weights_of(products, l...)
  template <class Q, class K, class V, class WeightsOf, class... L>
  static constexpr auto products(WeightsOf const& weights_of, Q const& q, K const& k, V const& v, L const&... l) {
    using A = typename Q::description;
    using B = typename K::description;
    using scores = attention_dims_t<A, B, any_of_shapes<shape<Query, Head>>, Query, Key>;
    using out = attention_result_t<A, B, typename V::description, Head>;
    auto const a = complete(q);
    auto const b = complete(k);
    auto const c = complete(v);
    std::tuple const reduced{complete(l)...};
    return std::apply(
        [&](auto const&... more) {
          return einsum_all<out>(name, weights_of(einsum_all<scores>(name, a, b), more...), c);
        },
        reduced);
  }
  template <class Rule, class Operation, class Q, class K, class V, class... L>
  static constexpr auto run_fused(Operation const& o, Q const& q, K const& k, V const& v, L const&... l) {
    using D = attention_values_t<typename K::description, typename V::description, Head>;
    auto const a = head_last<Head>(q);
    auto const b = head_last<Head>(k);
    auto const c = head_last<D>(v);
    using A = typename decltype(a)::description;
    using B = typename decltype(b)::description;
    using C = typename decltype(c)::description;
    auto const run = [&]<class Out>(std::type_identity<Out>) { return run_as<Out, Rule>(o, a, b, c, l...); };
    using out = attention_result_t<typename Q::description, typename K::description, typename V::description, Head>;
    if constexpr (std::is_same_v<D, Head>)
      return transposed(static_cast<out const*>(nullptr),
                        run(std::type_identity<reshaped<A, typename A::shape_type, 0>>{}));
    else
      return transposed(static_cast<out const*>(nullptr),
                        run(std::type_identity<
                            description_of<typename Q::element_type, Rule, A, B, C, typename L::description...>>{}));
  }
};

}  // namespace mtf::detail
