// The protocol of gradients, held by random programs: tensors that are used several times, so that gradients share memory,
// are added in place, are partial over different axes, and are completed while others are computed. On one rank they equal
// differences; on the ranks of a mesh, completed in every way that there is, they equal those of one rank.
// ranks: threads
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/single_rank.hpp>
#include <mtf/threads.hpp>

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
using numbers = std::vector<double>;

constexpr int programs = 300, lines = 12;

struct i : mtf::dim<"i", 4> {};
struct j : mtf::dim<"j", 8> {};
struct k : mtf::dim<"k", 4> {};
struct wide : mtf::dim<"wide", 1032> {};  // with j more than 64 KiB: gradients that are not small
struct p : mtf::axis<"p", 2> {};
struct q : mtf::axis<"q", 2> {};

template <template <class...> class Tensor>
struct parameters {
  Tensor<i, j> x, y;
  Tensor<j, k> v;
  Tensor<i, k> u;
  Tensor<i> of_i;
  Tensor<j> of_j, shift;
  Tensor<k> of_k;
  Tensor<j, wide> w1, w2;
  MTF_FIELDS(x, y, v, u, of_i, of_j, shift, of_k, w1, w2);
};

/// The values of a program: by their dimensions and, on the mesh, the axes over which they are partial.
enum kind : std::size_t { ij, ij_q, jk, jk_p, ik, vi, vi_q, vj, vj_p, vj_q, vj_pq, vk, vk_p, jw, jw_p, iw, s, s_p, s_q, s_pq, moved, kinds };

/// Where programs run. On one rank nothing is partial, and some kinds are one type.
template <class Layout, class Moved>
struct place {
  using layout = Layout;
  using moved_layout = Moved;
  using mesh = typename Layout::mesh_type;
  template <class... D>
  using tensor = mtf::tensor<double, mtf::shape<D...>, Layout, mtf::partial<>, backend>;
  template <mtf::axis_mask Axes, class... D>
  using partial = mtf::tensor<double, mtf::shape<D...>, Layout,
                              mtf::detail::partial_of<mesh, Axes & (mtf::axis_mask(mesh::size) - 1U)>, backend>;
  template <class... X>
  using lists = std::tuple<std::vector<X>...>;
  static constexpr mtf::axis_mask P = 1, Q = 2;
  using values = lists<tensor<i, j>, partial<Q, i, j>, tensor<j, k>, partial<P, j, k>, tensor<i, k>, tensor<i>, partial<Q, i>,
                       tensor<j>, partial<P, j>, partial<Q, j>, partial<P | Q, j>, tensor<k>, partial<P, k>, tensor<j, wide>,
                       partial<P, j, wide>, tensor<i, wide>, tensor<>, partial<P>, partial<Q>, partial<P | Q>,
                       mtf::tensor<double, mtf::shape<i, j>, Moved, mtf::partial<>, backend>>;
  using params = parameters<tensor>;
};
using one = place<mtf::layout<mtf::mesh<>>, mtf::layout<mtf::mesh<>>>;
using four = place<mtf::layout<mtf::mesh<p, q>, mtf::split<i, p>, mtf::split<k, q>>,
                   mtf::layout<mtf::mesh<p, q>, mtf::split<i, p>, mtf::split<j, q>>>;

// What a line of a program does: one value more of the kind Out.
template <class F, kind Out, kind... In>
struct step_of {
  static constexpr kind out = Out;
  static constexpr std::array<kind, sizeof...(In)> in{In...};
  F f;
};
template <kind Out, kind... In, class F>
constexpr auto step(F f) {
  return step_of<F, Out, In...>{f};
}
constexpr auto add = [](auto const& x, auto const& y) { return x + y; };
constexpr auto subtract = [](auto const& x, auto const& y) { return x - y; };
constexpr auto multiply = [](auto const& x, auto const& y) { return x * y; };
constexpr auto tanh_of = [](auto const& x) { return mtf::tanh(x); };
constexpr auto more = [](auto const& x) { return x + 0.5; };
constexpr auto completed = [](auto const& x) { return mtf::complete(x); };
constexpr auto total = [](auto const& x) { return mtf::sum(x); };
constexpr double epsilon = 0.5;  // rows of zeros shall be far from a pole
template <class D>
constexpr auto layer_norm = [](auto const& x, auto const& g, auto const& b) { return mtf::layer_norm<D>(x, g, b, epsilon); };
template <class D>
constexpr auto rms_norm = [](auto const& x, auto const& g) { return mtf::rms_norm<D>(x, g, epsilon); };
template <class... D>
constexpr auto einsum = [](auto const& x, auto const& y) { return mtf::einsum<D...>(x, y); };
template <class... D>
constexpr auto sum = [](auto const& x) { return mtf::sum<D...>(x); };
/// Laid out as the result is.
struct relayout {
  template <class Out>
  static auto to(auto const& x) {
    return mtf::relayout<typename Out::layout_type>(x);
  }
};

