// What movements along a dimension send: exchanges of positions, or relayouts that gather them.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "forms.hpp"
#include "relayouts.hpp"
#include "shards.hpp"
#include "sums.hpp"

namespace sweep::forms {

namespace {

/// Which rank has which positions along a dimension, and which of another it wants; `along`: the axes along which it
/// may differ from those that it takes them from.
struct wants {
  place has, wanted;
  int along_has = 0, along_wanted = 0;
  set along = 0;
  std::function<int(int)> from;  // a wanted position's, below 0: nobody's
};
/// What one exchange sends: bytes, and how many collectives.
struct exchanged {
  std::vector<event> events;
  std::uint64_t bytes = 0;
};

/// Positions cross one by one; all that goes from one rank to another is a message. The longest first, then by receiver
/// and sender, each goes into the first round in which both are free; a round is a permute. If the ranks along all axes
/// that are crossed could each send each other the longest message in as many bytes or fewer, it is an all-to-all
/// instead.
exchanged exchange(mesh_code const& m, std::vector<wants> const& all, std::uint64_t each) {
  std::map<std::pair<int, int>, std::uint64_t> counts;  // receiver, sender
  for (auto const& w : all)
    for (int r = 0; r < m.ranks(); ++r) {
      interval const mine = held(m, w.wanted, w.along_wanted, r);
      int const end = std::min(mine.first + mine.size, extent_of[static_cast<std::size_t>(w.along_wanted)]);
      for (int i = mine.first; i < end; ++i) {
        int const j = w.from(i);
        for (int q = 0; j >= 0 && q < m.ranks(); ++q) {
          interval const theirs = held(m, w.has, w.along_has, q);
          if (q != r && same_but(m, r, q, w.along) && j >= theirs.first && j < theirs.first + theirs.size)
            ++counts[{r, q}];
        }
      }
    }
  std::vector<std::tuple<std::int64_t, int, int>> messages;  // less its length, receiver, sender
  for (auto const& [ranks, n] : counts) messages.emplace_back(-static_cast<std::int64_t>(n), ranks.first, ranks.second);
  std::ranges::sort(messages);
  struct round {
    std::uint64_t longest = 0;
    set axes = 0;
    std::vector<int> senders, receivers;
  };
  std::vector<round> rounds;
  for (auto const& [minus, receiver, sender] : messages) {
    auto const is_free = [&, r = receiver, q = sender](round const& a) {
      return std::ranges::find(a.senders, q) == a.senders.end() &&
             std::ranges::find(a.receivers, r) == a.receivers.end();
    };
    auto at = std::ranges::find_if(rounds, is_free);
    if (at == rounds.end()) {
      at = rounds.emplace(at);
      at->longest = static_cast<std::uint64_t>(-minus);
    }
    at->senders.push_back(sender);
    at->receivers.push_back(receiver);
    for (int x = 0; x < m.axes; ++x)
      if (m.coordinate(sender, x) != m.coordinate(receiver, x)) at->axes |= bit(x);
  }
  exchanged e;
  set axes = 0;
  for (auto const& a : rounds) {
    e.events.push_back({collective_kind::permute, a.axes, a.longest * each});
    e.bytes += a.longest * each;
    axes |= a.axes;
  }
  if (rounds.size() > 1) {
    auto const ranks = static_cast<std::uint64_t>(m.along(axes)), longest = rounds.front().longest * each;
    if (longest * (ranks - 1) <= e.bytes) {
      e.events = {{collective_kind::all_to_all, axes, longest * ranks}};
      e.bytes = longest * (ranks - 1);
    }
  }
  return e;
}

}  // namespace

closed_form moved(int whole, std::vector<int> parts, std::vector<int> out, std::function<origin(int)> from,
                  bool linear) {
  return [=](situation const& s) {
    answer a;
    a.out = {.dims = out, .split = with_split(s.in[0].split, whole, split_of(s.layout, whole)), .bytes = s.in[0].bytes};
    set partial = linear ? ~0U : 0U, some = 0, every = ~0U;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      partial &= s.in[k].partial;
      some |= s.in[k].axes(parts[k]);
      every &= s.in[k].axes(parts[k]);
    }
    a.out.partial = partial & ~a.out.axes();
    set const of_whole = a.out.axes(whole), not_all = some & ~every, arrived = s.seed & ~not_all;
    int const extent = extent_of[static_cast<std::size_t>(whole)];
    interval const one = held(s.mesh, a.out, whole, 0);
    auto const each = payload(s.mesh, a.out) / static_cast<std::uint64_t>(std::max(one.size, 1));

    // Forward: all parts gathered, or an exchange.
    std::vector<event> gathers;
    std::vector<wants> there;
    bool all_is_wanted = of_whole == 0, known = true;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      take_sum(a.forward, s.mesh, s.in[k].partial & ~a.out.partial, s.in[k]);
      place part = s.in[k], gathered = part;
      part.partial = gathered.partial = a.out.partial;
      gathered.split = with_split(part.split, parts[k], 0);
      known = moved(s.mesh, part, gathered, gathers) && known;
      auto const of_k = [from, k](int i) {
        origin const o = from(i);
        return o.operand == static_cast<int>(k) ? o.position : -1;
      };
      there.push_back({part, a.out, parts[k], whole, part.axes(parts[k]), of_k});
      int used = 0;
      for (int i = 0; i < extent; ++i) used += of_k(i) >= 0 ? 1 : 0;
      all_is_wanted = all_is_wanted && used == extent_of[static_cast<std::size_t>(parts[k])];
    }
    a.sends_known = known || (some == 0);
    std::uint64_t gathered = 0;
    for (auto const& e : gathers) gathered += mtf::bytes_sent(e.kind, e.payload, s.mesh.along(e.axes));
    exchanged const e = exchange(s.mesh, there, each);
    bool const at_once = !e.events.empty() && e.events.front().kind == collective_kind::all_to_all;
    bool const gathers_win =
        all_is_wanted || gathered < e.bytes ||
        (gathered == e.bytes && (gathers.size() < e.events.size() || (gathers.size() == e.events.size() && at_once)));
    auto const& wins = gathers_win ? gathers : e.events;
    a.forward.insert(a.forward.end(), wins.begin(), wins.end());

