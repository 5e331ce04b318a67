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

template <class Whole>
struct ring_work : Whole {  // its shape: that of one rank's keys
  int query = 0, key = 0;   // dimensions of q and k
  axis_list ring{};         // axes round which keys and values go: they split what the queries have
  axis_mask merged = 0;     // axes that split the keys alone
  loops<5> merging;         // operands (the result, it again, a part of it, two numbers a query)
  loops<4> terms;           // the same without the part
  loops<2> of_rows;         // operands (one number a query: in attention's order, in that of q)
};

template <class Whole>
constexpr ring_work<Whole> derive_ring(mesh_shape const& mesh, std::uint64_t query, std::uint64_t key,
                                       Whole const& of) {
  ring_work<Whole> w;
  static_cast<Whole&>(w) = of;
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

template <class T, std::size_t N = 3, class More = plain_attention<N>>
struct ring_operation {
  using A = compute_t<T>;
  ring_work<typename More::work> const* work;
  A scale;
  visible seen;
  [[no_unique_address]] More more{};
  static constexpr std::size_t kept = 2 + N;  // as attention's; the largest score and the sum are those of all keys
  static constexpr std::size_t bias = 5 + (More::lengths ? 1 : 0);  // of what is kept
  static constexpr char const* name() { return "attention"; }

  constexpr void forward(auto& f) const {
    using memory = std::remove_cvref_t<decltype(f.out)>;
    auto const& w = *work;
    auto const here = ring_here(f);
    bool const some = has_some(here);
    index const rows = row_count(), size = w.out.local_size(f.mesh());
    memory left, wide, part, of_part;
    T* const y = f.y();
    auto const statistics = make_buffer<A>(f.backend, 2 * rows);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      f.kept = {f.memory(), f.template memory<1>(),       f.template memory<2>(), f.out,
                statistics, f.template memory<3 + I>()...};
    }(std::make_index_sequence<N - 3>{});
    if constexpr (More::lengths) {
      f.kept[5] = make_buffer<std::int32_t>(f.backend, w.shape.batch.size());
      f.run(primitives::copy<std::int32_t, std::int32_t>{w.of_lengths, data_of<std::int32_t>(f.kept[5]),
                                                         f.template x<3>()});
      left = make_buffer<std::int32_t>(f.backend, w.shape.batch.size());
    }
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
      f.run(primitives::attention<T>{shape_of(f, here, step, left), scale, to, of_max, of_sum, f.x(), k, v,
                                     of_bias(f, here, step), some});
      if (merges) {
        merge(f, all, to, max, sum, of_max, of_sum, data_of<A>(of_part, 2 * rows), data_of<A>(of_part, 3 * rows));
      } else if constexpr (!std::is_same_v<A, T>) {
        if (some) f.run(primitives::copy<A, T>{row_of(size), all, y});
      }
    });
    if (w.merged != 0) merge_ranks(f, all, max, sum);
    if constexpr (!std::is_same_v<A, T>)
      if (some) f.run(primitives::copy<T, A>{row_of(size), y, all});
  }

  constexpr void backward(auto& g) const {
    using memory = std::remove_cvref_t<decltype(g.g.memory)>;
    auto const& w = *work;
    auto const& kept = g.kept;
    auto const here = ring_here(g);
    index const size = w.in[0].local_size(g.mesh());
    T *const dq = g.dx(), *const dk = g.template dx<1>(), *const dv = g.template dx<2>();
    memory left, dots, part, wide;
    if constexpr (More::lengths) left = make_buffer<std::int32_t>(g.backend, w.shape.batch.size());
    if (has_some(here)) dots = dots_of(g);
    A* all = nullptr;  // dq so far
    if constexpr (std::is_same_v<A, T>)
      all = dq;
    else if (here.steps() > 0)
      all = data_of<A>(wide = make_buffer<A>(g.backend, size));
    if (here.steps() > 0) part = make_buffer<T>(g.backend, size);
    auto to_bias = bias_gradient(g, here);
    auto const one = [&](int step, T const* k, T const* v, T* to_k, T* to_v) {
      T* const to = step == 0 ? dq : data_of<T>(part);
      auto const s = shape_of(g, here, step, left);
      differentiate(g, s, dots, to, to_k, to_v, k, v, of_bias(g, here, step));
      differentiate_bias(g, s, dots, to_bias, k, v, here, step);
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
  constexpr attention_shape shape_of(auto& pass, ring_of const& here, int step,
                                     [[maybe_unused]] Memory const& left) const {
    auto s = work->shape;
    s.keys = here.keys(step);
    s.seen = here.seen(step);
    if (s.keys == 0) s.keys = 1, s.seen = visible::window(0);
    if constexpr (More::lengths) {
      s.lengths = data_of<std::int32_t>(left);
      pass.run(primitives::map_of(ring_left{static_cast<std::int32_t>(here.first_key(step))},
                                  rows_of<2>(s.batch.size()), data_of<std::int32_t>(left),
                                  static_cast<std::int32_t const*>(data_of<std::int32_t>(pass.kept[5]))));
    }
    more.say(s, *work, pass.mesh(), pass.rank(), pass.kept, here.first_key(step));
    return s;
  }
  /// The bias, or its gradient, from a step's keys on.
  [[nodiscard]] constexpr index first_of_bias(ring_of const& here, int step) const {
    if constexpr (More::bias)
      return More::keys_before(*work, bias - 2, here.first_key(step)) * work->shape.bias_key;
    else
      return 0;
  }
  [[nodiscard]] constexpr T const* of_bias([[maybe_unused]] auto const& pass, ring_of const& here, int step) const {
    if constexpr (More::bias)
      return data_of<T>(pass.kept[bias], first_of_bias(here, step));
    else
      return nullptr;
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
        {.outer = n, .n = work->shape.values}, data_of<A>(in_order), data_of<T>(g.kept[3]), g.dy()});
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
                               T const* v, T const* b) const {
    auto const& kept = g.kept;
    g.run(primitives::attention_vjp<T>{s, scale, dq, dk, dv, data_of<T>(kept[0]), k, v, data_of<T>(kept[3]),
                                       data_of<A>(kept[4]), data_of<A>(kept[4], row_count()), g.dy(), b,
                                       numbers_of(dots)});
  }
  template <class Memory>
  static constexpr A const* numbers_of(Memory const& m) {
    return m ? data_of<A>(m) : nullptr;
  }
  /// The bias' gradient is that of some keys after the other: beside each other, or, where the bias is the same for all
  /// keys, in a sum.
  template <class Memory>
  struct of_bias_gradient {
    bool wanted = false;
    Memory all{}, part{};  // the part is another where keys add up
  };
  constexpr auto bias_gradient(auto& g, ring_of const& here) const {
    using memory = std::remove_cvref_t<decltype(g.g.memory)>;
    of_bias_gradient<memory> to;
    if constexpr (More::bias)
      if ((to.wanted = g.template wants<bias - 2>())) {
        index const n = work->in[bias - 2].local_size(g.mesh());
        to.all = make_buffer<T>(g.backend, n);
        g.run(primitives::fill<T>{data_of<T>(to.all), n, T(0)});
        if (here.steps() > 0 && work->shape.bias_key == 0) to.part = make_buffer<T>(g.backend, n);
        g.template set_dx<bias - 2>(to.all);
      }
    return to;
  }
  template <class Memory>
  constexpr void differentiate_bias([[maybe_unused]] auto& g, [[maybe_unused]] attention_shape const& s,
                                    [[maybe_unused]] Memory const& dots,
                                    [[maybe_unused]] of_bias_gradient<Memory> const& to, [[maybe_unused]] T const* k,
                                    [[maybe_unused]] T const* v, [[maybe_unused]] ring_of const& here,
                                    [[maybe_unused]] int step) const {
    if constexpr (More::bias) {
      if (!to.wanted) return;
      auto const& kept = g.kept;
      bool const adds = step > 0 && to.part;
      g.run(primitives::attention_bias_vjp<T>{s, scale, data_of<T>(adds ? to.part : to.all, first_of_bias(here, step)),
                                              data_of<T>(kept[0]), k, v, data_of<T>(kept[3]), data_of<A>(kept[4]),
                                              data_of<A>(kept[4], row_count()), g.dy(), of_bias(g, here, step),
                                              numbers_of(dots)});
      if (adds)
        g.run(primitives::add<T>{work->in[bias - 2].local_size(g.mesh()), data_of<T>(to.all),
                                 static_cast<T const*>(data_of<T>(to.part))});
    }
  }
};

