#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "special.hpp"
#include "typed.hpp"

namespace sweep {

namespace {

constexpr double exact = 1e-12;  // between layouts, and between the library and the definition

/// How many cases an operation gets on a mesh, by value: of ctest's sample, or so many of each family.
constexpr budget value_budget(int mesh, int most) {
  constexpr int all = 1 << 20;
  auto const& m = mesh_of[static_cast<std::size_t>(mesh)];
  if (special) return mesh == 0 ? budget{1, 0, 0, 0} : mesh == 1 ? budget{1, 1, 0, 0} : budget{3, 2, 0, 0};
  if (most > 0) return {most, most, most, most};
  if (m.inside_node != 0) return {1, 9, 0, 0};  // only sums over both axes are different
  switch (m.axes) {
    case 0:
      return {1, 0, 0, 0};
    case 1:
      return {all, 4, 2, 2};
    case 2:
      return {13, 13, 6, 6};
    default:
      return {17, 17, 6, 6};
  }
}

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
        for (std::size_t i = 0; i < sum.size(); ++i) {
          sum[i] += x[i];
          if (at[i] == pad && !(x[i] == 0)) return std::string(what) + ": a pad is not 0";
        }
      }
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (at[i] != pad && !(std::abs(sum[i] - want[at[i]]) <= tolerance * scale)) {
        std::ostringstream s;
        s.precision(15);
        s << what << ": rank " << r << ", element " << at[i] << ": " << sum[i] << ", expected " << want[at[i]];
        return s.str();
      }
  }
  return {};
}

/// The global tensor that one rank has.
numbers without_pads(place const& p, numbers const& with_pads) {
  auto const at = positions(mesh_of[0], p, 0);
  numbers x;
  for (std::size_t i = 0; i < with_pads.size(); ++i)
    if (at[i] != pad) x.push_back(with_pads[i]);
  return x;
}

