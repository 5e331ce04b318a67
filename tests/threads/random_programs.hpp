#pragma once
// Random programs: tensors that are used several times, some of them partial over different axes, on one rank and on a
// mesh. Each has a loss, which may be looked at while it is computed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

namespace random_programs {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
using numbers = std::vector<double>;

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
  Tensor<j, wide> w1, w2, w3, w4;
  MTF_FIELDS(x, y, v, u, of_i, of_j, shift, of_k, w1, w2, w3, w4);
};

/// The values of a program: by their dimensions and, on the mesh, the axes over which they are partial.
enum kind : std::size_t {
  ij,
  ij_q,
  jk,
  jk_p,
  ik,
  vi,
  vi_q,
  vj,
  vj_p,
  vj_q,
  vj_pq,
  vk,
  vk_p,
  jw,
  jw_p,
  iw,
  s,
  s_p,
  s_q,
  s_pq,
  moved,
  kinds
};

/// Where programs run. On one rank nothing is partial, and some kinds are one type.
template <class Layout, class Moved>
struct place {
  using layout = Layout;
  using moved_layout = Moved;
  using mesh = typename Layout::mesh_type;
  static constexpr mtf::axis_mask axes = (1U << static_cast<unsigned>(mesh::shape().ndim)) - 1U;
  template <class... D>
  using tensor = mtf::tensor<double, mtf::shape<D...>, Layout, mtf::partial<>, backend>;
  template <mtf::axis_mask Axes, class... D>
  using partial = mtf::tensor<double, mtf::shape<D...>, Layout, mtf::detail::partial_of<mesh, Axes & axes>, backend>;
  template <class... X>
  using lists = std::tuple<std::vector<X>...>;
  static constexpr mtf::axis_mask P = 1, Q = 2;
  using values =
      lists<tensor<i, j>, partial<Q, i, j>, tensor<j, k>, partial<P, j, k>, tensor<i, k>, tensor<i>, partial<Q, i>,
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
inline constexpr auto add = [](auto const& x, auto const& y) { return x + y; };
inline constexpr auto subtract = [](auto const& x, auto const& y) { return x - y; };
inline constexpr auto multiply = [](auto const& x, auto const& y) { return x * y; };
inline constexpr auto tanh_of = [](auto const& x) { return mtf::tanh(x); };
inline constexpr auto more = [](auto const& x) { return x + 0.5; };
inline constexpr auto completed = [](auto const& x) { return mtf::complete(x); };
inline constexpr auto total = [](auto const& x) { return mtf::sum(x); };
inline constexpr double epsilon = 0.5;  // rows of zeros shall be far from a pole
template <class D>
inline constexpr auto layer_norm =
    [](auto const& x, auto const& g, auto const& b) { return mtf::layer_norm<D>(x, g, b, epsilon); };
template <class D>
inline constexpr auto rms_norm = [](auto const& x, auto const& g) { return mtf::rms_norm<D>(x, g, epsilon); };
template <class... D>
inline constexpr auto einsum = [](auto const& x, auto const& y) { return mtf::einsum<D...>(x, y); };
template <class... D>
inline constexpr auto sum = [](auto const& x) { return mtf::sum<D...>(x); };
/// Laid out as the result is.
struct relayout {
  template <class Out>
  static auto to(auto const& x) {
    return mtf::relayout<typename Out::layout_type>(x);
  }
};

inline constexpr std::tuple steps{
    // Gradients are passed on as they are.
    step<ij, ij, ij>(add), step<ij, ij, ij>(subtract), step<ij, ij, ij_q>(add), step<ij_q, ij_q, ij_q>(add),
    step<ij_q, ij_q, ij_q>(subtract), step<jk, jk, jk>(add), step<jk_p, jk_p, jk_p>(add), step<ik, ik, ik>(add),
    step<vj, vj, vj>(add), step<vj_p, vj_p, vj_p>(add), step<vj_pq, vj_pq, vj_pq>(subtract),
    step<vj_p, vj_p, vj_pq>(add), step<vj, vj_p, vj_q>(add), step<vi, vi, vi>(add), step<vi_q, vi_q, vi_q>(subtract),
    step<vk, vk, vk_p>(add), step<s, s, s>(add), step<s_p, s_p, s_p>(add), step<s_pq, s_pq, s_pq>(add),
    step<moved, moved, moved>(add), step<jw, jw, jw>(add), step<jw, jw, jw>(subtract), step<jw_p, jw_p, jw_p>(add),
    step<iw, iw, iw>(add), step<ij, ij>(more), step<ij, ij_q>(more),
    // Operands are broadcast, and meet gradients.
    step<ij, ij, vj>(add), step<ij, ij, vi>(add), step<ij, ij, ij>(multiply), step<ij, ij, vj>(multiply),
    step<ij_q, ij_q, ij>(multiply), step<ij_q, ij_q, vj>(multiply), step<jk, jk, vk>(add), step<jk, jk, vj>(multiply),
    step<jk_p, jk_p, jk>(multiply), step<ik, ik, vi>(add), step<ik, ik, vk>(multiply), step<ik, ik, ik>(multiply),
    step<vj_p, vj_p, vj>(multiply), step<vj_pq, vj, vj_pq>(multiply), step<vi, vi, vi>(multiply),
    step<ij, ij, s>(multiply), step<jw, jw, vj>(multiply), step<jw_p, jw, vj_p>(multiply),
    step<s_pq, jw, vj_pq>([](auto const& x, auto const& y) { return mtf::sum(x * y); }),
    // Nonlinear: partial operands are completed, once.
    step<ij, ij>(tanh_of), step<ij, ij_q>(tanh_of), step<jk, jk>(tanh_of), step<jk, jk_p>(tanh_of),
    step<ik, ik>(tanh_of), step<vj, vj_p>(tanh_of), step<vj, vj_pq>(tanh_of), step<vi, vi_q>(tanh_of),
    step<vk, vk_p>(tanh_of), step<jw, jw>(tanh_of), step<jw, jw_p>(tanh_of), step<moved, moved>(tanh_of),
    step<ij, ij_q>(completed), step<jk, jk_p>(completed), step<vj, vj_p>(completed), step<vj, vj_q>(completed),
    step<vj, vj_pq>(completed), step<vi, vi_q>(completed), step<vk, vk_p>(completed), step<s, s_p>(completed),
    step<s, s_pq>(completed), step<s, s_q>(completed), step<jw, jw_p>(completed),
    // Norms along whole dimensions and split ones.
    step<ij, ij, vj, vj>(layer_norm<j>), step<ij, ij_q, vj, vj>(layer_norm<j>), step<ij, ij, vj>(rms_norm<j>),
    step<ij, ij, vi>(rms_norm<i>), step<jk, jk, vk, vk>(layer_norm<k>), step<jk, jk_p, vk>(rms_norm<k>),
    step<ik, ik, vk, vk_p>(layer_norm<k>), step<vj, vj, vj>(rms_norm<j>),
    // Contractions.
    step<ik, ij, jk>(einsum<i, k>), step<ik, ij_q, jk>(einsum<i, k>), step<ij_q, ik, jk>(einsum<i, j>),
    step<jk_p, ij, ik>(einsum<j, k>), step<ij, vi, vj>(einsum<i, j>), step<vj_p, ij, vi>(einsum<j>),
    step<vi, ij, vj>(einsum<i>), step<vi_q, ik, vk>(einsum<i>), step<ij_q, vi_q, vj>(einsum<i, j>),
    step<s_p, ij, ij>(einsum<>), step<iw, ij, jw>(einsum<i, wide>), step<ij, iw, jw>(einsum<i, j>),
    step<jw_p, ij, iw>(einsum<j, wide>),
    // Sums.
    step<vj_p, ij>(sum<i>), step<vj_pq, ij_q>(sum<i>), step<vj_q, jk>(sum<k>), step<vi, ij>(sum<j>),
    step<vi_q, ij_q>(sum<j>), step<vi_q, ik>(sum<k>), step<vk, jk>(sum<j>), step<vk_p, ik>(sum<i>),
    step<s_p, ij>(total), step<s_pq, ij_q>(total), step<s, vj>(total), step<s_q, vk>(total),
    // Split differently.
    step<moved, ij>(relayout{}), step<moved, ij_q>(relayout{}), step<ij, moved>(relayout{})};
inline constexpr std::size_t step_count = std::tuple_size_v<std::remove_const_t<decltype(steps)>>;

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
inline constexpr auto signatures =
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
/// A term of the loss: a sum weighted by a constant that is partial over these axes, and so the value's gradient is.
struct term {
  name of;
  mtf::axis_mask axes = 0;
};
struct program {
  std::vector<line> lines;
  std::vector<term> terms;
};

/// The kinds that a program's lines make are few: what must come together for an error to be seen rarely would among
/// all.
template <kind... K>
inline constexpr unsigned makes = (0U | ... | (1U << K));
inline constexpr std::array themes{makes<jk, vk>,
                                   makes<jk, jk_p, ik>,
                                   makes<ij, ij_q, moved>,
                                   makes<ij_q, vj, vj_p, vj_pq, s_p, s_pq>,
                                   makes<ik, vi, vi_q, vj, vj_q, vk, vk_p, s, s_q>,
                                   makes<jw>,
                                   makes<ij, jw, jw_p, iw>,
                                   (1U << kinds) - 1U};

/// One line for each kind that no parameter is of, then some more; values that no line uses are terms of the loss, and
/// a few others.
inline program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  auto const theme = themes[seed % themes.size()];
  auto const is_in = [&](std::size_t x) { return (theme >> x & 1U) != 0; };
  std::array<std::vector<int>, kinds> uses;  // of each value
  for (kind const x : {ij, ij, jk, ik, vi, vj, vj, vk, jw, jw, jw, jw}) uses[x].push_back(1);
  program made;
  auto const take = [&](std::size_t step) {
    auto const& sig = signatures[step];
    bool possible = is_in(sig.out);
    for (std::size_t o = 0; o < sig.operands; ++o) possible = possible && !uses[sig.in[o]].empty();
    if (!possible) return;
    line l{.step = step, .operand = {}};
    for (std::size_t o = 0; o < sig.operands; ++o) {
      auto& all = uses[sig.in[o]];
      l.operand[o] = below(2) == 0 ? all.size() - 1 : below(all.size());
      ++all[l.operand[o]];
    }
    uses[sig.out].push_back(0);
    made.lines.push_back(l);
  };
  auto const lacks = [&](std::size_t x) { return is_in(x) && uses[x].empty(); };
  for (bool all = false; !all;) {
    auto const step = below(step_count);
    if (lacks(signatures[step].out)) take(step);
    all = true;
    for (std::size_t x = 0; x < kinds; ++x) all = all && !lacks(x);
  }
  for (auto const count = made.lines.size() + 3 + below(8); made.lines.size() < count;) {
    auto const first = below(kinds);  // kinds are drawn first: some are operands of few steps
    auto step = below(step_count);
    while (signatures[step].in[0] != first) step = below(step_count);
    take(step);
  }
  for (std::size_t x = 0; x < kinds; ++x)
    for (std::size_t n = 0; n < uses[x].size(); ++n)
      if (uses[x][n] == 0 || (is_in(x) && below(10) == 0))
        made.terms.push_back({{static_cast<kind>(x), n}, static_cast<mtf::axis_mask>(below(4))});
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

/// A constant whose sum is `global`; each rank has a multiple of it.
template <class X>
X terms_of(backend& machine, numbers global) {
  constexpr std::array share{-1.5, 2.5, 0.75, -0.75};  // of two ranks along the axes or four
  mtf::collectives& ranks = machine.ranks();
  if constexpr (X::spec.partial != 0)
    for (double& e : global)
      e *= share[static_cast<std::size_t>(ranks.mesh().index_within(ranks.rank(), X::spec.partial))];
  using whole = mtf::tensor<double, typename X::shape_type, typename X::layout_type, mtf::partial<>, backend>;
  return X(mtf::from_global<whole>(machine, global).value());
}

/// A term of the loss, complete. `weights`: one global array for each kind.
template <class Place, std::size_t Kind, mtf::axis_mask Axes>
auto weighted(typename Place::values const& all, std::size_t n, std::array<numbers, kinds> const& weights) {
  auto const& x = std::get<Kind>(all)[n];
  using X = std::remove_cvref_t<decltype(x)>;
  constexpr auto axes = Axes & Place::axes & ~X::spec.split_axes();
  using W = mtf::tensor<double, typename X::shape_type, typename X::layout_type,
                        mtf::detail::partial_of<typename Place::mesh, axes>, backend>;
  return
      typename Place::template tensor<>(mtf::complete(mtf::sum(x * terms_of<W>(x.backend(), weights[Kind]))).value());
}

/// What was computed, and what it was then.
struct witness {
  mtf::backend::buffer<backend> memory;
  numbers then;
};
template <class X>
void testify(std::vector<witness>& all, X const& x) {
  all.push_back({x.value().memory, x.local()});
}
inline bool is_unchanged(backend& machine, witness const& w) {
  numbers now(w.then.size());
  machine.to_host(now.data(), w.memory->data, now.size() * sizeof(double));
  return now == w.then;
}

/// What a loss may do beside computing: let its values be looked at, and keep them, with their slots.
template <class Place>
struct observer {
  std::vector<witness>* witnesses = nullptr;
  typename Place::values* kept = nullptr;
};

/// The loss of a random program.
struct random_loss {
  program what;
  std::array<numbers, kinds> weights;

