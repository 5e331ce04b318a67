#pragma once
// Attention of sequences that are split, without stored scores: keys and values go round a ring of ranks (Liu et al.
// 2023), or each rank's results of its own keys are merged.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/attention.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/ring.hpp>
#include <mtf/detail/ops/softmax_parts.hpp>
#include <mtf/ops/nn/whole_attention.hpp>

namespace mtf {

namespace detail {

template <std::size_t N>
struct ring_work : attention_work<N> {  // its shape: that of one rank's keys
  int query = 0, key = 0;               // dimensions of q and k
  axis_list ring{};                     // axes round which keys and values go: they split what the queries have
  axis_mask merged = 0;                 // axes that split the keys alone
  loops<5> merging;                     // operands (the result, it again, a part of it, two numbers a query)
  loops<4> terms;                       // the same without the part
  loops<2> of_rows;                     // operands (one number a query: in attention's order, in that of q)
};

template <std::size_t N>
constexpr ring_work<N> derive_ring(mesh_shape const& mesh, std::uint64_t query, std::uint64_t key,
                                   attention_work<N> const& of) {
  ring_work<N> w;
  static_cast<attention_work<N>&>(w) = of;
  auto const &q = w.in[0], &k = w.in[1];
  w.query = q.find(query);
  w.key = k.find(key);
  axis_mask const of_keys = k[w.key].split.mask(), of_queries = q.split_axes();
  for (int i = 0; i < k[w.key].split.size; ++i)
    if (int const axis = k[w.key].split[i]; (of_queries >> static_cast<unsigned>(axis) & 1U) != 0) w.ring.push(axis);
  w.merged = of_keys & ~of_queries;
  w.out.partial = w.merged;
  w.gradient_may_be_partial &= ~of_keys;
  w.gradient_sums[0] = w.merged;
  for (std::size_t i = 1; i < 3; ++i) w.gradient_sums[i] &= ~of_keys;
  auto& s = w.shape;
  s.queries = q.local_extent(w.query, mesh);

  auto& l = w.merging;
  auto const push = [&](index extent, index in_q, index in_rows) {
    auto const at = static_cast<std::size_t>(l.ndim++);
    l.extent[at] = extent;
    for (std::size_t o = 0; o < 5; ++o) l.stride[o][at] = o < 3 ? in_q : in_rows;
  };
  index dense = s.queries * s.batch.size();
  for (int d = 0; d < s.batch.ndim; ++d) {
    auto const at = static_cast<std::size_t>(d);
    push(s.batch.extent[at], s.batch.stride[of_out][at], dense /= s.batch.extent[at]);
  }
  push(s.queries, s.out_row, 1);
  w.of_rows = {.ndim = l.ndim, .extent = l.extent, .stride = {l.stride[3], l.stride[0]}};
  for (auto& stride : w.of_rows.stride[1]) stride /= s.values;
  w.of_rows = collapsed(w.of_rows);
  push(s.values, 1, 0);
  l = collapsed(l);
  w.terms = {.ndim = l.ndim, .extent = l.extent, .stride = {l.stride[0], l.stride[1], l.stride[3], l.stride[4]}};
  return w;
}

/// Of a length, what is left of it from a position on.
struct ring_left {
  std::int32_t begin;
  template <class I>
  MTF_FUNCTION constexpr I operator()(I length) const {
    return length < begin ? I(0) : length - begin;
  }
};

template <class T, std::size_t N = 3>
struct ring_operation {
  using A = compute_t<T>;
  ring_work<N> const* work;
  A scale;
  visible seen;
  static constexpr std::size_t kept = 2 + N;  // as attention's; the largest score and the sum are those of all keys
  static constexpr char const* name() { return "attention"; }

