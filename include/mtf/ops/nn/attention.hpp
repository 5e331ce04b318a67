#pragma once
// Attention as one operation. Where a rank has whole sequences it keeps no scores, and computes none of keys that are
// hidden; where they are split it is the products and the softmax that it means.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/attention.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/reduction/masked_softmax.hpp>

namespace mtf {

namespace detail {

template <std::size_t N>
struct attention_work : operation_work<N> {  // rows of Head, which is their last dimension
  attention_shape shape;
  loops<2> of_lengths;  // operands (one number for each of the batch, the lengths)
  // Where several queries' heads have one of the keys and values: these for each of them, as the backward pass has
  // them.
  bool shared = false;
  attention_shape repeated;
  index repeated_size = 0;
  std::array<loops<2>, 2> repeat;  // operands (repeated, keys or values)
  std::array<reduction, 2> sum;    // of the repeated ones
};

/// more: the lengths.
constexpr auto derive_attention(mesh_shape const& mesh, std::uint64_t query, std::uint64_t key, sharding const& q,
                                sharding const& k, sharding const& v, auto const&... more) {
  attention_work<3 + sizeof...(more)> w;
  w.in = {q, k, v, more...};
  w.out = q;
  w.out.partial = 0;
  w.complete = {q.partial, k.partial, v.partial, more.partial...};
  w.gradient_may_be_partial = ~q.split_axes();
  w.gradient_sums[1] = axes_of_others(k, q);
  w.gradient_sums[2] = axes_of_others(v, q);
  auto const shape_of = [&](sharding const& keys, sharding const& values) {
    attention_shape s;
    for (int d = 0; d + 1 < q.ndim; ++d) {
      if (q[d].id == query) continue;
      auto const at = static_cast<std::size_t>(s.batch.ndim++);
      auto const stride_in = [&](sharding const& x) {
        int const e = x.find(q[d].id);
        return e < 0 ? index{0} : x.local_stride(e, mesh);
      };
      s.batch.extent[at] = q.local_extent(d, mesh);
      s.batch.stride[0][at] = q.local_stride(d, mesh);
      s.batch.stride[1][at] = stride_in(keys);
      s.batch.stride[2][at] = stride_in(values);
    }
    s.batch = collapsed(s.batch);
    // Neither is split where this work is done: pads come last.
    s.queries = q[q.find(query)].logical();
    s.keys = keys[keys.find(key)].logical();
    s.head = q.local_extent(q.ndim - 1, mesh);
    s.q_row = q.local_stride(q.find(query), mesh);
    s.k_row = keys.local_stride(keys.find(key), mesh);
    s.v_row = values.local_stride(values.find(key), mesh);
    return s;
  };
  w.shape = shape_of(k, v);
  w.shared = k.ndim < q.ndim;
  if (w.shared) {
    sharding each;
    for (int d = 0; d + 1 < q.ndim; ++d)
      if (q[d].id != query) each.push(q[d]);
    each.push(k[k.find(key)]);
    each.push(q[q.ndim - 1]);
    w.repeated = shape_of(each, each);
    w.repeated_size = each.local_size(mesh);
    w.repeat = {aligned<1>(mesh, each, {k}), aligned<1>(mesh, each, {v})};
    w.sum = {reduction_to(mesh, k, each), reduction_to(mesh, v, each)};
  }
  if constexpr (sizeof...(more) > 0) {
    auto batch = without<2>(q, {query, q[q.ndim - 1].id}, 2);
    batch.partial = 0;
    w.of_lengths = aligned<1>(mesh, batch, {more...});
  }
  return w;
}

template <class T, std::size_t N = 3>
struct attention_operation {
  using A = compute_t<T>;
  attention_work<N> const* work;
  A scale;
  visible seen;
  // q, k, v, the result, each query's largest score and sum of exponentials; lengths, if there are
  static constexpr std::size_t kept = 2 + N;
  static constexpr char const* name() { return "attention"; }

