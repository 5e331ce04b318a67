#include "forms.hpp"

#include <algorithm>
#include <functional>

#include "relayouts.hpp"
#include "sums.hpp"

namespace sweep::forms {

namespace {

/// The result's splits are the operands'.
place lying(std::vector<place> const& in, std::vector<int> const& dims) {
  place out{.dims = dims};
  for (auto const& p : in)
    for (int const d : p.dims) out.split = with_split(out.split, d, split_of(p.split, d));
  return out;
}
set all_axes(std::vector<place> const& in) {
  set s = 0;
  for (auto const& p : in) s |= p.axes();
  return s;
}

/// The axes over which sums stay open: those of one operand that nothing else varies along, or of all.
set passing(std::vector<place> const& in, through how) {
  set any = 0, twice = 0, every = ~0U;
  for (auto const& p : in) {
    twice |= any & p.partial;
    any |= p.partial;
    every &= p.partial;
  }
  set const still = ~all_axes(in);
  switch (how) {
    case through::none:
      return 0;
    case through::additive:
      return every & still;
    case through::multiplicative:
      return any & ~twice & still;
    case through::first:
      return in[0].partial & ~twice & still;
  }
  return 0;
}

/// A product of operands, pointwise or summed over `gone`: the parts that both share.
answer product(situation const& s, std::vector<place> const& in, set pass, bool products, set gone,
               std::vector<int> const& out) {
  answer a;
  a.out = lying(in, out);
  for (auto const& p : in) {
    take_sum(a.forward, s.mesh, p.partial & ~pass, p);
    for (int const d : p.dims)
      if (sweep::in(gone, d)) a.out.partial |= p.axes(d);
  }
  a.out.partial |= pass;
  // The gradient meets the other operand: it must be whole where that varies.
  set const whole = products ? s.seed & (pass | (gone != 0 ? all_axes(in) : 0U)) : 0U;
  take_sum(a.backward, s.mesh, whole, a.out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    set g = s.seed & ~whole;
    for (std::size_t j = 0; j < in.size(); ++j) {
      if (i == j) continue;
      if (products) g |= in[j].partial & pass;
      for (int const d : in[j].dims)
        if (!in[i].has(d)) g |= in[j].axes(d);
    }
    a.gradients.push_back(g);
  }
  return a;
}

}  // namespace

closed_form elementwise(through how, std::vector<int> out) {
  return [=](situation const& s) {
    bool const products = (how == through::multiplicative || how == through::first) && s.in.size() > 1;
    return product(s, s.in, passing(s.in, how), products, 0, out);
  };
}

closed_form contraction(std::vector<int> out) {
  return [=](situation const& s) {
    place const wanted{.dims = out};
    auto in = s.in;
    set gone = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      set alone = 0;
      for (int const d : s.in[i].dims)
        if (!wanted.has(d)) (s.in[1 - i].has(d) ? gone : alone) |= bit(d);
      set const partial = s.in[i].partial | axes_of(s.in[i].split, alone);
      in[i] = s.in[i].without(alone);
      in[i].partial = partial;
    }
    answer a = product(s, in, passing(in, through::multiplicative), true, gone, out);
    for (std::size_t i = 2; i-- > 0;)  // backward through the sums
      if (in[i].dims.size() != s.in[i].dims.size()) {
        set const whole = a.gradients[i] & s.in[i].axes();
        take_sum(a.backward, s.mesh, whole, in[i]);
        a.gradients[i] &= ~whole;
      }
    return a;
  };
}

closed_form linear(std::vector<int> out) {
  return [=](situation const& s) {
    situation product = s, sum = s;
    product.in = {s.in[0], s.in[1]};
    sum.in = {contraction(out)(product).out, s.in[2]};
    answer a = elementwise(through::additive, out)(sum);
    product.seed = a.gradients[0];
    answer const before = contraction(out)(product);
    a.forward.insert(a.forward.begin(), before.forward.begin(), before.forward.end());
    a.backward.insert(a.backward.end(), before.backward.begin(), before.backward.end());
    a.gradients = {before.gradients[0], before.gradients[1], a.gradients[1]};
    return a;
  };
}

