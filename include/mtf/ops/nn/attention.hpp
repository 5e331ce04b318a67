#pragma once
// Attention of a decoder as one operation. Where a rank has whole sequences it keeps no scores, and computes none that
// the mask hides; where they are cut it is the products and the softmax that it means.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/attention.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/reduction/softmax.hpp>

namespace mtf {

namespace detail {

struct attention_work {
  sharding q, k, v;  // rows of Head, which is their last dimension
  sharding out;
  attention_shape shape;
};

constexpr attention_work derive_attention(mesh_shape const& mesh, sharding const& q, sharding const& k,
                                          sharding const& v, std::uint64_t query, std::uint64_t key) {
  attention_work w;
  w.q = q;
  w.k = k;
  w.v = v;
  w.out = q;
  w.out.partial = 0;
  auto& s = w.shape;
  for (int d = 0; d + 1 < q.rank; ++d) {
    if (q[d].id == query) continue;
    auto const at = static_cast<std::size_t>(s.batch.rank++);
    s.batch.extent[at] = q.local_extent(d, mesh);
    s.batch.stride[0][at] = q.local_stride(d, mesh);
    s.batch.stride[1][at] = k.local_stride(k.find(q[d].id), mesh);
    s.batch.stride[2][at] = v.local_stride(v.find(q[d].id), mesh);
  }
  s.batch = collapsed(s.batch);
  s.queries = q.local_extent(q.find(query), mesh);
  s.keys = k.local_extent(k.find(key), mesh);
  s.head = q.local_extent(q.rank - 1, mesh);
  s.q_row = q.local_stride(q.find(query), mesh);
  s.k_row = k.local_stride(k.find(key), mesh);
  s.v_row = v.local_stride(v.find(key), mesh);
  return w;
}

template <class Backend, class T>
class attention_node {
 public:
  using A = compute_t<T>;
  constexpr attention_node(attention_work const& w, A scale, value<Backend, T> const& q, value<Backend, T> const& k,
                           value<Backend, T> const& v, buffer<Backend> const& seen, buffer<Backend> const& lse,
                           ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), scale_(scale), q_(q), k_(k), v_(v), seen_(seen), lse_(lse), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "causal_attention", w_->out);
    auto const g = out_->take(~w_->out.cut_axes());
    if (!g.memory) return;
    auto const& mesh = b.ranks().mesh();
    auto dq = make_buffer<T>(b, w_->q.local_size(mesh)), dk = make_buffer<T>(b, w_->k.local_size(mesh)),
         dv = make_buffer<T>(b, w_->v.local_size(mesh));
    b.run(primitives::attention_vjp<T>{w_->shape, scale_, data_of<T>(dq), data_of<T>(dk), data_of<T>(dv), q_.data(),
                                       k_.data(), v_.data(), data_of<T>(seen_), data_of<A>(lse_),
                                       data_of<T>(g.memory)});
    if (q_.slot) q_.slot->add({std::move(dq), g.partial});
    if (k_.slot) k_.slot->add({std::move(dk), g.partial});
    if (v_.slot) v_.slot->add({std::move(dv), g.partial});
  }

