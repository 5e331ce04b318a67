// What programs mean: the numbers of their tensors and their gradients, by the definitions of their operations.
#include <algorithm>
#include <cmath>

#include "draw.hpp"
#include "execute.hpp"

namespace fuzz {

namespace {

constexpr double largest_number = 32, largest_integer = 1 << 20, coarsest = 0.02;

bool is_moderate(tape const& t, kind const& of, array const& x) {
  return std::ranges::all_of(x.numbers, [&](number i) {
    double const v = std::abs(t[i].value);
    if (!is_floating(of.element)) return v <= largest_integer;
    return v <= largest_number && t[i].error <= coarsest * std::max(v, 1.0) && t[i].magnitude <= 64 * largest_number;
  });
}

}  // namespace

array numbers_of(tape& t, given const& g, define::extents const& extents, mtf::mesh_shape const& mesh) {
  array x(g.of.dims, extents);
  bool const integers = !is_floating(g.of.element);
  double const terms = mesh.size(g.partial);
  for (std::size_t i = 0; i < x.numbers.size(); ++i) {
    double const v = drawn(g.salt, i, g.low, g.high, integers ? 1 : 32);
    double const magnitude = terms > 1 ? 4 * terms + std::abs(v) : 0;
    x.numbers[i] = t.constant(v, magnitude, terms > 1 ? stores_to(g.of.element) : 0);
  }
  return x;
}

bool interpret(meaning& m, entry const& e, std::vector<std::size_t> const& from) {
  double inside = computes_to(e.out.element), stored = stores_to(e.out.element);
  operands x;
  for (std::size_t o = 0; o < from.size(); ++o) {
    inside = std::max(inside, computes_to(e.in[o].element));
    stored = std::max(stored, stores_to(e.in[o].element));
    x.push_back(&m.tensors[from[o]]);
  }
  auto& t = m.numbers;
  t.round_by(inside, stored);
  auto const before = t.size();
  array y(e.out.dims, m.extents);
  e.means(t, x, y);
  if (is_floating(e.out.element))
    for (number& i : y.numbers) i = t.store(i);
  if (t.undecided() || !is_moderate(t, e.out, y)) {
    t.back_to(before);
    return false;
  }
  m.tensors.push_back(std::move(y));
  return true;
}

meaning meaning_of(program const& p) {
  meaning m;
  m.extents = p.extents;
  auto& t = m.numbers;
  auto const& mesh = p.mesh.shape;
  for (std::size_t i = 0; i < first_result(p); ++i)
    m.tensors.push_back(numbers_of(t, *given_at(p, i), p.extents, mesh));
  for (std::size_t l = 0; l < p.lines.size(); ++l) {
    if (p.refused && l + 1 == p.lines.size()) break;
    if (!interpret(m, entries()[p.lines[l].entry], p.lines[l].operands)) {
      m.usable = false;
      return m;
    }
  }
  std::vector<number> terms;
  for (auto const& w : p.terms) {
    auto const& of = kind_at(p, w.of);
    t.round_by(computes_to(of.element), stores_to(of.element));
    auto const& x = m.tensors[w.of];
    auto const weights = numbers_of(t, {.of = of, .partial = w.partial, .salt = weight_salt(p, w)}, p.extents, mesh);
    std::vector<number> products;
    for (std::size_t i = 0; i < x.numbers.size(); ++i)
      products.push_back(t.store(t.multiply(x.numbers[i], weights.numbers[i])));
    number const sum = t.store(t.sum(products));
    t.round_by(computes_to(p.of), stores_to(p.of));
    terms.push_back(t.store(sum));
  }
  for (std::size_t i = 1; i < terms.size(); ++i) terms[i] = t.store(t.add(terms[i - 1], terms[i]));
  m.loss = terms.back();
  t.backward(m.loss);
  return m;
}

}  // namespace fuzz