  constexpr void forward(auto& f) const {
    using memory = std::remove_cvref_t<decltype(f.out)>;
    auto const& w = *work;
    auto const here = ring_here(f);
    bool const some = has_some(here);
    index const rows = row_count(), size = w.in[0].local_size(f.mesh());
    memory lengths, left, wide, part, of_part;
    if constexpr (N > 3) {
      auto* const to = data_of<std::int32_t>(lengths = make_buffer<std::int32_t>(f.backend, w.shape.batch.size()));
      f.run(primitives::copy<std::int32_t, std::int32_t>{w.of_lengths, to, f.template x<3>()});
      left = make_buffer<std::int32_t>(f.backend, w.shape.batch.size());
    }
    T* const y = f.y();
    auto const statistics = make_buffer<A>(f.backend, 2 * rows);
    A *const max = data_of<A>(statistics), *const sum = data_of<A>(statistics, rows);
    A* all = nullptr;  // the result so far, in what is computed in
    if constexpr (std::is_same_v<A, T>)
      all = y;
    else if (some)
      all = data_of<A>(wide = make_buffer<A>(f.backend, size));
    if (here.steps() > 0) {
      part = make_buffer<T>(f.backend, size);
      of_part = make_buffer<A>(f.backend, 4 * rows);
    }
    bool begun = false;
    rounds(f, here, {f.template memory<1>(), f.template memory<2>()}, [&](int step, T const* k, T const* v) {
      // Somebody must say that there is nothing.
      if (!here.meets(step) && (begun || step < here.steps())) return;
      bool const merges = std::exchange(begun, true);
      T* const to = merges ? data_of<T>(part) : y;
      A *const of_max = merges ? data_of<A>(of_part) : max, *const of_sum = merges ? data_of<A>(of_part, rows) : sum;
      f.run(primitives::attention<T>{shape_of(f, here, step, lengths, left), scale, to, of_max, of_sum, f.x(), k, v,
                                     nullptr, some});
      if (merges) {
        merge(f, all, to, max, sum, of_max, of_sum, data_of<A>(of_part, 2 * rows), data_of<A>(of_part, 3 * rows));
      } else if constexpr (!std::is_same_v<A, T>) {
        if (some) f.run(primitives::copy<A, T>{row_of(size), all, y});
      }
    });
    if (w.merged != 0) merge_ranks(f, all, max, sum);
    if constexpr (!std::is_same_v<A, T>)
      if (some) f.run(primitives::copy<T, A>{row_of(size), y, all});
    f.kept = {f.memory(), f.template memory<1>(), f.template memory<2>(), f.out, statistics};
    if constexpr (N > 3) f.kept[5] = lengths;
  }

  constexpr void backward(auto& g) const {
    using memory = std::remove_cvref_t<decltype(g.g.memory)>;
    auto const& w = *work;
    auto const& kept = g.kept;
    auto const here = ring_here(g);
    index const size = w.in[0].local_size(g.mesh());
    T *const dq = g.dx(), *const dk = g.template dx<1>(), *const dv = g.template dx<2>();
    memory lengths, left, dots, part, wide;
    if constexpr (N > 3) {
      lengths = kept[5];
      left = make_buffer<std::int32_t>(g.backend, w.shape.batch.size());
    }
    if (has_some(here)) dots = dots_of(g);
    A* all = nullptr;  // dq so far
    if constexpr (std::is_same_v<A, T>)
      all = dq;
    else if (here.steps() > 0)
      all = data_of<A>(wide = make_buffer<A>(g.backend, size));
    if (here.steps() > 0) part = make_buffer<T>(g.backend, size);
    auto const one = [&](int step, T const* k, T const* v, T* to_k, T* to_v) {
      T* const to = step == 0 ? dq : data_of<T>(part);
      differentiate(g, shape_of(g, here, step, lengths, left), dots, to, to_k, to_v, k, v);
      if (step > 0)
        g.run(primitives::add<A, T>{size, all, to});
      else if constexpr (!std::is_same_v<A, T>)
        if (here.steps() > 0) g.run(primitives::copy<A, T>{row_of(size), all, dq});
    };
    // Gradients of keys go with them, from the first rank that they come to; the last sends them home.
    auto way = way_of(g);
    rounds(g, here, {kept[1], kept[2]}, [&](int step, T const* k, T const* v) {
      if (step == 0) return one(step, k, v, dk, dv);
      bool const meets = here.meets(step), last = step == here.steps();
      auto mine = way.fresh();
      if (meets) one(step, k, v, mine.keys(), mine.values());
      if (step > 1) {
        auto const before = way.arrived();
        if (meets) way.add(before.keys(), before.values(), mine);
        mine = before;
      }
      int const to = here.neighbour(last ? -step : 1), from = here.neighbour(last ? step : -1);
      auto const sender = here.of(from);
      way.send(mine, goes<decltype(g)>(here.touched(step)) ? to : collective::nobody,
               goes<decltype(g)>(sender.touched(step)) ? from : collective::nobody);
    });
    if (here.steps() > 0) way.add(dk, dv, way.arrived());
    if constexpr (!std::is_same_v<A, T>)
      if (here.steps() > 0) g.run(primitives::copy<T, A>{row_of(size), dq, all});
  }

 private:
  template <class Pass>
  using backend_of = std::remove_cvref_t<decltype(std::declval<Pass&>().backend)>;