 private:
  attention_work const* w_;
  A scale_;
  value<Backend, T> q_, k_, v_;
  buffer<Backend> seen_, lse_;
  ref<gradient_slot<Backend, T>> out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_attention(attention_work const& w, compute_t<T> scale, value<Backend, T> const& queries,
                                          value<Backend, T> const& keys, value<Backend, T> const& values) {
  using A = compute_t<T>;
  Backend& b = queries.backend();
  operation<Backend> const here(b, "causal_attention", w.out);
  auto const q = completed_value(queries, w.q, w.q.partial);
  auto const k = completed_value(keys, w.k, w.k.partial);
  auto const v = completed_value(values, w.v, w.v.partial);
  auto out = make_value<T>(b, w.out.local_size(b.ranks().mesh()));
  auto lse = make_buffer<A>(b, w.shape.batch.size() * w.shape.queries);
  b.run(primitives::attention<T>{w.shape, scale, out.data(), data_of<A>(lse), q.data(), k.data(), v.data()});
  record(tape_of(q, k, v), out, w.out,
         [&](auto const& slot) { return attention_node<Backend, T>(w, scale, q, k, v, out.memory, lse, slot); });
  return out;
}

template <class Q, class K, class V, class Query, class Key>
struct attention_rule {
  static constexpr attention_work work = derive_attention(Q::mesh, Q::spec, K::spec, V::spec, Query::id, Key::id);
  static constexpr sharding out = work.out;
};

/// Dimensions that the operands of an attention have in common: those of the queries without some, then others.
template <class Q, class K, class Without, class... Then>
struct attention_dims {
  static constexpr sharding make() {
    sharding s;
    for (int d = 0; d < Q::spec.rank; ++d)
      if (!Without::has_id(Q::spec[d].id)) s.push(Q::spec[d]);
    (s.push(Q::spec.has(Then::id) ? Q::spec[Q::spec.find(Then::id)] : K::spec[K::spec.find(Then::id)]), ...);
    return s;
  }
  static constexpr sharding out = make();
};
template <class Q, class K, class Without, class... Then>
using attention_dims_t = shape_of_rule<dims_of<Q, K>, attention_dims<Q, K, Without, Then...>>;

/// What keys and values must look like.
template <class Q, class K, class V, class Query, class Key>
struct attention_shapes {
  using rule = attention_dims<Q, K, any_of_shapes<shape<Query>>, Key>;
  using expected = attention_dims_t<Q, K, any_of_shapes<shape<Query>>, Key>;
  using type = std::conditional_t<
      !same_dims(K::spec, rule::out), error_shapes_differ<typename K::shape_type, expected>,
      std::conditional_t<same_dims(V::spec, rule::out), ok, error_shapes_differ<typename V::shape_type, expected>>>;
};

/// Head last: rows of it are what products of blocks are made of.
template <class Head, class X>
constexpr auto head_last(X const& x) {
  using D = typename X::description;
  using order = attention_dims_t<D, D, any_of_shapes<shape<Head>>, Head>;
  return transposed(static_cast<order const*>(nullptr), x);
}

template <class Query, class Key, class Head, class Q, class K, class V>
constexpr auto attend(Q const& q, K const& k, V const& v, double scale) {
  constexpr auto cut = [](sharding const& s, std::uint64_t id) { return s[s.find(id)].cut.size > 0; };
  if constexpr (cut(Q::spec, Query::id) || cut(K::spec, Key::id) || cut(K::spec, Head::id)) {
    using scores = attention_dims_t<typename Q::description, typename K::description, any_of_shapes<shape<Query, Head>>,
                                    Query, Key>;
    auto const a = complete(q);
    auto const b = complete(k);
    auto const c = complete(v);
    return einsum_all<typename Q::shape_type>(causal_softmax<Query, Key>(einsum_all<scores>(a, b), scale), c);
  } else {
    auto const a = head_last<Head>(q);
    auto const b = head_last<Head>(k);
    auto const c = head_last<Head>(v);
    using A = std::remove_cvref_t<decltype(a)>;
    using rule = attention_rule<typename A::description, typename decltype(b)::description,
                                typename decltype(c)::description, Query, Key>;
    using out = result_t<typename Q::element_type, rule, A>;
    return transposed(
        static_cast<typename Q::shape_type const*>(nullptr),
        out(run_attention(rule::work, static_cast<compute_of_t<Q>>(scale), a.value(), b.value(), c.value())));
  }
}

}  // namespace detail

/// The sum over Key of softmax(scale q . k) v, the softmax over the keys whose position does not exceed the query's
/// (Vaswani et al. 2017, 3.2.1; Dao et al. 2022). q has Query and Head, k and v have Key and Head; their other
/// dimensions are the same. The result has q's dimensions in q's order. Partial operands are completed. Where none of
/// the three dimensions is cut: nothing is sent, nothing of the size of Query x Key is stored, one number a row is kept
/// for the backward pass. Else it is einsum, causal_softmax and einsum, with what they send. What the mask hides is
/// multiplied by 0, so it must be finite. Refused: operands with other dimensions, cut differently, of different
/// element types.
template <dimension Query, dimension Key, dimension Head, operand Q, operand K, operand V>
constexpr auto causal_attention(Q const& q, K const& k, V const& v, double scale) {
  if constexpr (detail::any_refused<Q, K, V>) {
    return refused{};
  } else {
    using verdict1 =
        detail::first_failed_t<shape_verdict_t<Query, Key, Head>,
                               detail::named_dims_t<typename Q::shape_type, Query, Head>,
                               detail::named_dims_t<typename K::shape_type, Key, Head>,
                               detail::named_dims_t<typename V::shape_type, Key, Head>, detail::same_mesh_t<Q, K, V>,
                               detail::same_element_t<Q, K, V>, detail::floating_t<Q>>;
    if constexpr (!verdict1::value) {
      detail::require<verdict1>{};
      return refused{};
    } else {
      using verdict2 = detail::first_failed_t<
          typename detail::attention_shapes<typename Q::description, typename K::description, typename V::description,
                                            Query, Key>::type,
          detail::operands_verdict_t<
              detail::operands_together<typename Q::description, typename K::description, typename V::description>, Q,
              K, V>>;
      if constexpr (!verdict2::value) {
        detail::require<verdict2>{};
        return refused{};
      } else {
        return detail::attend<Query, Key, Head>(q, k, v, scale);
      }
    }
  }
}

}  // namespace mtf
