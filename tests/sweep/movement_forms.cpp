// What movements send: relayouts, parts, new dimensions, and tensors from nothing.
#include <algorithm>

#include "forms.hpp"
#include "sums.hpp"

namespace sweep::forms {

namespace {

/// Axes inside nodes and between them: what is least between nodes may go in two steps.
bool mixed(mesh_code const& m, set axes) { return (axes & m.inside_node) != 0 && (axes & ~m.inside_node) != 0; }

/// The table of docs/design/states.md, "What relayouts send", axis by axis, where no dimension is split over two axes
/// and one changes from one axis to another only if that was idle and has the same size; false where it is not that
/// simple. Slices first, then one reduce-scatter and permutes; all other axes that change go together: in one
/// all-to-all if one of them splits another dimension afterwards, else in one all-gather.
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
      int const here = extent_of[static_cast<std::size_t>(dim)] / s.mesh.along(axes);
      auto const elements = shard_size(s.mesh, candidates) * static_cast<std::uint64_t>(std::min(here, count));
      a.forward.push_back({collective_kind::all_gather, axes, elements * static_cast<std::uint64_t>(x.bytes)});
      a.forward.push_back({collective_kind::all_gather, axes, elements * 4});
      take_sum(a.backward, s.mesh, s.seed & axes, a.out);
    }
    a.gradients = {s.seed & ~x.axes(dim)};
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