constexpr std::tuple steps{
    // Gradients are passed on as they are.
    step<ij, ij, ij>(add), step<ij, ij, ij>(subtract), step<ij, ij, ij_q>(add), step<ij_q, ij_q, ij_q>(add),
    step<ij_q, ij_q, ij_q>(subtract), step<jk, jk, jk>(add), step<jk_p, jk_p, jk_p>(add), step<ik, ik, ik>(add),
    step<vj, vj, vj>(add), step<vj_p, vj_p, vj_p>(add), step<vj_pq, vj_pq, vj_pq>(subtract), step<vj_p, vj_p, vj_pq>(add),
    step<vj, vj_p, vj_q>(add), step<vi, vi, vi>(add), step<vi_q, vi_q, vi_q>(subtract), step<vk, vk, vk_p>(add),
    step<s, s, s>(add), step<s_p, s_p, s_p>(add), step<s_pq, s_pq, s_pq>(add), step<moved, moved, moved>(add),
    step<jw, jw, jw>(add), step<jw, jw, jw>(subtract), step<jw_p, jw_p, jw_p>(add), step<iw, iw, iw>(add),
    step<ij, ij>(more), step<ij, ij_q>(more),
    // Operands are broadcast, and meet gradients.
    step<ij, ij, vj>(add), step<ij, ij, vi>(add), step<ij, ij, ij>(multiply), step<ij, ij, vj>(multiply),
    step<ij_q, ij_q, ij>(multiply), step<ij_q, ij_q, vj>(multiply), step<jk, jk, vk>(add), step<jk, jk, vj>(multiply),
    step<jk_p, jk_p, jk>(multiply), step<ik, ik, vi>(add), step<ik, ik, vk>(multiply), step<ik, ik, ik>(multiply),
    step<vj_p, vj_p, vj>(multiply), step<vj_pq, vj, vj_pq>(multiply), step<vi, vi, vi>(multiply), step<ij, ij, s>(multiply),
    step<jw, jw, vj>(multiply), step<jw_p, jw, vj_p>(multiply), step<s_pq, jw, vj_pq>([](auto const& x, auto const& y) {
      return mtf::sum(x * y);
    }),
    // Nonlinear: partial operands are completed, once.
    step<ij, ij>(tanh_of), step<ij, ij_q>(tanh_of), step<jk, jk>(tanh_of), step<jk, jk_p>(tanh_of), step<ik, ik>(tanh_of),
    step<vj, vj_p>(tanh_of), step<vj, vj_pq>(tanh_of), step<vi, vi_q>(tanh_of), step<vk, vk_p>(tanh_of), step<jw, jw>(tanh_of),
    step<jw, jw_p>(tanh_of), step<moved, moved>(tanh_of),
    step<ij, ij_q>(completed), step<jk, jk_p>(completed), step<vj, vj_p>(completed), step<vj, vj_q>(completed),
    step<vj, vj_pq>(completed), step<vi, vi_q>(completed), step<vk, vk_p>(completed), step<s, s_p>(completed),
    step<s, s_pq>(completed), step<jw, jw_p>(completed),
    // Norms along whole dimensions and cut ones.
    step<ij, ij, vj, vj>(layer_norm<j>), step<ij, ij_q, vj, vj>(layer_norm<j>), step<ij, ij, vj>(rms_norm<j>),
    step<ij, ij, vi>(rms_norm<i>), step<jk, jk, vk, vk>(layer_norm<k>), step<jk, jk_p, vk>(rms_norm<k>),
    step<ik, ik, vk, vk_p>(layer_norm<k>), step<vj, vj, vj>(rms_norm<j>),
    // Contractions.
    step<ik, ij, jk>(einsum<i, k>), step<ik, ij_q, jk>(einsum<i, k>), step<ij_q, ik, jk>(einsum<i, j>),
    step<jk_p, ij, ik>(einsum<j, k>), step<ij, vi, vj>(einsum<i, j>), step<vj_p, ij, vi>(einsum<j>), step<vi, ij, vj>(einsum<i>),
    step<vi_q, ik, vk>(einsum<i>), step<ij_q, vi_q, vj>(einsum<i, j>), step<s_p, ij, ij>(einsum<>),
    step<iw, ij, jw>(einsum<i, wide>), step<ij, iw, jw>(einsum<i, j>), step<jw_p, ij, iw>(einsum<j, wide>),
    // Sums.
    step<vj_p, ij>(sum<i>), step<vj_pq, ij_q>(sum<i>), step<vj_q, jk>(sum<k>), step<vi, ij>(sum<j>), step<vi_q, ij_q>(sum<j>),
    step<vi_q, ik>(sum<k>), step<vk, jk>(sum<j>), step<vk_p, ik>(sum<i>), step<s_p, ij>(total), step<s_pq, ij_q>(total),
    step<s, vj>(total), step<s_q, vk>(total),
    // Cut differently.
    step<moved, ij>(relayout{}), step<moved, ij_q>(relayout{}), step<ij, moved>(relayout{})};