  constexpr void forward(auto& f) const {
    auto s = with_seen(work->shape);
    std::remove_cvref_t<decltype(f.out)> lengths;
    if constexpr (N > 3) {
      auto* const to = data_of<std::int32_t>(lengths = make_buffer<std::int32_t>(f.backend, s.batch.size()));
      f.run(primitives::copy<std::int32_t, std::int32_t>{work->of_lengths, to, f.template x<3>()});
      s.lengths = to;
    }
    T* const y = f.y();
    auto const rows = s.batch.size() * s.queries;
    auto statistics = make_buffer<A>(f.backend, 2 * rows);
    f.run(primitives::attention<T>{s, scale, y, data_of<A>(statistics), data_of<A>(statistics, rows), f.x(),
                                   f.template x<1>(), f.template x<2>()});
    f.kept = {f.memory(), f.template memory<1>(), f.template memory<2>(), f.out, statistics};
    if constexpr (N > 3) f.kept[5] = lengths;
  }
  constexpr void backward(auto& g) const {
    T *const dq = g.dx(), *const dk = g.template dx<1>(), *const dv = g.template dx<2>();
    auto const& kept = g.kept;
    auto s = with_seen(work->shared ? work->repeated : work->shape);
    if constexpr (N > 3) s.lengths = data_of<std::int32_t>(kept[5]);
    auto const run = [&](T* dk_of, T* dv_of, T const* k, T const* v) {
      g.run(primitives::attention_vjp<T>{s, scale, dq, dk_of, dv_of, data_of<T>(kept[0]), k, v, data_of<T>(kept[3]),
                                         data_of<A>(kept[4]), data_of<A>(kept[4], s.batch.size() * s.queries), g.dy()});
    };
    T const *const k = data_of<T>(kept[1]), *const v = data_of<T>(kept[2]);
    if (!work->shared) {
      run(dk, dv, k, v);
      return;
    }
    auto const n = work->repeated_size;
    auto const keys = make_buffer<T>(g.backend, n), values = make_buffer<T>(g.backend, n);
    auto const dkeys = make_buffer<T>(g.backend, n), dvalues = make_buffer<T>(g.backend, n);
    g.run(primitives::copy<T, T>{work->repeat[0], data_of<T>(keys), k});
    g.run(primitives::copy<T, T>{work->repeat[1], data_of<T>(values), v});
    run(data_of<T>(dkeys), data_of<T>(dvalues), data_of<T>(keys), data_of<T>(values));
    g.run(primitives::reduce<T>{combine::sum, work->sum[0], dk, data_of<T>(dkeys)});
    g.run(primitives::reduce<T>{combine::sum, work->sum[1], dv, data_of<T>(dvalues)});
  }

