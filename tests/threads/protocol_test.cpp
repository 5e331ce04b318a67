// The protocol of gradients, held by random programs: tensors that are used several times, so that gradients share
// memory, are added in place, are partial over different axes, and are completed while others are computed. On one rank
// they equal differences; on the ranks of a mesh, completed in every way that there is, they equal those of one rank.
// compilers: first
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

#include "random_programs.hpp"

namespace random_programs {

namespace {

constexpr std::uint64_t programs = 600;

/// One written by hand: f(parameters) is a sum.
template <class F>
struct written_loss {
  F f;
  template <class Place>
  typename Place::template tensor<> at(typename Place::params const& x, observer<Place> const& = {}) const {
    return typename Place::template tensor<>(mtf::complete(f(x)).value());
  }
};

using by_name = std::map<std::string, numbers>;

/// Parameters, and what one rank finds there.
struct reference {
  std::uint64_t seed = 0;
  by_name at;
  double value = 0;
  by_name gradients;
};

template <class Place>
typename Place::params parameters_of(backend& machine, by_name const& global) {
  typename Place::params at;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::from_global<std::remove_cvref_t<decltype(x)>>(machine, global.at(std::string(name)));
      },
      at);
  return at;
}

numbers drawn(std::mt19937_64& random, std::size_t n, double most) {
  numbers x(n);
  for (double& e : x) e = std::uniform_real_distribution<double>(-most, most)(random);
  return x;
}
random_loss drawn_loss(std::uint64_t seed) {
  random_loss made{.what = random_program(seed), .weights = {}};
  std::mt19937_64 random(seed + 1000);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    ((made.weights[K] = drawn(random, std::tuple_element_t<K, one::values>::value_type::shape_type::size, 1)), ...);
  }(std::make_index_sequence<kinds>{});
  return made;
}
reference drawn_parameters(std::uint64_t seed) {
  reference made{.seed = seed, .at = {}, .gradients = {}};
  std::mt19937_64 random(seed + 2000);
  one::params const none;
  mtf::for_each_tensor(
      [&](auto name, auto const& x) {
        auto const n = static_cast<std::size_t>(std::remove_cvref_t<decltype(x)>::shape_type::size);
        made.at[std::string(name)] = drawn(random, n, n > 1000 ? 0.05 : 1);  // contractions over `wide` stay small
      },
      none);
  return made;
}

/// The worst difference, in units of the largest element or of 1.
double apart(numbers const& found, numbers const& want) {
  if (found.size() != want.size()) return HUGE_VAL;
  double worst = 0, largest = 1;
  for (std::size_t e = 0; e < want.size(); ++e) {
    worst = std::isfinite(found[e]) ? std::max(worst, std::abs(found[e] - want[e])) : HUGE_VAL;
    largest = std::max(largest, std::abs(want[e]));
  }
  return worst / largest;
}

constexpr double differentiated = 1e-6;  // between gradients and differences
constexpr double exact = 1e-10;          // between layouts

/// One rank's gradients, with which the mesh's are then compared: each against central differences of fourth order
/// along a random direction, the elements of small tensors one by one too.
template <class Loss>
void check_on_one(Loss const& loss, reference& x, backend& machine) {
  auto const at = parameters_of<one>(machine, x.at);
  auto const [value, gradients] = mtf::value_and_grad([&](auto const& p) { return loss.template at<one>(p); })(at);
  x.value = mtf::item(value);
  std::mt19937_64 random(x.seed + 3000);
  auto moved = at;
  mtf::for_each_tensor(
      [&](auto tensor, auto const& g, auto& there) {
        std::string const name(tensor);
        CAPTURE(name);
        auto const here = there;
        auto const exactly = x.gradients[name] = g.complete().local();
        numbers found, want;
        auto const look = [&](numbers const& direction) {
          constexpr double h = 1e-4;
          auto const value_at = [&](double t) {
            auto elements = x.at.at(name);
            for (std::size_t e = 0; e < elements.size(); ++e) elements[e] += t * direction[e];
            there = mtf::from_global<std::remove_cvref_t<decltype(there)>>(machine, elements);
            return mtf::item(loss.template at<one>(moved));
          };
          want.push_back((8 * (value_at(h) - value_at(-h)) - (value_at(2 * h) - value_at(-2 * h))) / (12 * h));
          found.push_back(std::inner_product(direction.begin(), direction.end(), exactly.begin(), 0.0));
        };
        look(drawn(random, exactly.size(), 1 / std::sqrt(static_cast<double>(exactly.size()))));
        for (std::size_t e = 0; exactly.size() <= 4 && e < exactly.size(); ++e) {
          numbers unit(exactly.size());
          unit[e] = 1;
          look(unit);
        }
        there = here;
        CHECK(apart(found, want) <= differentiated);
      },
      gradients, moved);
}