/// The sharding that the library states, against the one expected.
std::string compare(mtf::sharding const& found, place const& want) {
  bool same = found.ndim == static_cast<int>(want.dims.size()) && found.partial == want.partial;
  for (int k = 0; same && k < found.ndim; ++k) {
    int const d = want.dims[static_cast<std::size_t>(k)];
    unsigned const six = split_of(want.split, d);
    same = found[k].extent == stored_of[static_cast<std::size_t>(d)] &&
           found[k].logical() == extent_of[static_cast<std::size_t>(d)] && found[k].split.size == depth(six);
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
  std::string where = op.name + (t.arrange != nullptr ? " by value" : "") + ", mesh " + text_of(s.mesh) + ", layout " +
                      text_of(t.code.layout);
  if (t.code.other_operand >= 0)
    where += ", operand " + std::to_string(t.code.other_operand) + " " + text_of(t.code.other);
  if (op.form.takes_layout) where += ", to " + text_of(t.code.other);
  for (std::size_t o = 0; o < s.in.size(); ++o)
    if (s.in[o].partial != 0)
      where += ", operand " + std::to_string(o) + " partial over " + text_of(s.mesh, s.in[o].partial);
  return where;
}

/// `partial`: over which axes the result is, as the library says.
answer answered(operation const& op, situation const& s, set partial) {
  answer a = op.sends(s);
  if (!a.partial_known) a.out.partial = partial;
  return a;
}
/// Whether the operation can work on operands that lie so. A layout that is a type must divide all dimensions that it
/// names, one that is a value those of the tensors that lie so.
bool can_work(operation const& op, typed_case const& t, situation const& s) {
  auto const& m = s.mesh;
  auto const divides_dims = [&](place const& p) { return divides(m, of_dims(p.split, p.dim_set())); };
  bool works = !op.never_works;
  for (std::size_t d = 0; d < dim_count; ++d)
    works = works && (!in(op.unpadded, static_cast<int>(d)) || stored_of[d] == extent_of[d]);
  if (t.arrange == nullptr) {
    works = works && divides(m, t.code.layout);
    if (t.code.other_operand >= 0 || op.form.takes_layout) works = works && divides(m, t.code.other);
  }
  for (auto const& p : s.in) works = works && divides_dims(p) && can_lie(m, p);
  auto meet = s.in;
  for (auto& p : meet)
    for (int d = 0; d < dim_count; ++d)
      if (in(op.gathered, d)) p.split = with_split(p.split, d, 0);
  if (int const d = op.goes_round; d >= 0) {
    unsigned const of_keys = split_of(s.in[1].split, d);
    bool goes = of_keys == split_of(s.in[2].split, d);
    for (auto const& p : s.in)
      for (int still = 0; still < dim_count; ++still) goes = goes && (!in(op.whole, still) || p.axes(still) == 0);
    if (!goes && (s.in[1].axes(d) & s.in[0].axes()) != 0) return false;  // be it an axis of one rank
    if (goes)
      for (auto& p : meet)
        if (split_of(p.split, d) == of_keys) p.split = with_split(p.split, d, 0);
  }
  if (!works || !can_meet(m, meet)) return false;
  place const out = op.sends(s).out;
  return divides_dims(out) && can_lie(m, out);
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
      if (auto wrong = compared(q.gradients[o], complete, exact, "against the definition"); !wrong.empty())
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

template <class F>
void judge::each_case(operation const& op, F const& f) const {
  for (int mesh = 0; mesh < mesh_count; ++mesh) {
    for (auto const& t : op.cases[static_cast<std::size_t>(mesh)]) f(t);
    typed_case t = op.any_layout();
    t.mesh = mesh;
    each_chosen(op.form, mesh, most_ > 0, total_on(op.form, mesh, most_ > 0), value_budget(mesh, most_),
                op.phase + (special ? static_cast<int>(sizeof(element)) : 0), [&](case_code const& code) {
                  t.code = code;
                  f(t);
                });
  }
}

tally judge::run(operation const& op) {
  if constexpr (special) return run_special(op);
  tally count;
  problem q = posed(op);
  rota turns(op.in.size());
  each_case(op, [&](typed_case const& t) {
    ++count.cases;
    auto const& m = mesh_of[static_cast<std::size_t>(t.mesh)];
    situation s = situated(op, t);
    std::string where = text_of(op, t, s);
    auto const fail = [&](std::string what) {
      if (what.empty()) return;
      ++count.failures;
      failures_.push_back({where, std::move(what)});
    };

    // The verdict. By value the operation is asked; in types the compiler was.
    bool const works = can_work(op, t, s);
    bool refused = t.no_tensors || t.refused;
    set partial = 0;
    if (!refused && ((t.arrange != nullptr && !works) || (works && !op.sends(s).partial_known))) {
      reply const said = ranks_.ask(q, t, s);
      if (!said.error.empty()) return fail(said.error);
      refused = said.refused;
      partial = said.out.partial;
    }
    if (works && refused)
      fail(t.no_tensors ? "refused (an operand), though it could work" : "refused, though it could work");
    if (!works && !refused) fail("accepted, though it cannot work");
    if (!works && refused) ++count.refused;
    if (!works || refused) return;
    answer want = answered(op, s, partial);

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
      want = answered(op, s, partial);
      std::vector<outcome> found;
      if (std::string const error = ranks_.pass(found, q, t, s, want); !error.empty()) {
        fail(error);
        continue;
      }
      std::vector<numbers const*> shards;
      for (auto const& r : found) shards.push_back(&r.out);
      int const before = count.failures;
      if (seed == 0) fail(compare(found[0].spec, want.out));
      fail(compare(m, want.out, shards, q.out, exact, "result against the definition"));
      if (t.mesh == 0 && q.one_rank_out.empty()) q.one_rank_out = without_pads(want.out, found[0].out);
      if (!q.one_rank_out.empty()) fail(compare(m, want.out, shards, q.one_rank_out, exact, "result against one rank"));
      for (std::size_t o = 0; op.differentiable && o < op.in.size(); ++o) {
        if (op.in[o].elements != kind::real) continue;
        shards.clear();
        for (auto const& r : found) shards.push_back(&r.gradients[o]);
        std::string const name = "gradient of operand " + std::to_string(o);
        place p = s.in[o];
        p.partial = found[0].partial[o];
        fail(compare(m, p, shards, q.gradients[o], exact, (name + " against the definition").c_str()));
        if (t.mesh == 0 && q.one_rank_gradients.size() == o) {
          q.one_rank_gradients.push_back(without_pads(s.in[o], found[0].gradients[o]));
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
  });
  if (std::string const missing = turns.missing(); !missing.empty()) {
    ++count.failures;
    failures_.push_back({op.name, missing});
  }
  return count;
}

tally judge::run_special(operation const& op) {
  tally count;
  for (std::uint64_t draw = 0; draw < recipes.size() * draws; ++draw) {
    recipe const made = recipes[draw / draws];
    problem q = posed(op, made, draw);
    each_case(op, [&](typed_case const& t) {
      auto const& m = mesh_of[static_cast<std::size_t>(t.mesh)];
      situation s = situated(op, t);
      if (t.refused || !can_work(op, t, s)) return;  // the sweep of layouts asks whether rightly
      if (draw == 0) ++count.cases;
      if (t.mesh > 0 && t.code.partial != 0 && !made.for_partial) return;
      answer want = op.sends(s);
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
        want.out.partial = found[0].spec.partial;  // whether rightly: the sweep of layouts
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
          std::string const name = "gradient of operand " + std::to_string(o);
          if (t.mesh == 0 && made.in_domain)
            fail(compare(m, p, shards, q.gradients[o], {limits.tolerance, false, &q.errors[o]},
                         (name + " against the definition").c_str()));
          fail(compare(m, p, shards, q.one_rank_gradients[o], sums ? rounded : exact,
                       (name + " against one rank").c_str()));
        }
      }
    });
  }
  return count;
}

}  // namespace sweep