constexpr std::size_t step_count = std::tuple_size_v<std::remove_const_t<decltype(steps)>>;

struct signature {
  kind out = ij;
  std::array<kind, 3> in{};
  std::size_t operands = 0;
};
template <class S>
constexpr signature signature_of(S const&) {
  signature x{.out = S::out, .in = {}, .operands = S::in.size()};
  std::copy(S::in.begin(), S::in.end(), x.in.begin());
  return x;
}
constexpr auto signatures =
    std::apply([](auto const&... x) { return std::array<signature, step_count>{signature_of(x)...}; }, steps);

/// The n-th value of a kind: parameters first, then what lines made.
struct name {
  kind of = ij;
  std::size_t n = 0;
};
struct line {
  std::size_t step = 0;
  std::array<std::size_t, 3> operand{};
};
/// Lines, and the values whose weighted sums make the loss.
struct program {
  std::vector<line> lines;
  std::vector<name> summed;
};
constexpr bool is_wide(kind x) { return x == jw || x == jw_p || x == iw; }

/// Of values that may be operands the last ones are taken more often, some values by several lines. All that no line uses
/// are summed, and some others.
program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  bool const wide_too = below(3) == 0;
  std::array<std::vector<int>, kinds> uses;  // of each value
  for (kind const x : {ij, ij, jk, ik, vi, vj, vj, vk}) uses[x].push_back(1);
  if (wide_too) uses[jw].assign(2, 1);
  program made;
  while (made.lines.size() < lines) {
    line l{.step = below(step_count), .operand = {}};
    auto const& sig = signatures[l.step];
    bool possible = !wide_too || is_wide(sig.out) || is_wide(sig.in[0]) || below(3) == 0;
    for (std::size_t o = 0; o < sig.operands; ++o) possible = possible && !uses[sig.in[o]].empty();
    if (!possible) continue;
    for (std::size_t o = 0; o < sig.operands; ++o) {
      auto& all = uses[sig.in[o]];
      l.operand[o] = below(3) == 0 ? all.size() - 1 : below(all.size());
      ++all[l.operand[o]];
    }
    uses[sig.out].push_back(0);
    made.lines.push_back(l);
  }
  for (std::size_t x = 0; x < kinds; ++x)
    for (std::size_t n = 0; n < uses[x].size(); ++n)
      if (uses[x][n] == 0 || below(6) == 0) made.summed.push_back({static_cast<kind>(x), n});
  return made;
}

template <class Place, std::size_t Step>
void carry_out(typename Place::values& all, std::array<std::size_t, 3> const& operand) {
  constexpr auto const& it = std::get<Step>(steps);
  using out = typename std::tuple_element_t<std::remove_cvref_t<decltype(it)>::out, typename Place::values>::value_type;
  auto const found = [&]<std::size_t... O>(std::index_sequence<O...>) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(it.f)>, relayout>)
      return relayout::to<out>(std::get<signatures[Step].in[O]>(all)[operand[O]]...);
    else
      return it.f(std::get<signatures[Step].in[O]>(all)[operand[O]]...);
  }(std::make_index_sequence<signatures[Step].operands>{});
  static_assert(std::remove_cvref_t<decltype(found)>::spec == out::spec);
  std::get<signatures[Step].out>(all).push_back(out(found.value()));
}