/// How gradients are completed: by whoever looks; while others are computed, for state that is split as `Split` says;
/// by the norm, for state that is split as `Asked` says.
template <class Split, class Asked, class Loss>
void check_completed(Loss const& loss, reference const& x, four::params const& at, backend& machine,
                     mtf::completed_gradients when, bool norm) {
  std::vector<witness> witnesses;
  mtf::for_each_tensor([&](auto, auto const& t) { testify(witnesses, t); }, at);
  four::values kept;
  observer<four> const see{x.seed % 2 == 0 ? &witnesses : nullptr, x.seed % 3 == 0 ? &kept : nullptr};
  auto const [value, gradients] = mtf::value_and_grad<Split>([&](auto const& p) { return loss.at(p, see); }, when)(at);
  CHECK(apart({mtf::item(value)}, {x.value}) <= exact);
  if (norm) {
    double squares = 0;
    for (auto const& [name, g] : x.gradients) squares = std::inner_product(g.begin(), g.end(), g.begin(), squares);
    CHECK(apart({mtf::global_norm<Asked>(machine, gradients)}, {std::sqrt(squares)}) <= exact);
  }
  mtf::for_each_tensor(
      [&](auto tensor, auto const& g) {
        std::string const name(tensor);
        CAPTURE(name);
        auto const& want = x.gradients.at(name);
        if (g.is_zero()) {
          CHECK(std::ranges::all_of(want, [](double e) { return e == 0; }));
          return;
        }
        auto const equals = [&](auto const& found) {
          CHECK(apart(found.local(), mtf::from_global<std::remove_cvref_t<decltype(found)>>(machine, want).local()) <=
                exact);
        };
        equals(g.template part<Asked>());
        equals(g.complete());
        equals(g.template part<Split>());
      },
      gradients);
  CHECK(std::ranges::all_of(witnesses, [&](auto const& w) { return is_unchanged(machine, w); }));
}

template <class Loss>
void check_on_mesh(Loss const& loss, reference const& x, mtf::collectives& ranks) {
  using when = mtf::completed_gradients;
  using whole = mtf::state_split_over<>;
  using halves = mtf::state_split_over<i>;
  using quarters = mtf::state_split_over<p, q>;
  backend machine = backend::one_of_many(ranks);
  CAPTURE(ranks.rank());
  auto const at = parameters_of<four>(machine, x.at);
  check_completed<whole, whole>(loss, x, at, machine, when::later, false);
  check_completed<halves, halves>(loss, x, at, machine, when::overlapped, true);
  auto const& wide = x.gradients.at("w1");
  if (std::ranges::all_of(wide, [](double e) { return e == 0; })) return;  // others are small: not completed in parts
  check_completed<whole, halves>(loss, x, at, machine, when::later, true);
  check_completed<whole, whole>(loss, x, at, machine, when::overlapped, false);
  check_completed<quarters, halves>(loss, x, at, machine, when::overlapped, x.seed % 2 == 0);
}

}  // namespace

TEST_CASE("gradients of random programs") {
  std::vector<random_loss> losses;
  std::vector<reference> all;
  std::array<int, step_count> taken{};
  mtf::single_rank alone;
  backend machine(alone);
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    CAPTURE(seed);
    losses.push_back(drawn_loss(seed));
    for (auto const& l : losses.back().what.lines) ++taken[l.step];
    check_on_one(losses.back(), all.emplace_back(drawn_parameters(seed)), machine);
  }
  for (std::size_t step = 0; step < step_count; ++step) {
    CAPTURE(step);
    CHECK(taken[step] > 0);
  }
  mtf::rank_threads pool(4);
  for (std::size_t n = 0; n < all.size(); ++n)
    pool.run(four::mesh::shape(), [&](mtf::collectives& ranks) {
      auto const seed = all[n].seed;
      CAPTURE(seed);
      check_on_mesh(losses[n], all[n], ranks);
    });
}

template <class F>
void check(std::uint64_t seed, F f) {
  CAPTURE(seed);
  written_loss<F> const loss{f};
  auto x = drawn_parameters(seed);
  mtf::single_rank alone;
  backend machine(alone);
  check_on_one(loss, x, machine);
  mtf::rank_threads pool(4);
  pool.run(four::mesh::shape(), [&](mtf::collectives& ranks) { check_on_mesh(loss, x, ranks); });
}

// What random programs rarely meet.
TEST_CASE("gradients of tensors that share what flows to them") {
  // The sum of what flows to u is known, to the norm, when v's other uses are added to it: by a contraction, by an
  // addition.
  auto const known = [](auto const& at, auto const& other) {
    auto const before = mtf::einsum<i, k>(at.x, other);
    auto const u = at.v + mtf::rms_norm<k>(at.v, at.of_k);
    auto const after = mtf::einsum<i, k>(at.y, u);
    return mtf::sum(before * after);
  };
  check(1, [&](auto const& at) { return known(at, at.v); });
  check(4, [&](auto const& at) { return known(at, at.v + at.v); });
  // The terms of w1's gradient flow to t too, which runs after two more reduce-scatters have begun.
  check(7, [](auto const& at) {
    auto const t = mtf::tanh(at.w4);
    auto const a = mtf::einsum<i, wide>(at.x, at.w2), b = mtf::einsum<i, wide>(at.y, at.w3);
    auto const c = mtf::einsum<i, wide>(at.x, at.w1 + t);
    return mtf::sum(a * b) + mtf::sum(b * c);
  });
}

}  // namespace random_programs

int main(int argc, char** argv) {
  random_programs::backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
