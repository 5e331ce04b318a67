#pragma once
// Attention on devices: the products that it is made of, and what is done to the elements of the scores, which lie
// dense, [batch, query, key].
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/work.hpp>
#include <mtf/kokkos/attention/places.hpp>
#include <mtf/kokkos/attention/score_blocks.hpp>
#include <mtf/kokkos/kernels/random.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf::kokkos {

/// A product, of operands that begin at these elements.
struct product_at {
  contraction what;
  index a = 0, b = 0, c = 0;
};

/// The products that attention is made of. Each is of keys, of_k, with queries, or of values, of_v, with what the
/// results have; of a block of queries and keys.
struct attention_products {
  attention_shape of;

  [[nodiscard]] index rows() const { return of.batch.size() * of.queries; }
  [[nodiscard]] visible_rows seen() const {
    return {.seen = of.seen, .queries = of.queries, .lengths = of.lengths, .rows_a_length = of.queries};
  }
  /// scores = a b^T: of queries and keys, or of the result's gradient and values.
  [[nodiscard]] product_at scores(std::size_t b, score_block const& in) const {
    return {{.batch = batch({beside(b), b, dense}, of.queries * of.keys),
             .m = in.query_end - in.query,
             .n = in.key_end - in.key,
             .k = width(b),
             .a_m = row(beside(b)),
             .a_k = 1,
             .b_k = 1,
             .b_n = row(b),
             .c_m = of.keys,
             .c_n = 1},
            in.query * row(beside(b)),
            in.key * row(b),
            in.query * of.keys + in.key};
  }
  /// scores b; the result has the strides of what is beside b.
  [[nodiscard]] product_at weighted(std::size_t b, score_block const& in) const {
    return {{.batch = batch({dense, b, beside(b)}, of.queries * of.keys),
             .m = in.query_end - in.query,
             .n = width(b),
             .k = in.key_end - in.key,
             .a_m = of.keys,
             .a_k = 1,
             .b_k = row(b),
             .b_n = 1,
             .c_m = row(beside(b)),
             .c_n = 1},
            in.query * of.keys + in.key,
            in.key * row(b),
            in.query * row(beside(b))};
  }
  /// scores^T b, where b is what is beside c, and the result has the strides of operand c.
  [[nodiscard]] product_at transposed_weighted(std::size_t c, score_block const& in) const {
    return {{.batch = batch({dense, beside(c), c}, of.queries * of.keys),
             .m = in.key_end - in.key,
             .n = width(c),
             .k = in.query_end - in.query,
             .a_m = 1,
             .a_k = of.keys,
             .b_k = row(beside(c)),
             .b_n = 1,
             .c_m = row(c),
             .c_n = 1},
            in.query * of.keys + in.key,
            in.query * row(beside(c)),
            in.key * row(c)};
  }
  /// The same for each of the batch, as dense rows, and what they are summed to where several share what c is.
  [[nodiscard]] product_at apart(std::size_t c, score_block const& in) const {
    auto to = transposed_weighted(c, in);
    to.what.batch.stride[2] = batch({dense, dense, dense}, of.keys * width(c)).stride[0];
    to.what.c_m = width(c);
    to.c = in.key * width(c);
    return to;
  }
  [[nodiscard]] reduction joined(std::size_t c) const {
    return sums(c, of.keys * width(c), {{{of.keys, row(c), width(c)}, {width(c), 1, 1}}});
  }
  /// Over what the bias lacks, of the gradients of scores.
  [[nodiscard]] reduction of_the_bias() const {
    return sums(of_bias, of.queries * of.keys, {{{of.queries, of.bias_query, of.keys}, {of.keys, of.bias_key, 1}}});
  }
  [[nodiscard]] bool shares_keys() const {
    for (int d = 0; d < of.batch.ndim; ++d)
      if (auto const at = static_cast<std::size_t>(d); of.batch.extent[at] > 1 && of.batch.stride[of_k][at] == 0)
        return true;
    return false;
  }

 private:
  static constexpr std::size_t dense = ~std::size_t{0};
  struct loop {
    index extent, to, from;  // strides
  };

  [[nodiscard]] static std::size_t beside(std::size_t b) { return b == of_v ? of_out : of_q; }
  [[nodiscard]] index width(std::size_t b) const { return b == of_v ? of.values : of.head; }
  [[nodiscard]] index row(std::size_t operand) const {
    return operand == of_q ? of.q_row : operand == of_k ? of.k_row : operand == of_v ? of.v_row : of.out_row;
  }
  /// Batch loops of three operands; `dense`: as blocks of so many elements, one after the other.
  [[nodiscard]] loops<3> batch(std::array<std::size_t, 3> const& operand, index block) const {
    loops<3> l{.ndim = of.batch.ndim, .extent = of.batch.extent, .stride = {}};
    for (int d = l.ndim - 1; d >= 0; --d) {
      auto const at = static_cast<std::size_t>(d);
      for (std::size_t o = 0; o < 3; ++o)
        l.stride[o][at] = operand[o] == dense ? block : of.batch.stride[operand[o]][at];
      block *= l.extent[at];
    }
    return l;
  }
  /// Sums to an operand of what lies dense, of the batch and the loops within; over loops where it stands still.
  [[nodiscard]] reduction sums(std::size_t operand, index block, std::array<loop, 2> const& within) const {
    reduction r;
    auto const add = [&](loop const& l) {
      if (l.to == 0) {
        auto const at = static_cast<std::size_t>(r.reduced.ndim++);
        r.reduced.extent[at] = l.extent;
        r.reduced.stride[0][at] = l.from;
      } else {
        auto const at = static_cast<std::size_t>(r.kept.ndim++);
        r.kept.extent[at] = l.extent;
        r.kept.stride[0][at] = l.to;
        r.kept.stride[1][at] = l.from;
      }
    };
    auto const from = batch({dense, dense, dense}, block);
    for (int d = 0; d < of.batch.ndim; ++d) {
      auto const at = static_cast<std::size_t>(d);
      add({of.batch.extent[at], of.batch.stride[operand][at], from.stride[0][at]});
    }
    for (auto const& l : within) add(l);
    return {collapsed(r.kept), collapsed(r.reduced)};
  }
};

