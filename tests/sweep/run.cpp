#include "run.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <sstream>

#include "special.hpp"
#include "team.hpp"
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

/// Everything about an operation that does not depend on a case.
struct problem {
  operation const* op = nullptr;
  std::uint64_t salt = 0;
  std::vector<numbers> in, gradients;  // gradients by definition, of the weighted sum of the result
  std::vector<numbers> earlier;        // gradients that flowed to the operands before
  numbers out, weights;
  std::vector<numbers> one_rank_gradients;  // the library's own answer without a mesh
  numbers one_rank_out;
  recipe made;        // special values alone
  bool sums = false;  // forward or backward
};

std::uint64_t hash_of(std::string_view s) {
  std::uint64_t h = 1469598103934665603ULL;
  for (char const c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

problem posed(operation const& op) {
  problem p;
  p.op = &op;
  p.salt = hash_of(op.name);
  std::mt19937_64 random(p.salt);
  for (auto const& o : op.in) {
    numbers x(global_size(o.dims));
    for (double& v : x) {
      v = o.low + (o.high - o.low) * std::uniform_real_distribution<double>()(random);
      if (o.integers || o.elements == kind::whole) v = std::floor(v);
      if (o.grid > 0) v = (std::floor(v / o.grid) + 0.5) * o.grid;
    }
    p.in.push_back(std::move(x));
  }
  p.out = op.define(p.in);
  p.weights.resize(p.out.size());
  for (double& w : p.weights) w = std::uniform_real_distribution<double>(0.5, 1.5)(random);
  for (auto const& x : p.in)
    for (double& g : p.earlier.emplace_back(x.size())) g = std::uniform_real_distribution<double>(-1, 1)(random);
  auto const weighted = [&](std::vector<numbers> const& x) {
    numbers const y = op.define(x);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += p.weights[i] * y[i];
    return sum;
  };
  for (std::size_t o = 0; o < p.in.size(); ++o) {
    p.gradients.emplace_back(p.in[o].size());
    if (!op.differentiable || op.in[o].elements != kind::real) continue;
    if (op.gradient) {
      p.gradients[o] = op.gradient(p.in, p.weights, o);
      continue;
    }
    auto moved = p.in;
    constexpr double h = 1e-5;
    for (std::size_t i = 0; i < p.in[o].size(); ++i) {
      moved[o][i] = p.in[o][i] + h;
      double const above = weighted(moved);
      moved[o][i] = p.in[o][i] - h;
      p.gradients[o][i] = (above - weighted(moved)) / (2 * h);
      moved[o][i] = p.in[o][i];
    }
  }
  return p;
}

/// What the slot of an operand's gradient holds before the backward pass.
enum class content : std::uint8_t {
  complete,  // a gradient that is complete
  alike,     // one that is partial over the axes over which the operation's will be
  shared,    // likewise, in memory that another slot holds too
  unlike,    // one that is partial over other axes
  both,      // that, then one alike
  known,     // a partial one whose sum somebody asked for
  nothing
};
constexpr std::size_t contents = 6;
constexpr std::array<char const*, contents> name_of_content{"complete", "alike", "shared", "unlike", "both", "known"};
struct held_before {
  content what = content::nothing;
  set alike = 0, unlike = 0;
  [[nodiscard]] bool possible() const {
    switch (what) {
      case content::alike:
        return alike != 0;
      case content::unlike:
      case content::both:
        return unlike != alike;
      case content::known:
        return (alike | unlike) != 0;
      default:
        return true;
    }
  }
  /// How many gradients it is.
  [[nodiscard]] int count() const { return what == content::nothing ? 0 : what == content::both ? 2 : 1; }
};

/// Chooses the contents of operands' slots in turn: what each has met on the fewest meshes.
class rota {
 public:
  explicit rota(std::size_t operands) : met_(operands), could_(operands), times_(operands) {}
  held_before next(std::size_t operand, int mesh, held_before could) {
    std::size_t best = contents;
    auto const is_less = [&](std::size_t x, std::size_t y) {
      auto const weight = [&](std::size_t c) { return std::pair(std::popcount(met_[operand][c]), times_[operand][c]); };
      return weight(x) < weight(y);
    };
    for (std::size_t c = 0; c < contents; ++c) {
      could.what = static_cast<content>(c);
      if (!could.possible()) continue;
      could_[operand][c] |= bit(mesh);
      if (best == contents || is_less(c, best)) best = c;
    }
    met_[operand][best] |= bit(mesh);
    ++times_[operand][best];
    could.what = static_cast<content>(best);
    return could;
  }
  /// What some operand has not met on two meshes, or not on the one where it could; empty if there is none.
  [[nodiscard]] std::string missing() const {
    for (std::size_t o = 0; o < met_.size(); ++o)
      for (std::size_t c = 0; c < contents; ++c) {
        bool const always_complete = static_cast<content>(c) == content::alike && could_[o][c] == 0;
        if (could_[o][0] != 0 && !always_complete &&
            std::popcount(met_[o][c]) < std::clamp(std::popcount(could_[o][c]), 1, 2))
          return "the slot of operand " + std::to_string(o) + " held \"" + name_of_content[c] + "\" on too few meshes";
      }
    return {};
  }

 private:
  std::vector<std::array<unsigned, contents>> met_, could_;  // meshes
  std::vector<std::array<int, contents>> times_;
};

/// Of special values.
problem posed(operation const& op, recipe made, std::uint64_t draw) {
  problem p;
  p.op = &op;
  p.salt = hash_of(op.name) + draw;
  p.made = made;
  situation alone{.mesh = mesh_of[0], .in = {}};
  for (auto const& o : op.in) alone.in.push_back({.dims = o.dims});
  auto const out = op.sends(alone).out;
  p.sums = op.sums;
  for (auto const& o : alone.in) p.sums = p.sums || (out.dim_set() & ~o.dim_set()) != 0;
  p.made.nan = made.nan && !op.masks;
  p.made.infinite = made.infinite && !op.masks && !op.chained;
  std::mt19937_64 random(p.salt);
  for (auto const& o : op.in) p.in.push_back(drawn(o, p.made, p.sums, random));
  if (made.in_domain) p.out = op.define(p.in);
  p.weights = drawn({.dims = out.dims, .low = 0.5, .high = 1.5}, p.made, p.sums, random);
  return p;
}

/// What one rank hands back.
struct outcome {
  numbers out;
  std::vector<numbers> gradients;
  std::vector<set> partial;
  std::vector<event> forward, backward;
  std::vector<numbers> sums;  // of gradients whose slots held something: complete
  std::string broken;         // a law of what slots hold
};

template <class T>
mtf::backend::buffer<backend> to_device(backend& on, numbers const& x) {
  std::vector<T> typed;
  typed.reserve(x.size());
  for (double const v : x) typed.push_back(from_double<T>(v));
  auto memory = mtf::backend::make_buffer<T>(on, static_cast<mtf::backend::index>(typed.size()));
  on.from_host(memory->data, typed.data(), typed.size() * sizeof(T));
  return memory;
}
template <class T>
numbers from_device(backend& on, mtf::backend::buffer<backend> const& memory, std::size_t n) {
  if (!memory) return {};
  auto const typed = std::make_unique<T[]>(n);
  on.to_host(typed.get(), memory->data, n * sizeof(T));
  numbers x;
  x.reserve(n);
  for (std::size_t i = 0; i < n; ++i) x.push_back(to_double(typed[i]));
  return x;
}
numbers from_device(backend& on, mtf::element e, mtf::backend::buffer<backend> const& memory, std::size_t n) {
  switch (e) {
    case mtf::element::f64:
      return from_device<double>(on, memory, n);
    case mtf::element::f32:
      return from_device<float>(on, memory, n);
    case mtf::element::i32:
      return from_device<std::int32_t>(on, memory, n);
    case mtf::element::i64:
      return from_device<std::int64_t>(on, memory, n);
    case mtf::element::boolean:
      return from_device<bool>(on, memory, n);
    case mtf::element::bf16:
      return from_device<mtf::bfloat16>(on, memory, n);
  }
  throw std::logic_error("sweep: no element type");
}

/// A rank's share of a global tensor that lies as p says.
numbers share(mesh_code const& m, place const& p, kind elements, std::uint64_t salt, numbers const& global, int rank) {
  numbers mine;
  int const terms = m.along(p.partial), index = index_along(m, rank, p.partial);
  for (std::size_t const at : positions(m, p, rank)) mine.push_back(term(global[at], salt, at, index, terms, elements));
  return mine;
}

/// One rank's forward and backward pass; with `before`, the operands' slots hold something already.
outcome pass(problem const& q, typed_case const& t, situation const& s, answer const& want, int rank, backend& on,
             std::vector<held_before> const& before = {}) {
  using slot = mtf::detail::gradient_slot<backend, element>;
  outcome r;
  mtf::detail::tape<backend> tape(on);
  std::vector<erased> x(q.in.size()), others(q.in.size());
  auto const earlier = [&](std::size_t o, set axes) {
    place p = s.in[o];
    p.partial = axes;
    return share(s.mesh, p, kind::real, q.salt + 99 + o, q.earlier[o], rank);
  };
  for (std::size_t o = 0; o < x.size(); ++o) {
    bool const real = q.op->in[o].elements == kind::real;
    numbers const mine = share(s.mesh, s.in[o], q.op->in[o].elements, q.salt + o, q.in[o], rank);
    x[o].memory = real ? to_device<element>(on, mine) : to_device<std::int32_t>(on, mine);
    if (real && q.op->differentiable) x[o].slot = mtf::backend::ref(new slot(tape, *t.in[o]));
    if (!x[o].slot || before.empty()) continue;
    auto const& b = before[o];
    bool const over_others =
        b.what == content::unlike || b.what == content::both || (b.what == content::known && b.alike == 0);
    set const axes = b.what == content::complete ? 0 : over_others ? b.unlike : b.alike;
    auto memory = to_device<element>(on, earlier(o, axes));
    if (b.what == content::known) mtf::detail::completed<element>(*t.in[o], axes, memory);
    if (b.what == content::shared) {
      others[o].slot = mtf::backend::ref(new slot(tape, *t.in[o]));
      others[o].slot->add({memory, axes});
    }
    x[o].slot->add({std::move(memory), axes});
    if (b.what == content::both) x[o].slot->add({to_device<element>(on, earlier(o, b.alike)), b.alike});
  }
  erased y;
  on.ranks().record(&r.forward);
  t.call(on, x.data(), y);
  on.ranks().record(nullptr);
  r.out = from_device(on, t.element, y.memory, static_cast<std::size_t>(shard_size(s.mesh, want.out)));
  if (y.slot) {
    place seed = want.out;
    seed.partial = s.seed;
    y.slot->add({to_device<element>(on, share(s.mesh, seed, kind::real, q.salt + 77, q.weights, rank)), s.seed});
    on.ranks().record(&r.backward);
    tape.run();
    on.ranks().record(nullptr);
  }
  for (std::size_t o = 0; o < x.size(); ++o) {
    if (!x[o].slot) {
      r.gradients.emplace_back();
      r.partial.push_back(0);
      continue;
    }
    auto const n = static_cast<std::size_t>(shard_size(s.mesh, s.in[o]));
    std::vector<set> axes;
    x[o].slot->each([&](auto const& g) { axes.push_back(g.partial); });
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end())
      r.broken = "a slot does not add what is partial over the same axes";
    auto const g = x[o].slot->take();
    r.gradients.push_back(from_device<element>(on, g.memory, n));
    r.partial.push_back(g.memory ? g.partial : 0U);
    if (before.empty()) continue;
    r.sums.resize(x.size());
    r.sums[o] = from_device<element>(on, mtf::detail::completed<element>(*t.in[o], g.partial, g.memory), n);
    if (others[o].slot && from_device<element>(on, others[o].slot->take().memory, n) != earlier(o, before[o].alike))
      r.broken = "another slot's memory was written to";
  }
  return r;
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
  std::vector<outcome> found(first.size());
  std::string const error = ranks.run(
      m, [&](int rank, backend& on) { found[static_cast<std::size_t>(rank)] = pass(q, t, s, want, rank, on, before); });
  if (!error.empty()) return error;
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

struct judge::machines {
  team ranks;
};

judge::judge() : machines_(std::make_unique<machines>()) {}
judge::~judge() = default;

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
        std::vector<outcome> found(static_cast<std::size_t>(m.ranks()));
        std::string const error = machines_->ranks.run(
            m, [&](int rank, backend& on) { found[static_cast<std::size_t>(rank)] = pass(q, t, s, want, rank, on); });
        if (!error.empty()) {
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
          fail(pass_again(machines_->ranks, q, t, s, want, found, turns));
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
          std::vector<outcome> found(static_cast<std::size_t>(m.ranks()));
          std::string const error = machines_->ranks.run(
              m, [&](int rank, backend& on) { found[static_cast<std::size_t>(rank)] = pass(q, t, s, want, rank, on); });
          if (!error.empty()) {
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