/// sum(x * weights), complete. `weights`: one global array for each kind.
template <class Place, std::size_t Kind>
auto weighted(typename Place::values const& all, std::size_t n, std::array<numbers, kinds> const& weights) {
  auto const& x = std::get<Kind>(all)[n];
  using X = std::remove_cvref_t<decltype(x)>;
  using W = mtf::tensor<double, typename X::shape_type, typename X::layout_type, mtf::partial<>, backend>;
  auto const sum = mtf::complete(mtf::sum(x * mtf::from_global<W>(x.backend(), weights[Kind])));
  return typename Place::template tensor<>(sum.value());
}

/// What was computed, and what it was then.
struct witness {
  mtf::detail::buffer<backend> memory;
  numbers then;
};
template <class X>
void testify(std::vector<witness>& all, X const& x) {
  all.push_back({x.value().memory, x.local()});
}
bool unchanged(backend& machine, witness const& w) {
  numbers now(w.then.size());
  machine.to_host(now.data(), w.memory->data, now.size() * sizeof(double));
  return now == w.then;
}

template <class Place>
struct loss {
  program const& what;
  std::array<numbers, kinds> const& weights;
  std::vector<witness>* witnesses = nullptr;
  typename Place::values* kept = nullptr;  // the function may keep its tensors

  typename Place::template tensor<> operator()(typename Place::params const& at) const {
    typename Place::values all;
    std::get<ij>(all) = {at.x, at.y};
    std::get<jk>(all) = {at.v};
    std::get<ik>(all) = {at.u};
    std::get<vi>(all) = {at.of_i};
    std::get<vj>(all) = {at.of_j, at.shift};
    std::get<vk>(all) = {at.of_k};
    std::get<jw>(all) = {at.w1, at.w2};
    constexpr auto carry = []<std::size_t... S>(std::index_sequence<S...>) {
      return std::array{&carry_out<Place, S>...};
    }(std::make_index_sequence<step_count>{});
    for (auto const& l : what.lines) carry[l.step](all, l.operand);
    constexpr auto term = []<std::size_t... K>(std::index_sequence<K...>) {
      return std::array{&weighted<Place, K>...};
    }(std::make_index_sequence<kinds>{});
    auto const of = [&](name const& x) { return term[x.of](all, x.n, weights); };
    auto sum = of(what.summed[0]);
    for (std::size_t n = 1; n < what.summed.size(); ++n) sum = sum + of(what.summed[n]);
    if (witnesses != nullptr)
      std::apply([&](auto const&... x) { (std::ranges::for_each(x, [&](auto const& y) { testify(*witnesses, y); }), ...); }, all);
    if (kept != nullptr) *kept = all;
    return sum;
  }
};

using by_name = std::map<std::string, numbers>;

template <class Place>
typename Place::params parameters_of(backend& machine, by_name const& global) {
  typename Place::params at;
  mtf::for_each_tensor(
      [&](auto name, auto& x) { x = mtf::from_global<std::remove_cvref_t<decltype(x)>>(machine, global.at(std::string(name))); }, at);
  return at;
}

/// Everything about a program that no layout changes.
struct problem {
  std::uint64_t seed;
  program what;
  std::array<numbers, kinds> weights;
  by_name at;
  double value = 0;   // on one rank
  by_name gradients;  // of it
};

