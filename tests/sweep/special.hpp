#pragma once
// The sweep of special values: every operation again, in a type and with extents of its own (CMakeLists.txt), some
// dimensions and axes of extent 1, on inputs made of NaN, infinities, both zeros, subnormal numbers, the largest ones,
// and ties.
//
// The law is that all layouts agree with one rank, to the bit (any NaN is NaN) where no sum is taken: for other shapes
// of shards kernels may add in another order, and ranks do. And one rank agrees with the definition, NaN included,
// within what the type rounds.
//
// What cannot agree, for numbers as they are, is not asked:
//   a sum of large numbers may overflow in one order only: operations with sums, backward included, get none;
//   a partial tensor with terms x and 0, times infinity, is NaN: cases with partial operands or gradients get
//     finite numbers in the domain of the function, where its derivatives are finite too, and NaN. Operations that
//     multiply by sums of their own, which may be partial too, get no infinities;
//   the sign of a zero that terms make: that of -(x - x) is not that of -x + x;
//   what a mask hides is multiplied by 0, by some kernels and not by others: attention gets finite numbers alone.
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "problem.hpp"
#include "shards.hpp"
#include "typed.hpp"

namespace sweep {

/// Of what a set of inputs is made.
struct recipe {
  bool nan = false, infinite = false;
  bool in_domain = false;  // but for NaN
  bool for_partial = false;
};
inline constexpr std::array<recipe, 4> recipes{
    {{}, {.nan = true}, {.nan = true, .infinite = true}, {.nan = true, .in_domain = true, .for_partial = true}}};
#ifndef MTF_SWEEP_DRAWS
#define MTF_SWEEP_DRAWS 4
#endif
inline constexpr std::uint64_t draws = MTF_SWEEP_DRAWS;  // of each

/// Smallest and largest numbers, spelled here: mtf has no limits of bfloat16.
struct limits_of_element {
  double smallest, least_normal, largest;
  double tolerance;         // of sums: some roundings, relative to the largest number of the tensor
  double computed, stored;  // one rounding, relative to the number
};
inline constexpr limits_of_element limits = [] {
  if constexpr (std::is_same_v<element, double>)
    return limits_of_element{0x1p-1074, 0x1p-1022, std::numeric_limits<double>::max(), 1e-12, 0x1p-53, 0x1p-53};
  else if constexpr (std::is_same_v<element, float>)
    return limits_of_element{0x1p-149, 0x1p-126, std::numeric_limits<float>::max(), 1e-5, 0x1p-24, 0x1p-24};
  else
    return limits_of_element{0x1p-133, 0x1p-126, 0x1.fep127, 0x1p-5, 0x1p-24, 0x1p-9};
}();

/// One operand. `sums`: numbers that no sum of products makes overflow, and few NaN and infinities.
inline numbers drawn(operand_info const& o, recipe const& r, bool sums, std::mt19937_64& random) {
  auto const below = [&](double n) { return std::uniform_real_distribution<double>(0, n)(random); };
  bool const integers = o.integers || o.elements == kind::whole;
  std::vector<double> some{0.0, -0.0, limits.smallest, -limits.smallest, 3 * limits.smallest};
  if (!sums) some.insert(some.end(), {limits.largest, -limits.largest, limits.least_normal, -limits.least_normal});
  if (r.in_domain) std::erase_if(some, [&](double x) { return o.low > 0 || x < o.low || x > o.high; });
  std::vector<double> rare;
  if (r.nan) rare.insert(rare.end(), {std::nan(""), -std::nan(""), std::nan("0x20000000")});
  if (r.infinite)
    rare.insert(rare.end(), {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()});
  auto const one_of = [&](std::vector<double> const& of) {
    return of[static_cast<std::size_t>(below(static_cast<double>(of.size())))];
  };
  numbers x(global_size(o.dims));
  for (double& v : x) {
    double const ordinary = o.low + (o.high - o.low) * (below(1) < 0.5 ? below(1) : std::floor(below(8)) / 8);
    v = integers ? std::floor(ordinary) : ordinary;
    if (o.elements == kind::whole) continue;
    if (!some.empty() && below(1) < 0.25) v = one_of(some);
    if (!rare.empty() && below(1) < (sums ? 1.0 / 24 : 1.0 / 6)) v = one_of(rare);
    v = to_double(from_double<element>(v));
  }
  return x;
}

/// An operation on such operands; by definition only what is in its domain.
inline problem posed(operation const& op, recipe made, std::uint64_t draw) {
  problem p;
  p.op = &op;
  p.salt = hash_of(op.name) + draw;
  place const out{.dims = dims_of_result(op)};
  bool sums = op.sums;  // forward or backward
  for (auto const& o : op.in) sums = sums || (out.dim_set() & ~place{.dims = o.dims}.dim_set()) != 0;
  made.nan = made.nan && !op.masks;
  made.infinite = made.infinite && !op.masks && !op.chained;
  std::mt19937_64 random(p.salt);
  for (auto const& o : op.in) p.in.push_back(drawn(o, made, sums, random));
  p.weights = drawn({.dims = out.dims, .low = 0.5, .high = 1.5}, made, sums, random);
  if (made.in_domain) work_out(p, limits.computed, limits.stored);
  return p;
}

/// How numbers must agree: 0, to the bit; where `signs` is false zeros of different sign are equal.
struct agreement {
  double tolerance = 0;
  bool signs = true;
  numbers const* errors = nullptr;  // allowed besides, of each element
};
inline bool agree(double x, double want, agreement const& how, double scale, double error) {
  if (std::isnan(x) || std::isnan(want)) return std::isnan(x) && std::isnan(want);
  if (x == want) return !how.signs || x != 0 || std::signbit(x) == std::signbit(want);
  return std::abs(x - want) <= how.tolerance * scale + error;  // of an infinity the difference is infinite or NaN
}

/// What the ranks hold together against the global tensor; a text where they do not agree.
inline std::string compare(mesh_code const& m, place const& p, std::vector<numbers const*> const& shards,
                           numbers const& want, agreement const& how, char const* what) {
  double scale = 1;
  for (double const v : want)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  for (int r = 0; r < m.ranks(); ++r) {
    auto const at = positions(m, p, r);
    numbers sum;
    for (int k = 0; k < m.ranks(); ++k) {
      auto const& x = *shards[static_cast<std::size_t>(k)];
      if (!same_but(m, r, k, p.partial) || x.empty()) continue;  // empty: a gradient of zero
      if (x.size() != at.size()) return std::string(what) + ": a shard of another size";
      if (sum.empty()) sum.assign(x.size(), -0.0);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
    }
    sum.resize(at.size());
    if (p.partial != 0)
      for (double& v : sum) v = to_double(from_double<element>(v));
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (!agree(sum[i], want[at[i]], how, scale, how.errors != nullptr ? (*how.errors)[at[i]] : 0)) {
        std::ostringstream s;
        s.precision(17);
        s << what << ": rank " << r << ", element " << at[i] << ": " << sum[i] << ", expected " << want[at[i]];
        return s.str();
      }
  }
  return {};
}

}  // namespace sweep