closed_form contractions(std::vector<int> out) {
  return [=](situation const& s) {
    answer a;
    a.out = lying(s.in, out);
    set used = all_axes(s.in), once = 0, twice = 0, gone = 0;
    for (auto const& p : s.in) {
      twice |= once & p.partial;
      once |= p.partial;
      for (int const d : p.dims)
        if (!a.out.has(d)) gone |= p.axes(d);
    }
    a.out.partial = gone | (once & ~twice & ~used);
    // Else the order of contraction decides which sums are taken, and when.
    a.partial_known = twice == 0 && (once & used) == 0;
    a.sends_known = a.partial_known && (s.seed & (once | used)) == 0;
    for (std::size_t i = 0; i < s.in.size(); ++i) {
      set g = s.seed;
      for (std::size_t j = 0; j < s.in.size(); ++j) {
        if (i == j) continue;
        g |= s.in[j].partial;
        for (int const d : s.in[j].dims)
          if (!s.in[i].has(d)) g |= s.in[j].axes(d);
      }
      a.gradients.push_back(g & ~s.in[i].axes());
    }
    return a;
  };
}

closed_form sum(set gone, std::vector<int> order) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    answer a;
    a.out = x.without(gone);
    if (!order.empty()) a.out.dims = order;
    a.out.partial = x.partial | axes_of(x.split, gone);
    set const whole = s.seed & x.axes();
    take_sum(a.backward, s.mesh, whole, a.out);
    a.gradients = {s.seed & ~whole};
    return a;
  };
}

closed_form extreme(set gone) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    answer a;
    a.out = x.without(gone);
    take_sum(a.forward, s.mesh, x.partial, x);
    a.all_reduce(a.forward, axes_of(x.split, gone), payload(s.mesh, a.out));
    set const whole = s.seed & x.axes();
    take_sum(a.backward, s.mesh, whole, a.out);
    a.gradients = {s.seed & ~whole};
    return a;
  };
}

closed_form rows(int dim, std::vector<int> forward, std::vector<int> backward, bool row_gone) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    place const row = x.without(bit(dim));
    answer a;
    a.out = row_gone ? row : x.without(0);
    for (auto const& p : s.in) take_sum(a.forward, s.mesh, p.partial, p);
    for (int const n : forward)
      a.all_reduce(a.forward, x.axes(dim), static_cast<std::uint64_t>(n) * payload(s.mesh, row));
    set const whole = s.seed & x.axes();
    take_sum(a.backward, s.mesh, whole, a.out);
    for (int const n : backward)
      a.all_reduce(a.backward, x.axes(dim), static_cast<std::uint64_t>(n) * payload(s.mesh, row));
    a.gradients = {s.seed & ~whole};
    a.gradients.resize(s.in.size());
    return a;
  };
}

closed_form norm(int dim, int forward_all_reduces) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    auto const row = payload(s.mesh, x.without(bit(dim)));
    answer a;
    a.out = x.without(0);
    for (auto const& p : s.in) take_sum(a.forward, s.mesh, p.partial, p);
    for (int i = 0; i < forward_all_reduces; ++i) a.all_reduce(a.forward, x.axes(dim), row);
    take_sum(a.backward, s.mesh, s.seed, a.out);
    a.all_reduce(a.backward, x.axes(dim), 2 * row);
    a.gradients.assign(s.in.size(), x.axes() & ~x.axes(dim));
    a.gradients[0] = 0;
    return a;
  };
}