  [[nodiscard]] constexpr index row_count() const { return work->shape.batch.size() * work->shape.queries; }
  static constexpr loops<2> row_of(index n) { return {.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}}; }
  template <int Operands>
  static constexpr loops<Operands> rows_of(index n) {
    loops<Operands> l{.ndim = 1, .extent = {n}, .stride = {}};
    for (auto& stride : l.stride) stride[0] = 1;
    return l;
  }
  /// A plan asks how much is sent at most.
  template <class Pass>
  static constexpr bool goes(bool needed) {
    return needed || !backend_of<Pass>::holds_data;
  }
  /// Whether a query's keys are met some by some.
  [[nodiscard]] constexpr bool has_some(ring_of const& r) const { return r.steps() > 0 || work->merged != 0; }
  template <class Pass>
  [[nodiscard]] constexpr auto way_of(Pass& pass) const {
    return ring_way<T, backend_of<Pass>>(pass.backend, work->ring.mask(),
                                         {work->in[1].local_size(pass.mesh()), work->in[2].local_size(pass.mesh())});
  }
  template <class Pass>
  [[nodiscard]] constexpr ring_of ring_here(Pass const& pass) const {
    auto const& w = *work;
    ring_of const r(w.in[0], w.query, w.in[1], w.key, w.ring, seen, pass.mesh(), pass.rank());
    if constexpr (backend_of<Pass const>::holds_data)
      return r;
    else
      return r.busiest();
  }
  /// body(step, keys, values): the next ones are on their way meanwhile.
  template <class Pass, class Body>
  constexpr void rounds(Pass& pass, ring_of const& here, ring_pair<T, backend_of<Pass>> now, Body const& body) const {
    auto way = way_of(pass);
    for (int step = 0; step < here.steps(); ++step) {
      int const next = here.neighbour(1);
      way.send(now, goes<Pass>(here.of(next).wanted(step + 1)) ? next : collective::nobody,
               goes<Pass>(here.wanted(step + 1)) ? here.neighbour(-1) : collective::nobody);
      body(step, now.keys(), now.values());
      now = way.arrived();
    }
    body(here.steps(), now.keys(), now.values());
  }
  /// The keys that a rank has in a step.
  template <class Memory>
  constexpr attention_shape shape_of(auto& pass, ring_of const& here, int step, [[maybe_unused]] Memory const& lengths,
                                     [[maybe_unused]] Memory const& left) const {
    auto s = work->shape;
    s.keys = here.keys(step);
    s.seen = here.seen(step);
    if (s.keys == 0) s.keys = 1, s.seen = visible::window(0);
    if constexpr (N > 3) {
      s.lengths = data_of<std::int32_t>(left);
      pass.run(primitives::map_of(ring_left{static_cast<std::int32_t>(here.first_key(step))},
                                  rows_of<2>(s.batch.size()), data_of<std::int32_t>(left),
                                  static_cast<std::int32_t const*>(data_of<std::int32_t>(lengths))));
    }
    return s;
  }
  /// Adds to the result so far that of other keys.
  constexpr void merge(auto& f, A* all, T const* part, A* max, A* sum, A const* of_max, A const* of_sum, A* mine,
                       A* its) const {
    auto const read = [](A const* x) { return x; };
    auto const three = rows_of<4>(row_count());
    auto const two = rows_of<3>(row_count());
    f.run(primitives::map_of(part_sum{}, three, mine, read(max), read(sum), of_max));
    f.run(primitives::map_of(part_sum{}, three, its, of_max, of_sum, read(max)));
    f.run(primitives::map_of(part_plus{}, two, sum, read(mine), read(its)));
    f.run(primitives::map_of(part_larger{}, two, max, read(max), of_max));
    f.run(primitives::map_of(part_share{}, two, mine, read(mine), read(sum)));
    f.run(primitives::map_of(part_share{}, two, its, read(its), read(sum)));
    f.run(primitives::map_of(part_merged{}, work->merging, all, read(all), part, read(mine), read(its)));
  }
  /// From the results of the rank's keys to the rank's terms of that of all, and what is kept of all.
  constexpr void merge_ranks(auto& f, A* all, A* max, A* sum) const {
    index const n = row_count();
    auto const memory = make_buffer<A>(f.backend, 2 * n);
    A *const largest = data_of<A>(memory), *const mine = data_of<A>(memory, n);
    auto const read = [](A const* x) { return x; };
    auto const reduce = [&](combine how, A const* in, A* out) {
      f.backend.communicate(collective::all_reduce(work->merged, how, element_of<A>, static_cast<std::size_t>(n)), in,
                            out);
    };
    reduce(combine::max, max, largest);
    f.run(primitives::map_of(part_sum{}, rows_of<4>(n), mine, read(max), read(sum), read(largest)));
    reduce(combine::sum, mine, sum);
    f.run(primitives::map_of(part_share{}, rows_of<3>(n), mine, read(mine), read(sum)));
    f.run(primitives::map_of(part_term{}, work->terms, all, read(all), read(mine), read(sum)));
    f.run(primitives::copy<A, A>{row_of(n), max, largest});
  }
  /// Of each query the sum of weights times their gradients, over all keys.
  constexpr auto dots_of(auto& g) const {
    index const n = row_count();
    auto dots = make_buffer<A>(g.backend, n);
    auto const in_order = make_buffer<A>(g.backend, n);
    g.run(primitives::row_dot<T>{
        {.outer = n, .n = work->shape.head}, data_of<A>(in_order), data_of<T>(g.kept[3]), g.dy()});
    g.run(primitives::copy<A, A>{work->of_rows, data_of<A>(dots), data_of<A>(in_order)});
    if (work->merged != 0)
      g.backend.communicate(
          collective::all_reduce(work->merged, combine::sum, element_of<A>, static_cast<std::size_t>(n)),
          data_of<A>(dots), data_of<A>(dots));
    return dots;
  }
  /// What some keys contribute to the gradients.
  template <class Memory>
  constexpr void differentiate(auto& g, attention_shape const& s, Memory const& dots, T* dq, T* dk, T* dv, T const* k,
                               T const* v) const {
    auto const& kept = g.kept;
    A const* dot = nullptr;
    if (dots) dot = data_of<A>(dots);
    g.run(primitives::attention_vjp<T>{s, scale, dq, dk, dv, data_of<T>(kept[0]), k, v, data_of<T>(kept[3]),
                                       data_of<A>(kept[4]), data_of<A>(kept[4], row_count()), g.dy(), nullptr, dot});
  }
};

template <class Query, class Key, class Head>
struct ring_rule {
  static constexpr bool takes_pads = true;
  /// Where heads are whole, keys and values may be split by what the queries are split by: these go by.
  template <class... More>
  static constexpr finding wrong(sharding const& q, sharding k, sharding v, More const&... more) {
    auto &of_k = k.dim[k.find(Key::id)].split, &of_v = v.dim[v.find(Key::id)].split;
    if (q[q.find(Head::id)].split.size == 0 && of_k == of_v) of_k = of_v = {};
    return merge_operands<3 + sizeof...(More)>({q, k, v, more...}, linearity::none).wrong;
  }
  static constexpr auto derive(mesh_shape const& mesh, auto const&... in) {
    return derive_ring(mesh, Query::id, Key::id,
                       derive_attention<(sizeof...(in) > 3)>(mesh, Query::id, Key::id, in...));
  }
};

template <class Query, class Key, class Head>
struct ring_call : attention_call<Query, Key, Head> {
  using rule = ring_rule<Query, Key, Head>;
  template <class... X>
  static constexpr finding wrong(X const&... in) {
    return rule::wrong(in...);
  }
  template <class Q, class K, class V, class... L>
  constexpr auto operator()(Q const& q, K const& k, V const& v, L const&... l) const {
    using whole = attention_call<Query, Key, Head>;
    if constexpr (by_value<Q>) {
      if (is_for(q.where().spec, k.where().spec)) return go(q, k, v, l...);
      return whole::operator()(q, k, v, l...);
    } else if constexpr (is_for(Q::spec, K::spec)) {
      return go(q, k, v, l...);
    } else {
      return whole::operator()(q, k, v, l...);
    }
  }