problem posed(std::uint64_t seed) {
  problem made{.seed = seed, .what = random_program(seed), .weights = {}, .at = {}, .gradients = {}};
  std::mt19937_64 random(seed + 1000);
  auto const draw = [&](std::size_t n, double most) {
    numbers x(n);
    for (double& e : x) e = std::uniform_real_distribution<double>(-most, most)(random);
    return x;
  };
  auto const size_of = [](auto const& x) {
    return static_cast<std::size_t>(std::remove_cvref_t<decltype(x)>::value_type::shape_type::size);
  };
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    one::values const none;
    ((made.weights[K] = draw(size_of(std::get<K>(none)), is_wide(static_cast<kind>(K)) ? 0.05 : 1)), ...);
  }(std::make_index_sequence<kinds>{});
  one::params const none;
  mtf::for_each_tensor(
      [&](auto name, auto const& x) {
        auto const n = static_cast<std::size_t>(std::remove_cvref_t<decltype(x)>::shape_type::size);
        made.at[std::string(name)] = draw(n, n > 1000 ? 0.05 : 1);
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

/// Central differences of fourth order along `direction`.
double difference(problem const& x, backend& machine, std::string const& name, numbers const& direction) {
  constexpr double h = 1e-4;
  auto const at = [&](double t) {
    auto moved = x.at;
    for (std::size_t e = 0; e < direction.size(); ++e) moved.at(name)[e] += t * direction[e];
    return mtf::item(loss<one>{x.what, x.weights}(parameters_of<one>(machine, moved)));
  };
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

/// One rank's gradients, which are then those that the mesh's are compared with: of small tensors each element against a
/// difference, of others along a random direction.
void check_on_one(problem& x, backend& machine) {
  auto const at = parameters_of<one>(machine, x.at);
  auto const [value, gradients] = mtf::value_and_grad(loss<one>{x.what, x.weights})(at);
  x.value = mtf::item(value);
  std::mt19937_64 random(x.seed + 2000);
  mtf::for_each_tensor(
      [&](auto tensor, auto const& g) {
        std::string const name(tensor);
        CAPTURE(name);
        auto const exactly = x.gradients[name] = g.complete().local();
        numbers found, want;
        auto const look = [&](numbers const& direction) {
          want.push_back(difference(x, machine, name, direction));
          double along = 0;
          for (std::size_t e = 0; e < direction.size(); ++e) along += direction[e] * exactly[e];
          found.push_back(along);
        };
        numbers direction(exactly.size());
        for (double& d : direction) d = std::normal_distribution<double>(0, 1 / std::sqrt(static_cast<double>(direction.size())))(random);
        look(direction);
        for (std::size_t e = 0; exactly.size() <= 4 && e < exactly.size(); ++e) {
          numbers unit(exactly.size());
          unit[e] = 1;
          look(unit);
        }
        CHECK(apart(found, want) <= differentiated);
      },
      gradients);
}

/// How gradients are completed: by whoever looks, while others are computed, in parts for an optimizer that has parts of
/// the state, by the norm. `Asked`: what the norm completes; `Cut`: what the backward pass does, if it does.
template <class Cut, class Asked>
void check_on_mesh(problem const& x, backend& machine, mtf::completed_gradients when, bool norm) {
  bool const look = x.seed % 2 == 0, keep = x.seed % 3 == 0;
  auto const at = parameters_of<four>(machine, x.at);
  std::vector<witness> witnesses;
  mtf::for_each_tensor([&](auto, auto const& t) { testify(witnesses, t); }, at);
  four::values kept;
  auto const [value, gradients] = mtf::value_and_grad<Cut>(
      loss<four>{x.what, x.weights, look ? &witnesses : nullptr, keep ? &kept : nullptr}, when)(at);
  CHECK(apart({mtf::item(value)}, {x.value}) <= exact);
  if (norm) {
    double squares = 0;
    for (auto const& [name, g] : x.gradients)
      for (double const e : g) squares += e * e;
    CHECK(apart({mtf::global_norm<Asked>(machine, gradients)}, {std::sqrt(squares)}) <= exact);
  }
  mtf::for_each_tensor(
      [&](auto tensor, auto const& g) {
        std::string const name(tensor);
        CAPTURE(name);
        auto const equals = [&](auto const& found) {
          using X = std::remove_cvref_t<decltype(found)>;
          CHECK(apart(found.local(), mtf::from_global<X>(machine, x.gradients.at(name)).local()) <= exact);
        };
        equals(g.template part<Asked>());
        equals(g.complete());
        equals(g.template part<Cut>());
      },
      gradients);
  for (auto const& w : witnesses) CHECK(unchanged(machine, w));
}

}  // namespace

TEST_CASE("gradients of random programs") {
  using when = mtf::completed_gradients;
  using whole = mtf::state_cut_over<>;
  using halves = mtf::state_cut_over<i>;
  using quarters = mtf::state_cut_over<p, q>;
  std::vector<problem> all;
  mtf::single_rank alone;
  backend machine(alone);
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    CAPTURE(seed);
    check_on_one(all.emplace_back(posed(seed)), machine);
  }
  mtf::rank_threads pool(4);
  for (auto const& x : all)
    pool.run(four::mesh::shape(), [&](mtf::collectives& ranks) {
      auto const seed = x.seed;
      CAPTURE(seed);
      CAPTURE(ranks.rank());
      backend mine = backend::one_of_many(ranks);
      check_on_mesh<whole, whole>(x, mine, when::later, false);
      check_on_mesh<whole, halves>(x, mine, when::later, true);
      check_on_mesh<whole, whole>(x, mine, when::overlapped, false);
      check_on_mesh<halves, halves>(x, mine, when::overlapped, true);
      check_on_mesh<quarters, halves>(x, mine, when::overlapped, seed % 2 == 0);
    });
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