    // Backward: sums of what each rank has of each part, or an exchange.
    take_sum(a.backward, s.mesh, s.seed & not_all, a.out);
    std::vector<wants> back;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      place part = s.in[k], full = part;
      full.split = with_split(part.split, parts[k], 0);
      full.partial = arrived | of_whole;
      part.partial = full.partial & ~part.axes();
      if ((arrived & some) != 0) a.sends_known = moved(s.mesh, full, part, a.backward) && a.sends_known;
      auto const to = [from, k, extent](int j) {
        for (int i = 0; i < extent; ++i)
          if (origin const o = from(i); o.operand == static_cast<int>(k) && o.position == j) return i;
        return -1;
      };
      back.push_back({a.out, part, whole, parts[k], of_whole & part.axes(parts[k]), to});
      a.gradients.push_back(part.partial);
    }
    if ((arrived & some) == 0) {
      exchanged const home = exchange(s.mesh, back, each);
      a.backward.insert(a.backward.end(), home.events.begin(), home.events.end());
    }
    return a;
  };
}

closed_form joined(int whole, std::vector<int> parts, std::vector<int> out) {
  auto const from = [parts](int i) {
    std::size_t k = 0;
    for (; k < parts.size() && i >= extent_of[static_cast<std::size_t>(parts[k])]; ++k)
      i -= extent_of[static_cast<std::size_t>(parts[k])];
    return k < parts.size() ? origin{static_cast<int>(k), i} : origin{};
  };
  return moved(whole, parts, std::move(out), from);
}

}  // namespace sweep::forms