/// As `Whole`, the rule of attention of whole sequences, but for what is split.
template <class Whole, class Query, class Key, class Head>
struct ring_rule {
  static constexpr bool takes_pads = true;
  /// Where heads are whole, keys and values may be split by what the queries are split by: these go by. What else has
  /// keys is split as they are, or not.
  template <class... More>
  static constexpr finding wrong(sharding const& q, sharding k, sharding v, More... more) {
    auto const of_keys = k[k.find(Key::id)].split;
    if (!attention_call<Query, Key, Head>::splits_rows(k, v) && of_keys == v[v.find(Key::id)].split) {
      auto const goes_by = [&](sharding& s) {
        if (int const d = s.find(Key::id); d >= 0 && s[d].split == of_keys) s[d].split = {};
      };
      goes_by(k);
      goes_by(v);
      (goes_by(more), ...);
    }
    return merge_operands<3 + sizeof...(More)>({q, k, v, more...}, linearity::none).wrong;
  }
  static constexpr auto derive(mesh_shape const& mesh, auto const&... in) {
    return derive_ring(mesh, Query::id, Key::id, Whole::derive(mesh, in...));
  }
};

template <class Query, class Key, class Head>
struct ring_call : attention_call<Query, Key, Head> {
  using whole = attention_call<Query, Key, Head>;

