// What movements send: relayouts, parts, new dimensions, and tensors from nothing. (exchange_forms.cpp: exchanges.)
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "forms.hpp"
#include "relayouts.hpp"
#include "sums.hpp"

namespace sweep::forms {

bool mixed(mesh_code const& m, set axes) { return (axes & m.inside_node) != 0 && (axes & ~m.inside_node) != 0; }

bool moved(mesh_code const& m, place now, place const& to, std::vector<event>& sent) {
  for (int const d : now.dims) {
    unsigned const from = split_of(now.split, d), wanted = split_of(to.split, d);
    if (from == wanted) continue;
    if (depth(from) > 1 || depth(wanted) > 1) return false;
    if (from != 0 && wanted != 0 &&
        (in(now.axes() | now.partial, axis_at(wanted, 0)) || in(to.axes(), axis_at(from, 0)) ||
         m.along(axes_of(from)) != m.along(axes_of(wanted)) || mixed(m, axes_of(from) | axes_of(wanted))))
      return false;
  }
  auto const each = [&](auto const& f) {
    for (int const d : now.dims) f(d, split_of(now.split, d), split_of(to.split, d));
  };
  each([&](int d, unsigned from, unsigned wanted) {  // idle: a slice
    if (from == 0 && wanted != 0 && !in(now.axes() | now.partial, axis_at(wanted, 0)))
      now.split = with_split(now.split, d, wanted);
  });
  set summed = 0;
  auto const whole = payload(m, now);
  each([&](int d, unsigned from, unsigned wanted) {
    if (from == 0 && wanted != 0 && in(now.partial, axis_at(wanted, 0))) {
      summed |= axes_of(wanted);
      now.split = with_split(now.split, d, wanted);
    }
  });
  if (summed != 0) sent.push_back({collective_kind::reduce_scatter, summed, whole});
  now.partial &= ~summed;
  each([&](int d, unsigned from, unsigned wanted) {
    if (from != 0 && wanted != 0 && from != wanted) {
      sent.push_back({collective_kind::permute, axes_of(from) | axes_of(wanted), payload(m, now)});
      now.split = with_split(now.split, d, wanted);
    }
  });
  set taken_away = 0;
  bool const permuted = std::ranges::any_of(sent, [](event const& e) { return e.kind == collective_kind::permute; });
  each([&](int, unsigned from, unsigned wanted) {
    if (from != 0 && wanted == 0) taken_away |= axes_of(from);
  });
  if (mixed(m, summed)) return false;
  if (permuted) return taken_away == 0 && sent.size() == 1;  // beside others, gathers and slices may be as cheap
  if (taken_away == 0) return true;
  if (mixed(m, taken_away)) return false;
  bool const moves = (taken_away & to.axes()) != 0;
  place after = now;
  after.split = to.split;
  sent.push_back(
      {moves ? collective_kind::all_to_all : collective_kind::all_gather, taken_away, payload(m, moves ? after : now)});
  return true;
}

namespace {

/// There and back again.
answer relaid(situation const& s, place const& x, place const& out) {
  answer a;
  a.out = out;
  place back = out, home = x;
  back.partial = s.seed;
  home.partial = s.seed & ~x.axes();
  a.sends_known = moved(s.mesh, x, out, a.forward);
  a.sends_known = moved(s.mesh, back, home, a.backward) && a.sends_known;
  a.gradients = {home.partial};
  return a;
}

}  // namespace

closed_form relayout() {
  return [](situation const& s) {
    place out = s.in[0];
    out.split = s.target;
    out.partial &= ~out.axes();
    return relaid(s, s.in[0], out);
  };
}

closed_form rename(int from, int to) {
  return [=](situation const& s) {
    place x = s.in[0];
    std::ranges::replace(x.dims, from, to);
    place out = x;
    out.split = s.layout;
    out.partial &= ~out.axes();
    x.split = with_split(x.split, to, split_of(s.layout, from));
    return relaid(s, x, out);
  };
}

namespace {

/// Splits of outer and inner that give each rank what a split of the one over these axes does; false: there are none.
bool parts_of(mesh_code const& m, unsigned one, int outer, int inner, unsigned& of_outer, unsigned& of_inner) {
  int rows = stored_of[static_cast<std::size_t>(outer)], within = stored_of[static_cast<std::size_t>(inner)];
  of_outer = of_inner = 0;
  for (int i = 0; i < depth(one); ++i) {
    int const axis = axis_at(one, i), ranks = m.along(bit(axis));
    bool const between_rows = rows > 1;
    int& left = between_rows ? rows : within;
    unsigned& parts = between_rows ? of_outer : of_inner;
    if (left % ranks != 0) return false;
    left /= ranks;
    parts = with_axis(parts, depth(parts), axis);
  }
  return true;
}
/// The axes that split outer and inner, as those of the one of which these are the parts; false: there is none.
bool whole_of(mesh_code const& m, unsigned of_outer, unsigned of_inner, int outer, int inner, unsigned& one) {
  one = of_outer;
  for (int i = 0; i < depth(of_inner); ++i) one = with_axis(one, depth(one), axis_at(of_inner, i));
  unsigned found_outer = 0, found_inner = 0;
  return parts_of(m, one, outer, inner, found_outer, found_inner) && found_outer == of_outer && found_inner == of_inner;
}

/// From `one` to `two`, where a relayout before or one after is enough and the other is not possible; both are the same
/// where nothing is sent.
bool regrouped(mesh_code const& m, place const& one, place const& two, int whole, int outer, int inner, bool splits,
               std::vector<event>& sent) {
  place as_one = one, as_two = two;
  unsigned of_one = split_of(one.split, whole), of_outer = split_of(two.split, outer),
           of_inner = split_of(two.split, inner), found_outer = 0, found_inner = 0, found_one = 0;
  bool const has_parts = parts_of(m, of_one, outer, inner, found_outer, found_inner);
  bool const has_whole = whole_of(m, of_outer, of_inner, outer, inner, found_one);
  as_two.split = with_split(with_split(two.split, outer, found_outer), inner, found_inner);
  as_one.split = with_split(one.split, whole, found_one);
  if (has_parts && has_whole && found_one != of_one) return false;  // two ways, or more: the cheapest
  if (has_parts) {
    as_two.partial = one.partial & ~as_two.axes();
    return splits ? moved(m, as_two, two, sent) : moved(m, two, as_two, sent);
  }
  as_one.partial = two.partial & ~as_one.axes();
  return has_whole && (splits ? moved(m, one, as_one, sent) : moved(m, as_one, one, sent));
}
/// There and back again, `x` being the one dimension or the two.
answer regrouped(situation const& s, place const& x, place out, int whole, int outer, int inner, bool splits) {
  answer a;
  out.partial = x.partial & ~out.axes();
  a.out = out;
  place back = out, home = x;
  back.partial = s.seed;
  home.partial = s.seed & ~x.axes();
  a.sends_known = splits ? regrouped(s.mesh, x, out, whole, outer, inner, true, a.forward)
                         : regrouped(s.mesh, out, x, whole, outer, inner, false, a.forward);
  a.sends_known = (splits ? regrouped(s.mesh, home, back, whole, outer, inner, false, a.backward)
                          : regrouped(s.mesh, back, home, whole, outer, inner, true, a.backward)) &&
                  a.sends_known;
  a.gradients = {home.partial};
  return a;
}

}  // namespace

closed_form split(int one, int outer, int inner, std::vector<int> out) {
  return [=](situation const& s) {
    return regrouped(s, s.in[0], {.dims = out, .split = s.layout}, one, outer, inner, true);
  };
}
closed_form merged(int one, int outer, int inner, std::vector<int> out) {
  return [=](situation const& s) {
    return regrouped(s, s.in[0], {.dims = out, .split = s.layout}, one, outer, inner, false);
  };
}

closed_form stacked(int dim, std::vector<int> out) {
  return [=](situation const& s) {
    answer a;
    a.out = {.dims = out, .split = with_split(s.in[0].split, dim, split_of(s.layout, dim)), .bytes = s.in[0].bytes};
    set partial = ~0U;
    for (auto const& x : s.in) partial &= x.partial;
    a.out.partial = partial & ~a.out.axes();
    for (auto const& x : s.in) take_sum(a.forward, s.mesh, x.partial & ~a.out.partial, x);
    a.gradients.assign(s.in.size(), s.seed | a.out.axes(dim));
    return a;
  };
}

closed_form position_of(int dim, std::vector<int> out) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    answer a;
    a.out = x.without(bit(dim));
    a.out.dims = out;
    a.out.partial = x.partial | x.axes(dim);
    set const owners = s.seed & x.axes(dim);
    take_sum(a.backward, s.mesh, owners, a.out);
    a.gradients = {s.seed & ~owners};
    return a;
  };
}

