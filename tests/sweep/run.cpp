#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "special.hpp"
#include "typed.hpp"

namespace sweep {

namespace {

constexpr double exact = 1e-12;          // between layouts, and forward between the library and the definition
constexpr double differentiated = 1e-6;  // between gradients and central differences

std::string text_of(mesh_code const& m, set axes) {
  std::string s;
  for (int x = 0; x < m.axes; ++x)
    if (in(axes, x)) s += (s.empty() ? "" : "+") + std::string(1, "pqr"[x]);
  return s.empty() ? "none" : s;
}
std::string text_of(splits l) {
  std::string s;
  for (int d = 0; d < dim_count; ++d) {
    if (split_of(l, d) == 0) continue;
    s += (s.empty() ? "" : ";") + std::string(name_of_dim[static_cast<std::size_t>(d)]) + ":";
    for (int k = 0; k < depth(split_of(l, d)); ++k)
      s += (k > 0 ? "+" : "") + std::string(1, "pqr"[axis_at(split_of(l, d), k)]);
  }
  return "\"" + s + "\"";
}
std::string text_of(mesh_code const& m) {
  std::string s;
  for (int x = 0; x < m.axes; ++x)
    s += (s.empty() ? "" : ";") + std::string(1, "pqr"[x]) + ":" + std::to_string(m.size[static_cast<std::size_t>(x)]) +
         (in(m.inside_node, x) ? " (in a node)" : "");
  return "\"" + s + "\"";
}
std::string text_of(mesh_code const& m, std::vector<event> const& all) {
  std::string s;
  for (auto const& e : all)
    s += (s.empty() ? "" : ", ") + std::string(mtf::name_of(e.kind)) + " over " + text_of(m, e.axes) + " of " +
         std::to_string(e.payload) + " B";
  return s.empty() ? "nothing" : s;
}

std::string text_of(recipe const& made) {
  return std::string(", ") + (made.in_domain ? "numbers of its domain" : "special numbers") +
         (made.nan ? ", NaN" : "") + (made.infinite ? ", infinities" : "");
}

/// The worst relative difference between what the ranks hold together and the global tensor; a text if it is too large.
std::string compare(mesh_code const& m, place const& p, std::vector<numbers const*> const& shards, numbers const& want,
                    double tolerance, char const* what) {
  double scale = 1;
  for (double const v : want) scale = std::max(scale, std::abs(v));
  for (int r = 0; r < m.ranks(); ++r) {
    auto const at = positions(m, p, r);
    numbers sum(at.size());
    for (int k = 0; k < m.ranks(); ++k)
      if (same_but(m, r, k, p.partial)) {
        auto const& x = *shards[static_cast<std::size_t>(k)];
        if (x.empty()) continue;  // a gradient of zero
        if (x.size() != sum.size()) return std::string(what) + ": a shard of another size";
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
      }
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (!(std::abs(sum[i] - want[at[i]]) <= tolerance * scale)) {
        std::ostringstream s;
        s.precision(15);
        s << what << ": rank " << r << ", element " << at[i] << ": " << sum[i] << ", expected " << want[at[i]];
        return s.str();
      }
  }
  return {};
}

/// The sharding that the library states, against the one expected.
std::string compare(mtf::sharding const& found, place const& want) {
  bool same = found.ndim == static_cast<int>(want.dims.size()) && found.partial == want.partial;
  for (int k = 0; same && k < found.ndim; ++k) {
    int const d = want.dims[static_cast<std::size_t>(k)];
    unsigned const six = split_of(want.split, d);
    same = found[k].extent == extent_of[static_cast<std::size_t>(d)] && found[k].split.size == depth(six);
    for (int i = 0; same && i < depth(six); ++i) same = found[k].split[i] == axis_at(six, i);
  }
  return same ? std::string()
              : "the result's type does not say the splits or partial axes that follow from the operation";
}

situation situated(operation const& op, typed_case const& t) {
  situation s{.mesh = mesh_of[static_cast<std::size_t>(t.mesh)],
              .in = {},
              .layout = t.code.layout,
              .target = t.code.other,
              .seed = 0};
  for (std::size_t o = 0; o < op.in.size(); ++o) {
    int const k = static_cast<int>(o);
    s.in.push_back({.dims = op.in[o].dims,
                    .split = k == t.code.other_operand ? t.code.other : t.code.layout,
                    .partial = t.code.partial_of(k),
                    .bytes = op.in[o].elements == kind::real ? static_cast<int>(sizeof(element)) : 4});
  }
  return s;
}
std::string text_of(operation const& op, typed_case const& t, situation const& s) {
  std::string where = op.name + ", mesh " + text_of(s.mesh) + ", layout " + text_of(t.code.layout);
  if (t.code.other_operand >= 0)
    where += ", operand " + std::to_string(t.code.other_operand) + " " + text_of(t.code.other);
  if (op.takes_layout) where += ", to " + text_of(t.code.other);
  for (std::size_t o = 0; o < s.in.size(); ++o)
    if (s.in[o].partial != 0)
      where += ", operand " + std::to_string(o) + " partial over " + text_of(s.mesh, s.in[o].partial);
  return where;
}

answer answered(operation const& op, situation const& s, typed_case const& t) {
  answer a = op.sends(s);
  if (!a.partial_known && t.out != nullptr) a.out.partial = t.out->partial;
  return a;
}

/// The passes once more, backward into slots that hold something already: what was there must be added to, nobody
/// else's memory written to, and nothing else sent. `first`: what the passes left in empty slots. A text if anything is
/// wrong.
std::string pass_again(team& ranks, problem const& q, typed_case const& t, situation const& s, answer const& want,
                       std::vector<outcome> const& first, rota& turns) {
  auto const& m = s.mesh;
  std::vector<held_before> before(q.in.size());
  for (std::size_t o = 0; o < before.size(); ++o) {
    if (q.op->in[o].elements != kind::real) continue;
    set const free = (bit(m.axes) - 1U) & ~s.in[o].axes(), alike = first[0].partial[o];
    set const unlike =
        (t.code.layout + s.seed) % 2 == 0 ? free & ~alike : free;  // the other axes, or these with others
    before[o] = turns.next(o, t.mesh, {.alike = alike, .unlike = unlike != alike ? unlike : 0U});
  }
  std::vector<outcome> found;
  if (std::string error = ranks.pass(found, q, t, s, want, before); !error.empty()) return error;
  for (std::size_t o = 0; o < before.size(); ++o) {
    if (before[o].what == content::nothing) continue;
    std::string const name = "gradient of operand " + std::to_string(o) + ", whose slot held \"" +
                             name_of_content[static_cast<std::size_t>(before[o].what)] + "\", ";
    auto const compared = [&](numbers expected, bool complete, double tolerance, char const* with) {
      std::vector<numbers const*> shards;
      for (auto const& r : found) shards.push_back(complete ? &r.sums[o] : &r.gradients[o]);
      place p = s.in[o];
      p.partial = complete ? 0 : found[0].partial[o];
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += before[o].count() * q.earlier[o][i];
      return compare(m, p, shards, expected, tolerance, (name + (complete ? "completed, " : "") + with).c_str());
    };
    for (bool const complete : {false, true}) {
      if (auto wrong = compared(q.gradients[o], complete, differentiated, "against the definition"); !wrong.empty())
        return wrong;
      if (q.one_rank_gradients.size() <= o) continue;
      if (auto wrong = compared(q.one_rank_gradients[o], complete, exact, "against one rank"); !wrong.empty())
        return wrong;
    }
  }
  for (std::size_t r = 0; r < found.size(); ++r) {
    if (!found[r].broken.empty()) return "rank " + std::to_string(r) + ": " + found[r].broken;
    if (want.sends_known && found[r].backward != want.backward)
      return "rank " + std::to_string(r) + " sent backward, into slots that held something, " +
             text_of(m, found[r].backward) + "; expected " + text_of(m, want.backward);
  }
  return {};
}

}  // namespace

tally judge::run(operation const& op) {
  if constexpr (special) return run_special(op);
  tally count;
  problem q = posed(op);
  rota turns(op.in.size());
  for (auto const& table : op.cases)
    for (auto const& t : table) {
      ++count.cases;
      auto const& m = mesh_of[static_cast<std::size_t>(t.mesh)];
      situation s = situated(op, t);
      std::string where = text_of(op, t, s);
      auto const fail = [&](std::string what) {
        if (what.empty()) return;
        ++count.failures;
        failures_.push_back({where, std::move(what)});
      };

      // The verdict.
      bool works = !op.never_works && divides(m, t.code.layout);
      if (t.code.other_operand >= 0 || op.takes_layout) works = works && divides(m, t.code.other);
      for (auto const& p : s.in) works = works && can_lie(m, p);
      works = works && can_meet(m, s.in);
      answer want;
      if (works) {
        want = answered(op, s, t);
        works = can_lie(m, want.out);
      }
      bool const refused = t.no_tensors || t.refused;
      if (works && refused)
        fail(t.no_tensors ? "refused (an operand), though it could work" : "refused, though it could work");
      if (!works && !refused) fail("accepted, though it cannot work");
      if (!works && refused) ++count.refused;
      if (!works || refused) continue;
      fail(compare(*t.out, want.out));

      // The passes: with the whole gradient, and with gradients partial over what does not split the result.
      std::vector<set> seeds{0};
      set const free = (bit(m.axes) - 1U) & ~want.out.axes();
      if (op.differentiable) {
        for (int x = 0; x < m.axes; ++x)
          if (in(free, x)) seeds.push_back(bit(x));
        if ((free & (free - 1U)) != 0) seeds.push_back(free);
      }
      std::string const at = where;
      set const again = seeds[static_cast<std::size_t>(count.cases) % seeds.size()];
      for (set const seed : seeds) {
        ++count.runs;
        where = at + (seed == 0 ? "" : ", gradient partial over " + text_of(m, seed));
        s.seed = seed;
        want = answered(op, s, t);
        std::vector<outcome> found;
        if (std::string const error = ranks_.pass(found, q, t, s, want); !error.empty()) {
          fail(error);
          continue;
        }
        std::vector<numbers const*> shards;
        for (auto const& r : found) shards.push_back(&r.out);
        int const before = count.failures;
        fail(compare(m, want.out, shards, q.out, exact, "result against the definition"));
        if (t.mesh == 0 && q.one_rank_out.empty()) q.one_rank_out = found[0].out;
        if (!q.one_rank_out.empty())
          fail(compare(m, want.out, shards, q.one_rank_out, exact, "result against one rank"));
        for (std::size_t o = 0; op.differentiable && o < op.in.size(); ++o) {
          if (op.in[o].elements != kind::real) continue;
          shards.clear();
          for (auto const& r : found) shards.push_back(&r.gradients[o]);
          std::string const name = "gradient of operand " + std::to_string(o);
          place p = s.in[o];
          p.partial = found[0].partial[o];
          fail(compare(m, p, shards, q.gradients[o], differentiated, (name + " against the definition").c_str()));
          if (t.mesh == 0 && q.one_rank_gradients.size() == o) {
            q.one_rank_gradients.push_back(found[0].gradients[o]);
            if (found[0].gradients[o].empty()) q.one_rank_gradients.back().resize(q.in[o].size());
          }
          if (q.one_rank_gradients.size() > o)
            fail(compare(m, p, shards, q.one_rank_gradients[o], exact, (name + " against one rank").c_str()));
          if (want.sends_known && p.partial != want.gradients[o])
            fail(name + ": left partial over " + text_of(m, p.partial) + ", expected " + text_of(m, want.gradients[o]));
        }
        if (want.sends_known) {
          ++count.sends;
          for (std::size_t r = 0; r < found.size() && count.failures == before; ++r) {
            if (found[r].forward != want.forward)
              fail("rank " + std::to_string(r) + " sent forward " + text_of(m, found[r].forward) + "; expected " +
                   text_of(m, want.forward));
            if (found[r].backward != want.backward)
              fail("rank " + std::to_string(r) + " sent backward " + text_of(m, found[r].backward) + "; expected " +
                   text_of(m, want.backward));
          }
        }
        if (seed == again && op.differentiable && count.failures == before) {
          ++count.runs;
          fail(pass_again(ranks_, q, t, s, want, found, turns));
        }
      }
    }
#ifndef MTF_SWEEP_SLICES  // a slice of the full sweep has not every case
  if (std::string const missing = turns.missing(); !missing.empty()) {
    ++count.failures;
    failures_.push_back({op.name, missing});
  }
#endif
  return count;
}

tally judge::run_special(operation const& op) {
  tally count;
  for (std::uint64_t draw = 0; draw < recipes.size() * draws; ++draw) {
    recipe const made = recipes[draw / draws];
    problem q = posed(op, made, draw);
    for (auto const& table : op.cases)
      for (auto const& t : table) {
        auto const& m = mesh_of[static_cast<std::size_t>(t.mesh)];
        if (t.no_tensors || t.refused) continue;  // rightly: the sweep of layouts
        if (draw == 0) ++count.cases;
        if (t.mesh > 0 && t.code.partial != 0 && !made.for_partial) continue;
        situation s = situated(op, t);
        answer want = answered(op, s, t);
        want.out.partial = t.out->partial;
        set const free = made.for_partial && op.differentiable ? (bit(m.axes) - 1U) & ~want.out.axes() : 0U;
        for (set const seed : free == 0 ? std::vector<set>{0} : std::vector<set>{0, free}) {
          ++count.runs;
          s.seed = seed;
          auto const fail = [&](std::string what) {
            if (what.empty()) return;
            ++count.failures;
            failures_.push_back(
                {text_of(op, t, s) + (seed == 0 ? "" : ", gradient partial over " + text_of(m, seed)) + text_of(made),
                 std::move(what)});
          };
          std::vector<outcome> found;
          if (std::string const error = ranks_.pass(found, q, t, s, want); !error.empty()) {
            fail(error);
            continue;
          }
          std::vector<numbers const*> shards;
          for (auto const& r : found) shards.push_back(&r.out);
          if (t.mesh == 0) {
            q.one_rank_out = found[0].out;
            q.one_rank_gradients = found[0].gradients;
            for (std::size_t o = 0; o < op.in.size(); ++o) q.one_rank_gradients[o].resize(q.in[o].size());
            if (made.in_domain)
              fail(compare(m, want.out, shards, q.out, {limits.tolerance, false}, "result against the definition"));
          }
          agreement const exact{0, !made.for_partial}, rounded{limits.tolerance, false};
          fail(compare(m, want.out, shards, q.one_rank_out, op.sums ? rounded : exact, "result against one rank"));
          for (std::size_t o = 0; op.differentiable && o < op.in.size(); ++o) {
            if (op.in[o].elements != kind::real) continue;
            shards.clear();
            for (auto const& r : found) shards.push_back(&r.gradients[o]);
            place p = s.in[o];
            p.partial = found[0].partial[o];
            bool const sums = op.sums || (want.out.dim_set() & ~p.dim_set()) != 0;
            fail(compare(m, p, shards, q.one_rank_gradients[o], sums ? rounded : exact,
                         ("gradient of operand " + std::to_string(o) + " against one rank").c_str()));
          }
        }
      }
  }
  return count;
}

}  // namespace sweep
