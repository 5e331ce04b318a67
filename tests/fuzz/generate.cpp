// What programs consist of, and random ones.
#include <algorithm>
#include <random>

#include "draw.hpp"
#include "execute.hpp"

namespace fuzz {

table const& entries() {
  static table const all = [] {
    table x;
    auto const of = [&]<class T>(T*) {
      add_elementwise<T>(x);
      add_contractions<T>(x);
      add_reductions<T>(x);
      add_movements<T>(x);
      add_nn<T>(x);
      add_created<T>(x);
    };
    of(static_cast<double*>(nullptr));
    of(static_cast<float*>(nullptr));
    of(static_cast<mtf::bfloat16*>(nullptr));
    add_integers(x);
    return x;
  }();
  return all;
}

mtf::extents_value given_extents(program const& p) {
  mtf::extents_value all;
  for (std::size_t d = 0; d < dim_names.size(); ++d) all.give(dim_names[d], p.extents[d], p.padded_to[d]);
  return all;
}

given const* given_at(program const& p, std::size_t tensor) {
  auto const& parameters = parameters_of(p);
  if (tensor < parameters.size()) return &parameters[tensor].as;
  tensor -= parameters.size();
  return tensor < p.inputs.size() ? &p.inputs[tensor] : nullptr;
}
kind const& kind_at(program const& p, std::size_t tensor) {
  if (auto const* g = given_at(p, tensor)) return g->of;
  return entries()[p.lines[tensor - first_result(p)].entry].out;
}

std::vector<std::size_t> used_by(program const& p, block const& lines) {
  auto const first = first_result(p) + lines.first;
  std::vector<std::size_t> used;
  for (std::size_t l = lines.first; l <= lines.last; ++l)
    for (std::size_t const o : p.lines[l].operands)
      if (o < first) used.push_back(o);
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

// Random programs ----------------------------------------------------------------------------------------------------

namespace {

using generator = std::mt19937_64;
constexpr std::size_t most_numbers = 600000;

class writer {
 public:
  explicit writer(std::uint64_t seed)
      : random_(seed), random_blocks_(~seed), random_pads_(seed * 31 + 7), random_wishes_(seed * 37 + 5) {
    p_.seed = seed;
  }

  program write() {
    p_.is_large = below(5) == 0;
    constexpr std::array types{mtf::element::f64, mtf::element::f64, mtf::element::f32, mtf::element::bf16};
    p_.of = p_.is_large ? mtf::element::f64 : types[below(types.size())];
    shares_ = p_.is_large && below(2) == 0;
    choose_extents();
    do {
      choose_mesh();
      choose_layouts();
    } while (!parameters_fit() || (shares_ && p_.layouts[0].split_of(b::id).size == 0));
    mtf::trace on(p_.mesh.shape);
    on.layouts().give(given_extents(p_));
    for (auto const& layout : p_.layouts) on.layouts().add(layout);
    for (auto const& x : parameters_of(p_)) give(on, x.as);
    for (std::size_t n = 2 + below(5); p_.inputs.size() < n;) choose_input(on);
    auto const wished = random_wishes_() % 4 == 0 ? choose_wished(on) : entries().size();
    if (shares_ && in_ten(4)) choose_late_reader(on);
    if (wished < entries().size()) call_entry(wished, choose_operands(entries()[wished]));
    std::size_t const most = p_.is_large ? 12 : 38;
    std::size_t const count = shares_ ? 4 + below(9) : 3 + below(1 + below(most));
    for (int tries = 0;
         p_.lines.size() < count && tries < (p_.is_large ? 2000 : 600) && m_.numbers.size() < most_numbers; ++tries)
      choose_line();
    choose_terms();
    if (below(20) == 0) choose_refused();
    auto const how = below(20);
    if (p_.is_large)
      p_.how = how < 2 ? mode::later : how < 11 ? mode::updated : how < 18 ? mode::overlapped : mode::kept;
    else
      p_.how = how < 8 ? mode::later : how < 17 ? mode::overlapped : mode::kept;
    p_.frees = p_.how != mode::kept && below(2) == 0;
    p_.again = p_.seed % 3 == 0;
    if (random_blocks_() % 2 == 0)
      for (auto n = 1 + random_blocks_() % 4; n > 0; --n) choose_block();
    drop_unused_rules(p_);
    tensors_.clear();  // before the trace that they are on
    return p_;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool in_ten(std::size_t n) { return below(10) < n; }

  /// In half of the programs others than the usual ones.
  void choose_extents() {
    constexpr std::array<int, 8> some{1, 2, 4, 6, 8, 12, 16, 24};
    auto& e = p_.extents;
    if (random_blocks_() % 2 == 0)
      for (std::size_t d = 0; d < 3; ++d) e[d] = some[random_blocks_() % some.size()];
    // In a third some have pads, so that what ranks do not divide can be split, and ranks may have nothing else.
    auto& multiples = p_.padded_to;
    if (random_pads_() % 3 == 0)
      for (std::size_t d = 0; d < 3; ++d) {
        constexpr std::array<int, 6> of{1, 2, 3, 4, 8, 12};
        multiples[d] = of[random_pads_() % of.size()];
        if (random_pads_() % 2 == 0) e[d] = 1 + static_cast<int>(random_pads_() % 12);
      }
    e[4] = e[0];
    multiples[4] = multiples[0];
    m_.extents = e;
  }
  void choose_mesh() {
    constexpr std::array<int, 6> sizes{2, 2, 2, 4, 3, 1};
    auto const wanted = below(20);
    int const most = wanted < 11 ? 4 : wanted < 16 ? 8 : wanted < 19 ? 16 : 64;
    auto& m = p_.mesh;
    m = {};
    auto const axes = 1 + below(4);
    for (std::size_t x = 0; x < axes; ++x) {
      int const size = sizes[below(sizes.size())];
      if (m.shape.size() * size > most) continue;
      auto const at = static_cast<std::size_t>(m.shape.ndim++);
      m.shape.extent[at] = size;
      m.names[at] = mtf::short_name(std::string_view("pqrs").substr(at, 1));
    }
    if (in_ten(3)) m.shape.node_axes = static_cast<mtf::axis_mask>(below(std::size_t{1} << m.shape.ndim));
  }
  mtf::layout_value random_layout() {
    mtf::layout_value l{.mesh = p_.mesh};
    std::array<mtf::axis_list, dim_count> split{};
    auto const add = [&](std::size_t d, int axis) {
      auto wider = split[d];
      wider.push(axis);
      if (stored(p_, d) % p_.mesh.shape.size(wider.mask()) == 0) split[d] = wider;
    };
    std::vector<int> axes;
    for (int x = 0; x < p_.mesh.shape.ndim; ++x) axes.push_back(x);
    std::ranges::shuffle(axes, random_);
    for (int const axis : axes) {
      if (in_ten(2)) continue;
      // Large gradients are those of large shards: their dimensions are split seldom.
      constexpr std::array<std::size_t, 3> others{1, 2, 4};
      auto const d = !p_.is_large ? below(dim_count - 1) : in_ten(7) ? others[below(3)] : below(dim_count);
      add(d, axis);
      if (in_ten(3)) add(4, axis);  // two dimensions that few tensors have both
      if (below(20) == 0) add(below(4), axis);
    }
    for (std::size_t d = 0; d < split.size(); ++d)
      if (split[d].size > 0) {
        mtf::axis_list once;
        for (int i = 0; i < split[d].size; ++i)
          if (((once.mask() >> static_cast<unsigned>(split[d][i])) & 1U) == 0) once.push(split[d][i]);
        l.split(dim_names[d], once);
      }
    return l;
  }
  void choose_layouts() {
    p_.layouts[0] = random_layout();
    for (std::size_t i = 1; i < layout_count; ++i) p_.layouts[i] = in_ten(3) ? p_.layouts[below(i)] : random_layout();
  }
  /// Can a tensor lie so? The axes of its dimensions must differ. (Extents are divided: see above.)
  [[nodiscard]] bool fits(kind const& of, mtf::layout_value const& l, mtf::axis_mask partial = 0) const {
    mtf::axis_mask taken = partial;
    for (int const d : of.dims) {
      auto const axes = l.split_of(mtf::detail::hash_of(dim_names[static_cast<std::size_t>(d)])).mask();
      if ((axes & taken) != 0) return false;
      taken |= axes;
    }
    return true;
  }
  [[nodiscard]] bool parameters_fit() const {
    return std::ranges::all_of(parameters_of(p_),
                               [&](parameter const& x) { return fits(x.as.of, p_.layouts[x.as.layout]); });
  }
  mtf::axis_mask random_axes() {
    return in_ten(shares_ ? 2 : 6) ? 0 : static_cast<mtf::axis_mask>(below(std::size_t{1} << p_.mesh.shape.ndim));
  }
  void give(mtf::trace& on, given const& g) {
    tensors_.push_back(calls_for<mtf::trace>(g.of).make(on, g));
    m_.tensors.push_back(numbers_of(m_.numbers, g, p_.extents, p_.mesh.shape));
    uses_.push_back(0);
    kinds_.push_back(g.of);
  }
  void choose_input(mtf::trace& on) {
    kind of = all_kinds()[below(all_kinds().size())];
    if (is_wide(of) && !p_.is_large) return;
    if (is_floating(of.element) && !is_wide(of) && in_ten(6)) of.element = p_.of;
    choose_input(on, of);
  }
  void choose_input(mtf::trace& on, kind const& of) {
    given g{.of = of, .layout = below(layout_count), .partial = random_axes(), .salt = random_() >> 16U};
    if (g.of.element == mtf::element::boolean) {
      g.low = 0, g.partial = 0;
    } else if (!is_floating(g.of.element)) {
      g.high = 3;
    } else if (in_ten(4)) {
      g.low = 0.5, g.high = 1.5;
    }
    if (!fits(g.of, p_.layouts[g.layout], g.partial)) return;
    p_.inputs.push_back(g);
    give(on, g);
  }
  /// An entry to be called first, with inputs of all kinds that it takes: some of them seldom meet by chance.
  std::size_t choose_wished(mtf::trace& on) {
    auto const at = static_cast<std::size_t>(random_wishes_() % entries().size());
    if (is_wide(entries()[at]) && !p_.is_large) return entries().size();
    for (auto const& wanted : entries()[at].in)
      if (std::ranges::find(kinds_, wanted) == kinds_.end()) choose_input(on, wanted);
    return at;
  }
  /// Operands of an entry; empty if there are none of a kind.
  std::vector<std::size_t> choose_operands(entry const& e) {
    std::vector<std::size_t> from;
    for (auto const& wanted : e.in) {
      std::vector<std::size_t> fitting;
      for (std::size_t i = 0; i < kinds_.size(); ++i)
        if (kinds_[i] == wanted) fitting.push_back(i);
      if (fitting.empty()) return {};
      from.push_back(in_ten(4) ? fitting.back() : fitting[below(fitting.size())]);
    }
    return from;
  }
  erased called(entry const& e, std::vector<std::size_t> const& from) {
    std::vector<erased> x;
    for (std::size_t const o : from) x.push_back(tensors_[o]);
    try {
      return e.in_plan(x.data());
    } catch (mtf::user_error const&) {
      return nullptr;
    }
  }
  static bool is_wide(kind const& x) { return std::ranges::find(x.dims, 5) != x.dims.end(); }
  static bool is_wide(entry const& e) {
    return is_wide(e.out) || std::ranges::any_of(e.in, [](kind const& x) { return is_wide(x); });
  }
  /// The entries with large tensors; those that pass gradients on as they are, so that memory is shared, several times.
  static std::vector<std::size_t> const& wide_entries() {
    static std::vector<std::size_t> const all = [] {
      std::vector<std::size_t> x;
      for (std::size_t i = 0; i < entries().size(); ++i)
        if (is_wide(entries()[i])) x.insert(x.end(), entries()[i].text == "x + y" ? 6 : 1, i);
      return x;
    }();
    return all;
  }
  void choose_line() {
    if (in_ten(1)) return choose_shared();
    auto const at =
        p_.is_large && in_ten(shares_ ? 9 : 6) ? wide_entries()[below(wide_entries().size())] : below(entries().size());
    call_entry(at, choose_operands(entries()[at]));
  }
  void call_entry(std::size_t at, std::vector<std::size_t> const& from) {
    auto const& e = entries()[at];
    if (from.empty()) return;
    auto const made = called(e, from);
    if (!made || !interpret(m_, e, from)) return;
    p_.lines.push_back({at, from});
    for (std::size_t const o : from) ++uses_[o];
    tensors_.push_back(made);
    uses_.push_back(0);
    kinds_.push_back(e.out);
  }
  template <class All, class F>
  static std::size_t index_in(All const& all, F const& f) {
    return static_cast<std::size_t>(std::ranges::find_if(all, f) - all.begin());
  }
  static std::size_t entry_of(std::string_view text, std::vector<kind> const& in) {
    return index_in(entries(), [&](entry const& e) { return e.text == text && e.in == in; });
  }
  /// A parameter that nothing else uses, and a result: its gradient is final while others read the same memory.
  void choose_shared() {
    auto const parameter = below(parameters_of(p_).size());
    auto const add = entry_of("x + y", {kinds_[parameter], kinds_[parameter]});
    if (uses_[parameter] > 0 || add == entries().size()) return;
    std::vector<std::size_t> results;
    for (std::size_t i = first_result(p_); i < kinds_.size(); ++i)
      if (kinds_[i] == kinds_[parameter]) results.push_back(i);
    if (!results.empty()) call_entry(add, {parameter, results[below(results.size())]});
  }
  /// Three large gradients that are final one after the other; another tensor has the memory of the first, and reads it
  /// last. Only then it is seen whether reducing one gives back what others hold.
  void choose_late_reader(mtf::trace& on) {
    kind const of{.element = p_.of, .dims = {0, 5}}, row{.element = p_.of, .dims = {5}};
    auto const named = [&](std::string_view name) {
      return index_in(parameters_of(p_), [&](parameter const& x) { return x.name == name; });
    };
    auto const add = entry_of("x + y", {of, of}), multiply = entry_of("x * y", {of, row});
    p_.inputs.push_back({.of = of, .salt = random_() >> 16U});
    give(on, p_.inputs.back());
    call_entry(multiply, {tensors_.size() - 1, named("of_wide")});
    auto const reader = tensors_.size() - 1;
    for (auto const* name : {"w2", "w3"}) call_entry(multiply, {named(name), named("of_wide")});
    call_entry(add, {named("w1"), reader});
  }
  void choose_terms() {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (!is_floating(kinds_[i].element)) continue;
      bool const result = i >= first_result(p_);
      if (!(result && uses_[i] == 0) && below(10) != 0) continue;
      auto const splits = calls_for<mtf::trace>(kinds_[i]).place(tensors_[i]).spec.split_axes();
      // Gradients that are partial over just what splits the optimizer's state are reduce-scattered.
      auto const state = p_.layouts[0].split_of(b::id).mask() | p_.layouts[0].split_of(c::id).mask();
      p_.terms.push_back({i, (shares_ && in_ten(6) ? state : random_axes()) & ~splits});
    }
    if (p_.terms.empty()) p_.terms.push_back({0, 0});
  }
  void choose_refused() {
    for (int tries = 0; tries < 400; ++tries) {
      auto const at = below(entries().size());
      auto const from = choose_operands(entries()[at]);
      if (from.empty() || called(entries()[at], from)) continue;
      p_.lines.push_back({at, from});
      p_.refused = true;
      return;
    }
  }

  /// The innermost block that a line is in; null: in none.
  [[nodiscard]] block const* around(std::size_t line) const {
    block const* innermost = nullptr;
    for (auto const& x : p_.blocks)
      if (x.first <= line && line <= x.last) innermost = &x;
    return innermost;
  }
  /// A line, and some of those whose results nothing else needs: they are called just before it.
  void choose_block() {
    auto const first = first_result(p_), count = p_.lines.size() - (p_.refused ? 1 : 0);
    if (count == 0) return;
    std::size_t const last = random_blocks_() % count;
    std::vector<bool> inside(p_.lines.size());
    inside[last] = true;
    std::size_t size = 1;
    for (std::size_t l = last; l-- > 0;) {
      bool needed = around(l) != around(last) || random_blocks_() % 8 == 0;
      for (auto const& t : p_.terms) needed = needed || t.of == first + l;
      for (std::size_t other = l + 1; other < p_.lines.size(); ++other)
        for (std::size_t const o : p_.lines[other].operands) needed = needed || (o == first + l && !inside[other]);
      if (needed) continue;
      inside[l] = true;
      ++size;
    }
    std::vector<std::size_t> to(p_.lines.size());
    std::size_t before = 0, at = last + 1 - size;
    for (std::size_t l = 0; l < to.size(); ++l) to[l] = l > last ? l : inside[l] ? at++ : before++;
    auto const moved = [&](std::size_t& tensor) {
      if (tensor >= first) tensor = first + to[tensor - first];
    };
    auto const lines = p_.lines;
    for (std::size_t l = 0; l < to.size(); ++l) {
      p_.lines[to[l]] = lines[l];
      for (std::size_t& o : p_.lines[to[l]].operands) moved(o);
    }
    for (auto& t : p_.terms) moved(t.of);
    for (auto& x : p_.blocks)
      if (last < x.first || x.last < last) x = {to[x.first], to[x.last]};
    p_.blocks.push_back({last + 1 - size, last});
    std::ranges::sort(p_.blocks, [](block const& x, block const& y) {
      return x.first < y.first || (x.first == y.first && x.last > y.last);
    });
  }

  generator random_, random_blocks_, random_pads_, random_wishes_;  // blocks and pads change nothing else in a program
  program p_;
  bool shares_ = false;  // large gradients, many of them partial and in memory that others hold too
  meaning m_;
  std::vector<erased> tensors_;
  std::vector<int> uses_;
  std::vector<kind> kinds_;
};

}  // namespace

program random_program(std::uint64_t seed) { return writer(seed).write(); }

void drop_unused_rules(program& p) {
  std::array<bool, dim_count> seen{};
  for (std::size_t i = 0; i < first_result(p) + p.lines.size(); ++i)
    for (int const d : kind_at(p, i).dims) seen[static_cast<std::size_t>(d)] = true;
  for (auto& layout : p.layouts) {
    mtf::layout_value kept{.mesh = p.mesh};
    for (std::size_t d = 0; d < seen.size(); ++d)
      if (auto const axes = layout.split_of(mtf::detail::hash_of(dim_names[d])); seen[d] && axes.size > 0)
        kept.split(dim_names[d], axes);
    layout = kept;
  }
}

program on_one_rank(program p) {
  p.mesh = {};
  p.layouts.fill({});
  for (auto& g : p.inputs) g.partial = 0;
  for (auto& t : p.terms) t.partial = 0;
  p.again = false;
  if (p.refused) p.lines.pop_back();  // there nothing is refused
  p.refused = false;
  return p;
}

}  // namespace fuzz
