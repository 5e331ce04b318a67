#include "problem.hpp"

#include <cmath>
#include <random>

namespace sweep {

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

}  // namespace sweep