closed_form same(std::vector<int> out) {
  return [=](situation const& s) {
    answer a;
    a.out = s.in[0];
    a.out.dims = out;
    a.gradients = {s.seed};
    return a;
  };
}

closed_form complete() {
  return [](situation const& s) {
    answer a;
    a.out = s.in[0].without(0);
    take_sum(a.forward, s.mesh, s.in[0].partial, s.in[0]);
    a.gradients = {s.seed};
    return a;
  };
}

closed_form narrowed() {
  return [](situation const& s) {
    answer a = complete()(s);
    take_sum(a.backward, s.mesh, s.seed, a.out);
    a.gradients = {0};
    return a;
  };
}

closed_form part_of(int whole, std::vector<int> out) {
  return [=](situation const& s) {
    place const &x = s.in[0], &start = s.in[1];
    answer a;
    a.out = x.without(bit(whole));
    a.out.dims = out;
    a.out.partial = x.partial | x.axes(whole);
    for (int const d : out)
      if (!x.has(d)) a.out.split = with_split(a.out.split, d, 0);
    take_sum(a.forward, s.mesh, start.partial, start);
    set const owners = s.seed & x.axes(whole);
    take_sum(a.backward, s.mesh, owners, a.out);
    a.gradients = {s.seed & ~owners, 0};
    return a;
  };
}