  template <class... X>
  static constexpr finding wrong(X const&... in) {
    return ring_rule<attention_rule<Query, Key>, Query, Key, Head>::wrong(in...);
  }
  template <class Q, class K, class V, class... L>
  constexpr auto operator()(Q const& q, K const& k, V const& v, L const&... l) const {
    return by_splits(*this, q, k, v, l...);
  }
  template <class Q, class K, class V, class... L>
  constexpr auto in_parts(Q const& q, K const& k, V const& v, L const&... l) const {
    using T = typename Q::element_type;
    return run_in_parts<attention_rule<Query, Key>>(
        ring_operation<T, 3 + sizeof...(L)>{nullptr, static_cast<compute_t<T>>(this->scale), this->seen}, q, k, v,
        l...);
  }

 protected:
  template <class Of, class Q, class K, class V, class... L>
  static constexpr auto by_splits(Of const& of, Q const& q, K const& k, V const& v, L const&... l) {
    if constexpr (by_value<Q>) {
      if (meets_parts(q.where().spec, k.where().spec, v.where().spec)) return of.in_parts(q, k, v, l...);
      return whole::by_splits(of, q, k, v, l...);
    } else if constexpr (meets_parts(Q::spec, K::spec, V::spec)) {
      return of.in_parts(q, k, v, l...);
    } else {
      return whole::by_splits(of, q, k, v, l...);
    }
  }
  template <class Whole, class Operation, class Q, class K, class V, class... L>
  static constexpr auto run_in_parts(Operation const& o, Q const& q, K const& k, V const& v, L const&... l) {
    using rule = ring_rule<Whole, Query, Key, Head>;
    using D = attention_values_t<typename K::description, typename V::description, Head>;
    auto const a = head_last<Head>(q);
    auto const b = head_last<Head>(k);
    auto const c = head_last<D>(v);
    using out = description_of<typename Q::element_type, rule, typename decltype(a)::description,
                               typename decltype(b)::description, typename decltype(c)::description,
                               typename L::description...>;
    using dims = attention_result_t<typename Q::description, typename K::description, typename V::description, Head>;
    return transposed(static_cast<dims const*>(nullptr), run_as<out, rule>(o, a, b, c, l...));
  }
  /// Whether keys go round: an axis that splits them splits something that the queries have.
  static constexpr bool go_round(sharding const& q, sharding const& k) {
    return (k[k.find(Key::id)].split.mask() & q.split_axes()) != 0;
  }

 private:
  static constexpr bool meets_parts(sharding const& q, sharding const& k, sharding const& v) {
    return !whole::splits_rows(k, v) && whole::splits_sequences(q, k, v);
  }
};

}  // namespace detail

}  // namespace mtf