namespace {

void carried(std::vector<event>& when, situation const& s, unsigned split, bool in_order, std::uint64_t payload) {
  if (split == 0) return;
  for (int i = 1; i < depth(split); ++i) in_order = in_order && axis_at(split, i - 1) < axis_at(split, i);
  if (in_order)
    when.push_back({collective_kind::exclusive_sum, axes_of(split), payload});
  else
    for (int to = 1; to < s.mesh.along(axes_of(split)); to *= 2)
      when.push_back({collective_kind::permute, axes_of(split), payload});
}

}  // namespace

closed_form cumulative(int dim, bool sums, bool reverse) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    place row = x.without(bit(dim));
    if (sums) row.bytes = 8;
    unsigned const split = split_of(x.split, dim);
    answer a;
    a.out = x;
    if (!sums) {
      take_sum(a.forward, s.mesh, x.partial, x);
      a.out.partial = 0;
    }
    carried(a.forward, s, split, sums && !reverse, payload(s.mesh, row));
    carried(a.backward, s, split, sums && reverse, (sums ? 1 : 2) * payload(s.mesh, row));
    a.gradients = {s.seed};
    return a;
  };
}

closed_form cross_entropy(int classes, std::uint64_t summed) {
  return [=](situation const& s) {
    place const &x = s.in[0], &labels = s.in[1];
    answer a;
    a.out = x.without(bit(classes));
    take_sum(a.forward, s.mesh, x.partial, x);
    take_sum(a.forward, s.mesh, labels.partial, labels);
    a.all_reduce(a.forward, x.axes(classes), payload(s.mesh, a.out));
    a.all_reduce(a.forward, x.axes(classes), summed * payload(s.mesh, a.out));
    set const whole = s.seed & x.axes();
    take_sum(a.backward, s.mesh, whole, a.out);
    a.gradients = {s.seed & ~whole, 0};
    return a;
  };
}

closed_form linear_cross_entropy(int classes, int features, std::uint64_t summed) {
  return [=](situation const& s) {
    place const &h = s.in[0], &table = s.in[1], &labels = s.in[2];
    answer a;
    for (auto const* x : {&h, &table}) take_sum(a.forward, s.mesh, x->partial, *x);
    a.out = labels.without(0);
    a.out.bytes = h.bytes;
    place logits = a.out;
    logits.dims.push_back(classes);
    logits.split = with_split(labels.split, classes, split_of(table.split, classes));
    take_sum(a.forward, s.mesh, h.axes(features), logits);
    take_sum(a.forward, s.mesh, labels.partial, labels);
    a.all_reduce(a.forward, table.axes(classes), payload(s.mesh, a.out));
    a.all_reduce(a.forward, table.axes(classes), summed * payload(s.mesh, a.out));
    set const rows = labels.axes(), over = table.axes(classes);
    take_sum(a.backward, s.mesh, s.seed & (rows | over), a.out);
    set const left = s.seed & ~(rows | over), inside = left & h.axes(features);
    take_sum(a.backward, s.mesh, inside, logits);
    a.gradients = {(left & ~inside) | over, (left & ~inside) | rows, 0};
    return a;
  };
}