  template <class Place>
  typename Place::template tensor<> at(typename Place::params const& x, observer<Place> const& see = {}) const {
    typename Place::values all;
    std::get<ij>(all) = {x.x, x.y};
    std::get<jk>(all) = {x.v};
    std::get<ik>(all) = {x.u};
    std::get<vi>(all) = {x.of_i};
    std::get<vj>(all) = {x.of_j, x.shift};
    std::get<vk>(all) = {x.of_k};
    std::get<jw>(all) = {x.w1, x.w2, x.w3, x.w4};
    constexpr auto carry = []<std::size_t... S>(std::index_sequence<S...>) {
      return std::array{&carry_out<Place, S>...};
    }(std::make_index_sequence<step_count>{});
    for (auto const& l : what.lines) carry[l.step](all, l.operand);
    constexpr auto term_of = []<std::size_t... K>(std::index_sequence<K...>) {
      return std::array{&weighted<Place, K / 4, K % 4>...};
    }(std::make_index_sequence<4 * kinds>{});
    auto const value = [&](term const& n) { return term_of[4 * n.of.of + n.axes](all, n.of.n, weights); };
    auto sum = value(what.terms[0]);
    for (std::size_t n = 1; n < what.terms.size(); ++n) sum = sum + value(what.terms[n]);
    if (see.witnesses != nullptr)
      std::apply(
          [&](auto const&... v) {
            (std::ranges::for_each(v, [&](auto const& y) { testify(*see.witnesses, y); }), ...);
          },
          all);
    if (see.kept != nullptr) *see.kept = all;
    return sum;
  }
};

}  // namespace random_programs