/// What is done to an element of the scores. (Names no dimension, and goes to the device as it is.)
template <class T>
struct attention_elements {
  using A = compute_t<T>;
  nest<9> batch;
  index queries, keys;
  A scale, cap;
  T const* bias;  // null: none
  index bias_query, bias_key;
  std::int32_t const *query_ids, *key_ids;
  index query_ids_step, key_ids_step;
  std::uint64_t drop_key;
  std::uint32_t threshold;
  A kept;
  index first_weight, weights_row;

  attention_elements(attention_shape const& s, A by, T const* b)
      : batch(attention_nest(s.batch)),
        queries(s.queries),
        keys(s.keys),
        scale(by),
        cap(static_cast<A>(s.soft_cap)),
        bias(s.biased ? b : nullptr),
        bias_query(s.bias_query),
        bias_key(s.bias_key),
        query_ids(s.query_ids),
        key_ids(s.key_ids),
        query_ids_step(s.query_ids_step),
        key_ids_step(s.key_ids_step),
        drop_key(s.drop_key),
        threshold(dropout_rate(s.dropped).threshold),
        kept(static_cast<A>(dropout_rate(s.dropped).factor)),
        first_weight(s.first_weight),
        weights_row(s.weights_row) {}

  struct element {
    index query, key;
    attention_places at;
  };
  [[nodiscard]] KOKKOS_FUNCTION element find(index e) const {
    element x;
    x.key = e % keys;
    x.query = e / keys % queries;
    batch.locate(e / keys / queries, x.at);
    return x;
  }
  [[nodiscard]] KOKKOS_FUNCTION bool of_one_id(element const& x) const {
    return query_ids == nullptr ||
           query_ids[x.at[of_query_ids] + x.query * query_ids_step] == key_ids[x.at[of_key_ids] + x.key * key_ids_step];
  }
  [[nodiscard]] KOKKOS_FUNCTION A score(element const& x, A product) const {
    A s = scale * product;
    if (cap != A(0)) s = cap * fast_tanh(scale / cap * product);
    if (bias != nullptr) s += load(bias[x.at[of_bias] + x.query * bias_query + x.key * bias_key]);
    return s;
  }
  [[nodiscard]] KOKKOS_FUNCTION A slope(A product) const {
    if (cap == A(0)) return scale;
    A const t = fast_tanh(scale / cap * product);
    return scale * (A(1) - t * t);
  }
  /// By what dropout multiplies a weight.
  [[nodiscard]] KOKKOS_FUNCTION A dropped(element const& x) const {
    index const g = first_weight + x.at[of_weights] + x.query * weights_row + x.key;
    return dropout_half(drop_key, g) >= threshold ? kept : A(0);
  }
};

/// Products to scores, in place: -infinity where the ids are not one.
template <class T>
struct attention_scores {
  attention_elements<T> of;
  T* s;
  KOKKOS_FUNCTION void operator()(index e) const {
    auto const x = of.find(e);
    s[e] = convert<T>(of.of_one_id(x) ? of.score(x, load(s[e])) : max_op::neutral<compute_t<T>>());
  }
};
/// Weights of which those of other ids are 0: in a row without any of its own they are no numbers.
template <class T>
struct attention_own_weights {
  attention_elements<T> of;
  T* s;
  KOKKOS_FUNCTION void operator()(index e) const {
    if (!of.of_one_id(of.find(e))) s[e] = T(0);
  }
};
/// to = from, with dropout.
template <class T>
struct attention_dropped {
  attention_elements<T> of;
  T* to;
  T const* from;
  KOKKOS_FUNCTION void operator()(index e) const { to[e] = convert<T>(load(from[e]) * of.dropped(of.find(e))); }
};
/// Gradients of scores to those of products, which are given.
template <class T>
struct attention_slopes {
  using A = compute_t<T>;
  attention_elements<T> of;
  T* gradient;
  T const* products;
  /// (What is hidden has no product.)
  KOKKOS_FUNCTION void operator()(index e) const {
    A const g = load(gradient[e]);
    if (g != A(0)) gradient[e] = convert<T>(g * of.slope(load(products[e])));
  }
};

}  // namespace mtf::kokkos