namespace {

/// How keys go round.
struct ring_form {
  int steps = 0;        // as many as it takes until no rank sees what would come
  bool halves = false;  // whether ranks exchange half of their queries
};
/// `round`: the axes, in the order in which they split the keys; `may`: whether queries may be exchanged.
ring_form form_of_ring(situation const& s, int query, int key, std::vector<int> const& round,
                       std::function<bool(int, int)> const& sees, bool may) {
  auto const& m = s.mesh;
  auto const begin = [&](place const& p, int dim, int rank) {
    unsigned const six = split_of(p.split, dim);
    int part = 0;
    for (int i = 0; i < depth(six); ++i)
      part = part * m.along(bit(axis_at(six, i))) + m.coordinate(rank, axis_at(six, i));
    return part * stored_of[static_cast<std::size_t>(dim)] / m.along(p.axes(dim));
  };
  set all = 0;
  for (int const x : round) all |= bit(x);
  int const ranks = m.along(all);
  auto const place_in_ring = [&](int rank) {
    int at = 0;
    for (int const x : round) at = at * m.along(bit(x)) + m.coordinate(rank, x);
    return at;
  };
  auto const in_one_ring = [&](int r, int t) {
    for (int x = 0; x < m.axes; ++x)
      if (!in(all, x) && m.coordinate(r, x) != m.coordinate(t, x)) return false;
    return true;
  };
  place const &q = s.in[0], &k = s.in[1];
  int const queries = stored_of[static_cast<std::size_t>(query)] / m.along(q.axes(query));
  int const keys = stored_of[static_cast<std::size_t>(key)] / m.along(k.axes(key));
  int const no_pads = extent_of[static_cast<std::size_t>(key)];
  // The ranks' own queries; or their first halves, and the second ones of those as far from the ring's other end.
  auto const with = [&](bool halves) {
    int steps = 0, most = 0;
    for (int r = 0; r < m.ranks(); ++r) {
      int pairs = 0;
      for (int from = 0; from < m.ranks(); ++from) {
        if (!in_one_ring(r, from)) continue;
        int const far = (place_in_ring(r) - place_in_ring(from) + ranks) % ranks, j0 = begin(k, key, from);
        for (int owner = 0; owner < m.ranks(); ++owner) {
          if (!in_one_ring(r, owner)) continue;
          bool const own = owner == r, other = halves && place_in_ring(owner) == ranks - 1 - place_in_ring(r);
          int const i0 = begin(q, query, owner), middle = halves ? i0 + queries / 2 : i0 + queries;
          for (int i = i0; i < i0 + queries; ++i) {
            if (i < middle ? !own : !other) continue;
            for (int j = j0; j < std::min(j0 + keys, no_pads); ++j)
              if (sees(i, j)) steps = std::max(steps, far), ++pairs;
          }
        }
      }
      most = std::max(most, pairs);
    }
    return std::pair(steps, most);
  };
  auto const [steps, most] = with(false);
  if (may && queries % 2 == 0) {
    auto const [steps_of_halves, most_of_halves] = with(true);
    if (most > 0 && 4 * most_of_halves <= 3 * most) return {steps_of_halves, true};
  }
  return {steps, false};
}

}  // namespace