 private:
  /// The rank has whole sequences: positions in the shard are those of the tensor.
  [[nodiscard]] constexpr attention_shape with_seen(attention_shape s) const {
    s.seen = seen;
    return s;
  }
};

template <class Query, class Key>
struct attention_rule {
  static constexpr bool takes_pads = true;
  static constexpr auto derive(mesh_shape const& mesh, auto const&... in) {
    return derive_attention(mesh, Query::id, Key::id, in...);
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

/// What keys and values must look like: keys have no dimension that queries lack, values have theirs.
template <class Q, class K, class V, class Query, class Key>
struct attention_shapes {
  using expected = attention_dims_t<Q, K, any_of_shapes<shape<Query>>, Key>;
  using of_keys = attention_dims_t<K, K, any_of_shapes<shape<Key>>, Key>;
  static constexpr bool has_all() {
    for (int d = 0; d < K::spec.ndim; ++d)
      if (K::spec[d].id == Query::id || (K::spec[d].id != Key::id && !Q::spec.has(K::spec[d].id))) return false;
    return true;
  }
  using type = std::conditional_t<
      !has_all(), error_shapes_differ<typename K::shape_type, expected>,
      std::conditional_t<same_dims(V::spec, K::spec), ok, error_shapes_differ<typename V::shape_type, of_keys>>>;
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
    using names =
        first_failed_t<shape_verdict_t<Query, Key, Head>, named_dims_t<typename Q::shape_type, Query, Head>,
                       named_dims_t<typename K::shape_type, Key, Head>, named_dims_t<typename V::shape_type, Key, Head>,
                       same_element_t<Q, K, V>, floating_t<Q>>;
    if constexpr (!names::value)
      return names{};
    else
      return first_failed_t<typename attention_shapes<Q, K, V, Query, Key>::type,
                            lengths_t<L, attention_dims_t<Q, Q, any_of_shapes<shape<Query, Head>>>>...>{};
  }
  static constexpr char const* name = "attention";

  template <class Q, class K, class V, class... L>
  constexpr auto operator()(Q const& q, K const& k, V const& v, L const&... l) const {
    if constexpr (by_value<Q>) {
      if (splits_sequences(q.where().spec, k.where().spec)) return by_products(q, k, v, l...);
      return fused(q, k, v, l...);
    } else if constexpr (splits_sequences(Q::spec, K::spec)) {
      return by_products(q, k, v, l...);
    } else {
      return fused(q, k, v, l...);
    }
  }

 private:
  static constexpr bool splits_sequences(sharding const& q, sharding const& k) {
    auto const split = [](sharding const& s, std::uint64_t id) { return s[s.find(id)].split.size > 0; };
    return split(q, Query::id) || split(k, Key::id) || split(k, Head::id);
  }
  template <class Q, class K, class V, class... L>
  constexpr auto by_products(Q const& q, K const& k, V const& v, L const&... l) const {
    using scores = attention_dims_t<typename Q::description, typename K::description, any_of_shapes<shape<Query, Head>>,
                                    Query, Key>;
    auto const a = complete(q);
    auto const b = complete(k);
    auto const c = complete(v);
    auto const weighted = [&](auto const&... lengths) {
      return einsum_all<typename Q::shape_type>(
          name, masked_softmax<Query, Key>(einsum_all<scores>(name, a, b), seen, lengths..., scale), c);
    };
    return weighted(complete(l)...);
  }
  template <class Q, class K, class V, class... L>
  constexpr auto fused(Q const& q, K const& k, V const& v, L const&... l) const {
    auto const a = head_last<Head>(q);
    auto const b = head_last<Head>(k);
    auto const c = head_last<Head>(v);
    using A = typename decltype(a)::description;
    using T = typename Q::element_type;
    using out = reshaped<A, typename A::shape_type, 0>;
    return transposed(
        static_cast<typename Q::shape_type const*>(nullptr),
        run_as<out, attention_rule<Query, Key>>(
            attention_operation<T, 3 + sizeof...(L)>{nullptr, static_cast<compute_t<T>>(scale), seen}, a, b, c, l...));
  }
};

}  // namespace detail

/// The sum over Key of softmax(scale q . k) v, the softmax over the keys that `seen` shows the query (Vaswani et al.
/// 2017, 3.2.1; Dao et al. 2022); 0 where it shows none, with no gradient. q has Query and Head, k and v have Key and
/// Head; their other dimensions are the same, or q has more, such as several heads for one of keys and values (Ainslie
/// et al. 2023), which are not copied; only the backward pass has them for each of q's. The result has q's dimensions
/// in q's order. Partial operands are reduced first. Where none of the three dimensions is split: nothing is sent,
/// nothing of the size of Query x Key is stored, blocks of keys that are hidden are not computed, two numbers a row are
/// kept for the backward pass. Else it is einsum, masked_softmax and einsum, with what they send. What is hidden is
/// multiplied by 0, so it must be finite. Refused: operands with other dimensions, split differently, of different
/// element types.
template <dimension Query, dimension Key, dimension Head, operand Q, operand K, operand V>
constexpr auto attention(Q const& q, K const& k, V const& v, visible const& seen, double scale) {
  return detail::operate(detail::attention_call<Query, Key, Head>{seen, scale}, q, k, v);
}

/// The same of sequences of several lengths: of the keys only those at positions below `lengths` are visible, a tensor
/// of int32 over some of the dimensions that queries and keys have in common. Refused: lengths of another type, over
/// other dimensions.
template <dimension Query, dimension Key, dimension Head, operand Q, operand K, operand V, operand Lengths>
constexpr auto attention(Q const& q, K const& k, V const& v, visible const& seen, Lengths const& lengths,
                         double scale) {
  return detail::operate(detail::attention_call<Query, Key, Head>{seen, scale}, q, k, v, lengths);
}

}  // namespace mtf