closed_form updated(int whole, int part) {
  return [=](situation const& s) {
    place const &x = s.in[0], &y = s.in[1], &start = s.in[2];
    answer a;
    a.out = x;
    place gathered = y;
    gathered.split = with_split(gathered.split, part, 0);
    if (set const axes = y.axes(part); axes != 0) {
      a.sends_known = false;  // a relayout
      a.partial_known = false;
    }
    a.out.partial = x.partial & y.partial;
    take_sum(a.forward, s.mesh, x.partial & ~a.out.partial, x);
    take_sum(a.forward, s.mesh, y.partial & ~a.out.partial, gathered);
    take_sum(a.forward, s.mesh, start.partial, start);
    a.gradients = {s.seed, (s.seed | x.axes(whole)) & ~y.axes(part), 0};
    return a;
  };
}

closed_form largest(int dim, int count, std::vector<int> out) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    answer a;
    a.out = x.without(bit(dim));
    place candidates = a.out;
    a.out.dims = out;
    for (int const d : out)
      if (!x.has(d)) a.out.split = with_split(a.out.split, d, 0);
    take_sum(a.forward, s.mesh, x.partial, x);
    if (set const axes = x.axes(dim); axes != 0) {
      int const here = stored_of[static_cast<std::size_t>(dim)] / s.mesh.along(axes);
      auto const elements = shard_size(s.mesh, candidates) * static_cast<std::uint64_t>(std::min(here, count));
      a.forward.push_back({collective_kind::all_gather, axes, elements * static_cast<std::uint64_t>(x.bytes)});
      a.forward.push_back({collective_kind::all_gather, axes, elements * 4});
      take_sum(a.backward, s.mesh, s.seed & axes, a.out);
    }
    a.gradients = {s.seed & ~x.axes(dim)};
    return a;
  };
}

closed_form forward_only(closed_form const& form) {
  return [=](situation const& s) {
    answer a = form(s);
    a.backward.clear();
    a.gradients.assign(s.in.size(), 0);
    return a;
  };
}

/// A place with `dim` whole, its axes splitting others.
static place with_whole_rows(mesh_code const& m, place const& x, int dim) {
  place whole = x;
  whole.split = with_split(x.split, dim, 0);
  unsigned const split = split_of(x.split, dim);
  for (int i = 0; i < depth(split); ++i)
    for (int const d : x.dims) {
      int const here = stored_of[static_cast<std::size_t>(d)] / m.along(whole.axes(d));
      if (d == dim || here % m.along(bit(axis_at(split, i))) != 0) continue;
      unsigned const own = split_of(whole.split, d);
      whole.split = with_split(whole.split, d, with_axis(own, depth(own), axis_at(split, i)));
      break;
    }
  return whole;
}

closed_form drawn(int dim) {
  return [=](situation const& s) {
    place x = s.in[0];
    answer a;
    x.bytes = std::max(x.bytes, 4);
    take_sum(a.forward, s.mesh, x.partial, x);
    for (std::size_t i = 1; i < s.in.size(); ++i) {
      place row = s.in[i];
      row.bytes = 8;
      take_sum(a.forward, s.mesh, row.partial, row);
      if (s.in.size() > 2 && row.partial != 0) a.sends_known = false;  // of some the sum is taken before they are cast
    }
    x.partial = 0;
    x.bytes = 4;
    place const whole = with_whole_rows(s.mesh, x, dim);
    a.out = x.without(bit(dim));
    a.sends_known = moved(s.mesh, x, whole, a.forward) && a.sends_known;
    a.sends_known = moved(s.mesh, whole.without(bit(dim)), a.out, a.forward) && a.sends_known;
    a.gradients.assign(s.in.size(), 0);
    return a;
  };
}