closed_form attention(int query, int key, int head, std::function<bool(int, int)> sees,
                      attention_operands const& besides) {
  return [=](situation const& s) {
    place const &q = s.in[0], &k = s.in[1];
    int const last = besides.values < 0 ? head : besides.values;
    set const of_head = k.axes(head), of_values = s.in[2].axes(last);
    bool const whole = (of_head | of_values) == 0;  // else it is products and a softmax
    place scores = lying({q, k}, q.without(bit(head)).dims);
    place const row = scores;
    scores.dims.push_back(key);
    answer a;
    a.out = q.without(0);
    std::ranges::replace(a.out.dims, head, last);
    if (last != head) a.out.split = with_split(q.split, last, split_of(s.in[2].split, last));
    set const alone = k.axes(key) & ~q.axes(), ring = k.axes(key) & q.axes();
    a.out.partial = alone;
    auto in = s.in;  // as they lie where they meet
    if (whole && ring != 0)
      for (int const i : {besides.bias, besides.key_ids})
        if (i >= 0) {
          auto& x = in[static_cast<std::size_t>(i)];
          place to = x;
          to.split = with_split(to.split, key, 0);
          a.sends_known = moved(s.mesh, x, to, a.forward) && a.sends_known;
          x = to;
        }
    for (auto const& p : in) take_sum(a.forward, s.mesh, p.partial, p);
    ring_form form;
    if (whole && ring != 0) {
      std::vector<int> round;
      unsigned const six = split_of(k.split, key);
      for (int i = 0; i < depth(six); ++i)
        if (sweep::in(ring, axis_at(six, i))) round.push_back(axis_at(six, i));
      bool const may = six == split_of(q.split, query) && besides.bias < 0 && besides.key_ids < 0 &&
                       stored_of[static_cast<std::size_t>(query)] == extent_of[static_cast<std::size_t>(query)];
      form = form_of_ring(s, query, key, round, sees, may);
    }
    int const steps = form.steps;
    auto const half = [&](std::vector<event>& when, place const& p) {
      if (form.halves) when.push_back({collective_kind::permute, ring, payload(s.mesh, p) / 2});
    };
    auto const pair = [&](std::vector<event>& when) {
      for (std::size_t const i : {std::size_t{1}, std::size_t{2}})
        when.push_back({collective_kind::permute, ring, payload(s.mesh, s.in[i].without(0))});
    };
    half(a.forward, q);
    for (int t = 0; t < steps; ++t) pair(a.forward);
    half(a.forward, a.out);
    take_sum(a.forward, s.mesh, of_head, scores);
    for (int i = 0; i < 2; ++i) a.all_reduce(a.forward, alone, payload(s.mesh, row));
    // The weights' gradient is partial over what splits the values' last; with a dimension of their own it may be so
    // over what splits the head as well, up to the products.
    set const apart = last == head ? 0 : of_head;
    set const taken = s.seed & all_axes(s.in) & ~apart, rest = s.seed & ~taken & ~apart;
    take_sum(a.backward, s.mesh, taken, a.out);
    a.all_reduce(a.backward, alone, payload(s.mesh, row));
    take_sum(a.backward, s.mesh, last == head ? of_head : s.seed & of_head, scores);
    half(a.backward, row);
    half(a.backward, a.out);
    // Keys and values as before; from the second step on their gradients, each once as often.
    for (int t = 0; t <= steps; ++t) {
      if (t < steps) pair(a.backward);
      if (t > 0) pair(a.backward);
    }
    half(a.backward, q);
    set others = 0;  // axes of what queries alone have
    for (int const d : q.dims)
      if (!k.has(d)) others |= q.axes(d);
    others &= ~ring;
    set const left = rest | (of_values & ~of_head);
    a.gradients = {left | alone, left | others, rest | others | (s.seed & apart)};
    a.gradients.resize(s.in.size());
    if (besides.bias >= 0) {
      auto const i = static_cast<std::size_t>(besides.bias);
      place from = in[i], home = s.in[i];
      from.partial = rest | of_values | (s.seed & apart) | ((scores.axes() | k.axes(key)) & ~from.axes());
      home.partial = from.partial & ~home.axes();
      if (from.split != home.split) a.sends_known = moved(s.mesh, from, home, a.backward) && a.sends_known;
      a.gradients[i] = home.partial;
    }
    return a;
  };
}

closed_form rotary(int dim) {
  return [=](situation const& s) {
    answer a;
    a.out = s.in[0];
    for (std::size_t i = 1; i < s.in.size(); ++i) take_sum(a.forward, s.mesh, s.in[i].partial, s.in[i]);
    if (s.in[0].axes(dim) != 0) {  // relayouts, there and back
      a.sends_known = false;
      a.partial_known = false;
    }
    a.gradients = {s.seed, 0, 0};
    return a;
  };
}

closed_form embedding(int vocabulary, std::vector<int> out) {
  return [=](situation const& s) {
    place const &table = s.in[0], &ids = s.in[1];
    answer a;
    a.out = lying(s.in, out);
    a.out.partial = table.axes(vocabulary);
    take_sum(a.forward, s.mesh, table.partial, table);
    take_sum(a.forward, s.mesh, ids.partial, ids);
    set const whole = s.seed & table.axes(vocabulary);
    take_sum(a.backward, s.mesh, whole, a.out);
    a.gradients = {(s.seed & ~whole) | ids.axes(), 0};
    return a;
  };
}

}  // namespace sweep::forms