 private:
  static constexpr bool is_for(sharding const& q, sharding const& k) {
    return q[q.find(Head::id)].split.size == 0 && q[q.find(Query::id)].split.size + k[k.find(Key::id)].split.size > 0;
  }
  template <class Q, class K, class V, class... L>
  constexpr auto go(Q const& q, K const& k, V const& v, L const&... l) const {
    auto const a = head_last<Head>(q);
    auto const b = head_last<Head>(k);
    auto const c = head_last<Head>(v);
    using T = typename Q::element_type;
    using out = description_of<T, rule, typename decltype(a)::description, typename decltype(b)::description,
                               typename decltype(c)::description, typename L::description...>;
    return transposed(
        static_cast<typename Q::shape_type const*>(nullptr),
        run_as<out, rule>(
            ring_operation<T, 3 + sizeof...(L)>{nullptr, static_cast<compute_t<T>>(this->scale), this->seen}, a, b, c,
            l...));
  }
};

/// Whether sequences are split, or may be, where layouts are values; of values that are as wide as keys.
template <class Query, class Key, class Head, class Q, class K, class V>
constexpr bool may_split_sequences() {
  if constexpr (!tensor_type<Q> || !tensor_type<K> || !tensor_type<V>) {
    return false;
  } else if constexpr (!V::shape_type::template has<Head>) {
    return false;
  } else if constexpr (by_value<Q>) {
    return true;
  } else {
    int const d = Q::spec.find(Query::id), e = K::spec.find(Key::id);
    return (d >= 0 && Q::spec[d].split.size > 0) || (e >= 0 && K::spec[e].split.size > 0);
  }
}

}  // namespace detail

}  // namespace mtf
