#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace sweep {

std::uint64_t hash_of(std::string_view s) {
  std::uint64_t h = 1469598103934665603ULL;
  for (char const c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

std::vector<int> dims_of_result(operation const& op) {
  situation alone{.mesh = mesh_of[0], .in = {}};
  for (auto const& o : op.in) alone.in.push_back({.dims = o.dims});
  return op.sends(alone).out.dims;
}

bool work_out(problem& p, double computed, double stored) {
  define::extents extents{};
  std::ranges::copy(extent_of, extents.begin());
  define::tape tape;
  std::vector<define::array> in;
  define::operands operands;
  for (std::size_t o = 0; o < p.in.size(); ++o) {
    auto& x = in.emplace_back(p.op->in[o].dims, extents);
    std::ranges::transform(p.in[o], x.numbers.begin(), [&](double v) { return tape.constant(v); });
  }
  for (auto const& x : in) operands.push_back(&x);
  define::array y(dims_of_result(*p.op), extents);
  tape.round_by(computed, stored);
  p.op->definition(tape, operands, y);
  p.out.clear(), p.gradients.clear(), p.errors.clear();
  std::vector<define::number> terms;
  for (std::size_t i = 0; i < y.numbers.size(); ++i) {
    p.out.push_back(tape.value(y.numbers[i]));
    terms.push_back(tape.scale(tape.store(y.numbers[i]), p.weights[i]));
  }
  tape.backward(tape.sum(terms));
  for (auto const& x : in) {
    auto &g = p.gradients.emplace_back(), &e = p.errors.emplace_back();
    for (auto const n : x.numbers) {
      g.push_back(tape[n].derivative);
      e.push_back(tape[n].derivative_error + stored * tape[n].derivative_magnitude);
    }
  }
  return !tape.undecided();
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
    }
    p.in.push_back(std::move(x));
  }
  p.weights.resize(global_size(dims_of_result(op)));
  for (double& w : p.weights) w = std::uniform_real_distribution<double>(0.5, 1.5)(random);
  for (auto const& x : p.in)
    for (double& g : p.earlier.emplace_back(x.size())) g = std::uniform_real_distribution<double>(-1, 1)(random);
  if (!work_out(p)) throw std::logic_error("sweep: the definition of " + op.name + " rejects its operands");
  return p;
}

}  // namespace sweep
