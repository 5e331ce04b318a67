#pragma once
// Attention of sequences that are split, without stored scores: keys and values go round a ring of ranks (Liu et al.
// 2023), or each rank's results of its own keys are merged.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/attention.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/ring.hpp>
#include <mtf/detail/ops/softmax_parts.hpp>
#include <mtf/ops/nn/ring_work.hpp>
#include <mtf/ops/nn/whole_attention.hpp>

namespace mtf::detail {

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
    index const rows = row_count(here), size = w.out.local_size(f.mesh());
    memory left, wide, part, of_part;
    T* const y = f.y();
    auto const statistics = make_buffer<A>(f.backend, 2 * rows * here.pieces());
    memory queries = f.memory();
    if (here.pieces() > 1) {
      queries = copy_of<T>(queries, w.in[0].local_size(f.mesh()));
      exchange(f, here, w.packed_q, data_of<T>(queries, second_of_q(here)));
    }
    keep_for_gradients<More, N>(f, queries, statistics, w);
    if constexpr (More::lengths) left = make_buffer<std::int32_t>(f.backend, w.shape.batch.size());
    A* all = nullptr;  // the result so far, in what is computed in
    if constexpr (std::is_same_v<A, T>)
      all = y;
    else if (some)
      all = data_of<A>(wide = make_buffer<A>(f.backend, size));
    if (here.steps() > 0) {
      part = make_buffer<T>(f.backend, size);
      of_part = make_buffer<A>(f.backend, 4 * rows);
    }
    std::array<char, 2> begun{};  // nvcc 13.0 writes another type for bool here, and does not compile it
    rounds(f, here, {f.template memory<1>(), f.template memory<2>()}, [&](int step, T const* k, T const* v) {
      for (int piece = 0; piece < here.pieces(); ++piece) {
        // Somebody must say that there is nothing.
        char& has_begun = begun[static_cast<std::size_t>(piece)];
        if (!here.meets(step, piece) && (has_begun != 0 || step < here.steps())) continue;
        bool const merges = std::exchange(has_begun, char{1}) != 0;
        index const at = piece * second_of_out(here);
        A *const max = data_of<A>(statistics, 2 * rows * piece), *const sum = moved(max, rows);
        T* const to = merges ? data_of<T>(part, at) : moved(y, at);
        A *const of_max = merges ? data_of<A>(of_part) : max, *const of_sum = merges ? data_of<A>(of_part, rows) : sum;
        f.run(primitives::attention<T>{shape_of(f, here, step, piece, left), scale, to, of_max, of_sum,
                                       data_of<T>(queries, piece * second_of_q(here)), k, v, of_bias(f, here, step),
                                       some});
        if (merges) {
          merge(f, rows_of(here), moved(all, at), to, max, sum, of_max, of_sum, data_of<A>(of_part, 2 * rows),
                data_of<A>(of_part, 3 * rows));
        } else if constexpr (!std::is_same_v<A, T>) {
          if (some) f.run(primitives::copy<A, T>{rows_of(here).of_out, moved(all, at), moved(y, at)});
        }
      }
    });
    if (w.merged != 0) merge_ranks(f, all, data_of<A>(statistics), data_of<A>(statistics, rows));
    if constexpr (!std::is_same_v<A, T>)
      if (some) f.run(primitives::copy<T, A>{row_of(size), y, all});
    if (here.pieces() > 1) exchange(f, here, w.packed_out, moved(y, second_of_out(here)));
  }

  constexpr void backward(auto& g) const {
    using memory = std::remove_cvref_t<decltype(g.g.memory)>;
    auto const& w = *work;
    auto const& kept = g.kept;
    auto const here = ring_here(g);
    index const size = w.in[0].local_size(g.mesh());
    T *const dq = g.dx(), *const dk = g.template dx<1>(), *const dv = g.template dx<2>();
    memory left, dots, part, wide, gradients;
    if constexpr (More::lengths) left = make_buffer<std::int32_t>(g.backend, w.shape.batch.size());
    if (has_some(here)) dots = dots_of(g, here);
    T const* dy = g.dy();
    if (here.pieces() > 1) {
      gradients = make_buffer<T>(g.backend, w.out.local_size(g.mesh()));
      g.run(primitives::copy<T, T>{row_of(w.out.local_size(g.mesh())), data_of<T>(gradients), dy});
      exchange(g, here, w.packed_out, data_of<T>(gradients, second_of_out(here)));
      dy = data_of<T>(gradients);
    }
    A* all = nullptr;  // dq so far
    if constexpr (std::is_same_v<A, T>)
      all = dq;
    else if (here.steps() > 0)
      all = data_of<A>(wide = make_buffer<A>(g.backend, size));
    if (here.steps() > 0) part = make_buffer<T>(g.backend, size);
    auto to_bias = bias_gradient(g, here);
    auto way = way_of(g);
    auto const one = [&](int step, T const* k, T const* v, T* to_k, T* to_v) {
      bool begun = false;
      decltype(way.fresh()) adds;  // as a plan has it: whether a rank needs it or not
      if (here.pieces() > 1) adds = way.fresh();
      for (int piece = 0; piece < here.pieces(); ++piece) {
        if (step > 0 && !here.meets(step, piece)) continue;
        index const at = piece * second_of_q(here);
        T* const to = step == 0 ? moved(dq, at) : data_of<T>(part, at);
        auto const s = shape_of(g, here, step, piece, left);
        bool const again = std::exchange(begun, true);
        differentiate(g, s, here, piece, dots, to, again ? adds.keys() : to_k, again ? adds.values() : to_v, k, v, dy,
                      of_bias(g, here, step));
        if (again) way.add(to_k, to_v, adds);
        differentiate_bias(g, s, dots, to_bias, k, v, here, step);
        if (step > 0)
          g.run(primitives::map_of(part_plus{}, rows_of(here).of_q, moved(all, at),
                                   static_cast<A const*>(moved(all, at)), static_cast<T const*>(to)));
      }
      if constexpr (!std::is_same_v<A, T>)
        if (step == 0 && here.steps() > 0) g.run(primitives::copy<A, T>{row_of(size), all, dq});
    };
    // Gradients of keys go with them, from the first rank that they come to; the last sends them home.
    rounds(g, here, {kept[1], kept[2]}, [&](int step, T const* k, T const* v) {
      if (step == 0) return one(step, k, v, dk, dv);
      bool const meets = here.meets(step), last = step == here.steps();
      auto mine = way.fresh();
      one(step, k, v, mine.keys(), mine.values());
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
    if (here.pieces() > 1) exchange(g, here, w.packed_q, moved(dq, second_of_q(here)));
  }

 private:
  template <class Pass>
  using backend_of = std::remove_cvref_t<decltype(std::declval<Pass&>().backend)>;

  /// Of one piece of the queries.
  [[nodiscard]] constexpr ring_rows const& rows_of(ring_of const& here) const {
    return here.pieces() > 1 ? work->half : work->all;
  }
  [[nodiscard]] constexpr index row_count(ring_of const& here) const {
    return work->shape.batch.size() * rows_of(here).queries;
  }
  /// Where the second half of the queries, and of their results, begins.
  [[nodiscard]] constexpr index second_of_q(ring_of const& here) const {
    return rows_of(here).queries * work->shape.q_row;
  }
  [[nodiscard]] constexpr index second_of_out(ring_of const& here) const {
    return rows_of(here).queries * work->shape.out_row;
  }
  template <class X>
  constexpr void exchange(auto& pass, ring_of const& here, loops<2> const& half, X* second) const {
    exchange_halves(pass.backend, here, work->ring.mask(), half, second);
  }
  static constexpr loops<2> row_of(index n) { return {.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}}; }
  template <int Operands>
  static constexpr loops<Operands> row_of_each(index n) {
    loops<Operands> l{.ndim = 1, .extent = {n}, .stride = {}};
    for (auto& stride : l.stride) stride[0] = 1;
    return l;
  }
  /// A plan asks how much is sent at most.
  template <class Pass>
  static constexpr bool goes(bool needed) {
    return needed || !backend_of<Pass>::holds_data;
  }
  /// Whether a query's keys are met some by some, or its result is not where it is worked on.
  [[nodiscard]] constexpr bool has_some(ring_of const& r) const {
    return r.steps() > 0 || r.pieces() > 1 || work->merged != 0;
  }
  template <class Pass>
  [[nodiscard]] constexpr auto way_of(Pass& pass) const {
    return ring_way<T, backend_of<Pass>>(pass.backend, work->ring.mask(),
                                         {work->in[1].local_size(pass.mesh()), work->in[2].local_size(pass.mesh())});
  }
  template <class Pass>
  [[nodiscard]] constexpr ring_of ring_here(Pass const& pass) const {
    auto const& w = *work;
    ring_of const r(w.in[0], w.query, w.in[1], w.key, w.ring, seen, pass.mesh(), pass.rank(),
                    !More::of_queries && w.half.queries > 0);
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
  /// A piece of the queries, and the keys that the rank has in a step.
  template <class Memory>
  constexpr attention_shape shape_of(auto& pass, ring_of const& here, int step, int piece,
                                     [[maybe_unused]] Memory const& left) const {
    auto s = work->shape;
    s.queries = here.queries();
    s.keys = here.keys(step);
    s.seen = here.seen(step, piece);
    if (s.keys == 0) s.keys = 1, s.seen = visible::window(0);
    if constexpr (More::lengths) {
      s.lengths = data_of<std::int32_t>(left);
      pass.run(primitives::map_of(ring_left{static_cast<std::int32_t>(here.first_key(step))},
                                  row_of_each<2>(s.batch.size()), data_of<std::int32_t>(left),
                                  static_cast<std::int32_t const*>(data_of<std::int32_t>(pass.kept[5]))));
    }
    more.say(s, *work, pass.mesh(), here.owner(piece), pass.kept, here.first_query(piece), here.first_key(step));
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
  constexpr void merge(auto& f, ring_rows const& rows, A* all, T const* part, A* max, A* sum, A const* of_max,
                       A const* of_sum, A* mine, A* its) const {
    auto const read = [](A const* x) { return x; };
    index const n = work->shape.batch.size() * rows.queries;
    auto const three = row_of_each<4>(n);
    auto const two = row_of_each<3>(n);
    f.run(primitives::map_of(part_sum{}, three, mine, read(max), read(sum), of_max));
    f.run(primitives::map_of(part_sum{}, three, its, of_max, of_sum, read(max)));
    f.run(primitives::map_of(part_plus{}, two, sum, read(mine), read(its)));
    f.run(primitives::map_of(part_larger{}, two, max, read(max), of_max));
    f.run(primitives::map_of(part_share{}, two, mine, read(mine), read(sum)));
    f.run(primitives::map_of(part_share{}, two, its, read(its), read(sum)));
    f.run(primitives::map_of(part_merged{}, rows.merging, all, read(all), part, read(mine), read(its)));
  }
  /// From the results of the rank's keys to the rank's terms of that of all, and what is kept of all.
  constexpr void merge_ranks(auto& f, A* all, A* max, A* sum) const {
    index const n = work->shape.batch.size() * work->all.queries;
    auto const memory = make_buffer<A>(f.backend, 2 * n);
    A *const largest = data_of<A>(memory), *const mine = data_of<A>(memory, n);
    auto const read = [](A const* x) { return x; };
    auto const reduce = [&](combine how, A const* in, A* out) {
      f.backend.communicate(collective::all_reduce(work->merged, how, element_of<A>, static_cast<std::size_t>(n)), in,
                            out);
    };
    reduce(combine::max, max, largest);
    f.run(primitives::map_of(part_sum{}, row_of_each<4>(n), mine, read(max), read(sum), read(largest)));
    reduce(combine::sum, mine, sum);
    f.run(primitives::map_of(part_share{}, row_of_each<3>(n), mine, read(mine), read(sum)));
    f.run(primitives::map_of(part_term{}, work->all.terms, all, read(all), read(mine), read(sum)));
    f.run(primitives::copy<A, A>{row_of(n), max, largest});
  }
  /// Of each query the sum of weights times their gradients, over all keys.
  constexpr auto dots_of(auto& g, ring_of const& here) const {
    index const n = work->shape.batch.size() * work->shape.queries, each = row_count(here);
    auto dots = make_buffer<A>(g.backend, n);
    auto const in_order = make_buffer<A>(g.backend, n);
    g.run(primitives::row_dot<T>{
        {.outer = n, .n = work->shape.values}, data_of<A>(in_order), data_of<T>(g.kept[3]), g.dy()});
    for (int piece = 0; piece < here.pieces(); ++piece)
      g.run(primitives::copy<A, A>{
          rows_of(here).of_rows, data_of<A>(dots, each * piece),
          data_of<A>(in_order, here.first_query(piece) * (work->shape.out_row / work->shape.values))});
    if (here.pieces() > 1) exchange(g, here, row_of(each), data_of<A>(dots, each));
    if (work->merged != 0)
      g.backend.communicate(
          collective::all_reduce(work->merged, combine::sum, element_of<A>, static_cast<std::size_t>(n)),
          data_of<A>(dots), data_of<A>(dots));
    return dots;
  }
  /// What some keys contribute to the gradients.
  template <class Memory>
  constexpr void differentiate(auto& g, attention_shape const& s, ring_of const& here, int piece, Memory const& dots,
                               T* dq, T* dk, T* dv, T const* k, T const* v, T const* dy, T const* b) const {
    auto const& kept = g.kept;
    index const rows = row_count(here), at = piece * second_of_out(here);
    A const* const max = data_of<A>(kept[4], 2 * rows * piece);
    g.run(primitives::attention_vjp<T>{s, scale, dq, dk, dv, data_of<T>(kept[0], piece * second_of_q(here)), k, v,
                                       data_of<T>(kept[3], at), max, moved(max, rows), moved(dy, at), b,
                                       numbers_of(dots, rows * piece)});
  }
  template <class Memory>
  static constexpr A const* numbers_of(Memory const& m, index at = 0) {
    return m ? data_of<A>(m, at) : nullptr;
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
      if (g.template wants<bias - 2>()) {
        to.wanted = true;
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
                                              data_of<A>(kept[4], row_count(here)), g.dy(), of_bias(g, here, step),
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

}  // namespace mtf::detail