closed_form sorted(int dim, int bytes) {
  return [=](situation const& s) {
    place x = s.in[0];
    answer a;
    take_sum(a.forward, s.mesh, x.partial, x);
    x.partial = 0;
    place whole = with_whole_rows(s.mesh, x, dim);
    a.out = x;
    a.gradients = {s.seed};
    a.sends_known = moved(s.mesh, x, whole, a.forward);
    place found = whole;
    if (bytes != 0) found.bytes = bytes;
    a.sends_known = a.sends_known && moved(s.mesh, found, x, a.forward);
    x.partial = whole.partial = s.seed;
    a.sends_known = a.sends_known && moved(s.mesh, x, whole, a.backward) && moved(s.mesh, whole, x, a.backward);
    return a;
  };
}

closed_form gathered_along(int dim, std::vector<int> out) {
  return [=](situation const& s) {
    place const &x = s.in[0], &ids = s.in[1];
    answer a;
    a.out = {.dims = out, .split = 0, .partial = x.partial & ~ids.axes(), .bytes = x.bytes};
    for (int const d : out) a.out.split = with_split(a.out.split, d, split_of(ids.has(d) ? ids.split : x.split, d));
    take_sum(a.forward, s.mesh, x.partial & ids.axes(), x);
    take_sum(a.forward, s.mesh, ids.partial, ids);
    a.out.partial |= x.axes(dim);
    set const owners = s.seed & x.axes(dim);
    take_sum(a.backward, s.mesh, owners, a.out);
    set others = 0;
    for (int const d : ids.dims)
      if (!x.has(d)) others |= ids.axes(d);
    a.gradients = {(s.seed & ~owners) | others, 0};
    return a;
  };
}

closed_form scattered(int dim, set summed, std::vector<int> out) {
  return [=](situation const& s) {
    place const &updates = s.in[0], &ids = s.in[1];
    unsigned const wanted = split_of(s.layout, dim);
    set const sums = axes_of(updates.split, summed);
    answer a;
    a.out = {.dims = out, .split = with_split(updates.split, dim, wanted), .partial = 0, .bytes = updates.bytes};
    // Axes of what is summed split dim afterwards.
    unsigned before = 0;
    for (int i = 0; i < depth(wanted); ++i)
      if (!in(sums, axis_at(wanted, i))) before = with_axis(before, depth(before), axis_at(wanted, i));
    place added = a.out;
    added.split = with_split(added.split, dim, before);
    set const owners = added.axes(dim);
    take_sum(a.forward, s.mesh, updates.partial & owners, updates);
    take_sum(a.forward, s.mesh, ids.partial, ids);
    added.partial = (updates.partial & ~owners) | sums;
    a.out.partial = added.partial & ~a.out.axes();
    set seed = s.seed;
    if (before != wanted) {
      place back = a.out, home = added;
      back.partial = s.seed;
      home.partial = seed = s.seed & ~added.axes();
      a.sends_known = moved(s.mesh, added, a.out, a.forward);
      a.sends_known = moved(s.mesh, back, home, a.backward) && a.sends_known;
    }
    set const whole = seed & sums;
    take_sum(a.backward, s.mesh, whole, added);
    a.gradients = {(seed & ~whole) | owners, 0};
    return a;
  };
}

closed_form one_hot(int dim) {
  return [=](situation const& s) {
    place const& ids = s.in[0];
    answer a;
    a.out = ids.without(0);
    a.out.bytes = 8;
    a.out.dims.push_back(dim);
    a.out.split = with_split(a.out.split, dim, split_of(s.layout, dim));
    take_sum(a.forward, s.mesh, ids.partial, ids);
    a.gradients = {0};
    return a;
  };
}

closed_form broadcast(std::vector<int> out) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    answer a;
    a.out = {.dims = out, .split = s.layout};
    a.out.partial = x.partial & ~a.out.axes();
    take_sum(a.forward, s.mesh, x.partial & a.out.axes(), x);
    a.gradients = {s.seed | (a.out.axes() & ~x.axes())};
    return a;
  };
}

closed_form gathered() {
  return [](situation const& s) {
    answer a = complete()(s);
    a.sends_known = !mixed(s.mesh, a.out.axes());
    if (a.out.axes() != 0) a.forward.push_back({collective_kind::all_gather, a.out.axes(), payload(s.mesh, a.out)});
    a.out.split = {};
    return a;
  };
}

closed_form constant() {
  return [](situation const& s) {
    answer a;
    a.out = s.in[0];
    a.gradients = {0};
    return a;
  };
}

closed_form created(std::vector<int> out) {
  return [=](situation const& s) {
    answer a;
    a.out = {.dims = out, .split = s.layout};
    return a;
  };
}

}  // namespace sweep::forms
