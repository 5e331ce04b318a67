#pragma once
// How a file of operations writes them down: a typed call for each, then its entry.
//
//   SWEEP_OF_ONE(sum_b, (real<a, b, c>), mtf::sum<b>(x))
//   ... with_cases<sum_b>("sum<b>(x)") ...
#include <cmath>
#include <utility>

#include "forms.hpp"
#include "typed.hpp"

#ifndef MTF_SWEEP_FULL
#define MTF_SWEEP_FULL 0
#endif

#define SWEEP_OPERANDS(...) mtf::detail::list<__VA_ARGS__>
#define SWEEP_HEAD(OPERANDS)                   \
  using operands = SWEEP_OPERANDS OPERANDS;    \
  static constexpr int phase = __LINE__ % 8;
#define SWEEP_OF_ONE(NAME, OPERANDS, ...)        \
  struct NAME {                                  \
    SWEEP_HEAD(OPERANDS)                         \
    template <class Case, class X>               \
    static auto call(backend&, X const& x) {     \
      return __VA_ARGS__;                        \
    }                                            \
  };
#define SWEEP_OF_TWO(NAME, OPERANDS, ...)                    \
  struct NAME {                                              \
    SWEEP_HEAD(OPERANDS)                                     \
    template <class Case, class X, class Y>                  \
    static auto call(backend&, X const& x, Y const& y) {     \
      return __VA_ARGS__;                                    \
    }                                                        \
  };
#define SWEEP_OF_THREE(NAME, OPERANDS, ...)                             \
  struct NAME {                                                         \
    SWEEP_HEAD(OPERANDS)                                                \
    template <class Case, class X, class Y, class Z>                    \
    static auto call(backend&, X const& x, Y const& y, Z const& z) {    \
      return __VA_ARGS__;                                               \
    }                                                                   \
  };

namespace sweep {

/// How many cases of each family (plain, partial, refused, differing) an operation gets on a mesh.
constexpr budget budget_on(int mesh) {
  constexpr int all = 1 << 20;
  int const axes = mesh_of[static_cast<std::size_t>(mesh)].axes;
#if MTF_SWEEP_FULL
  return axes < 3 ? budget{all, all, all, all} : budget{all, 150, 50, 30};
#else
  switch (axes) {
    case 0: return {1, 0, 0, 0};
    case 1: return {all, 4, 2, 2};
    case 2: return {7, 7, 3, 3};
    default: return {9, 9, 3, 3};
  }
#endif
}

template <class Op, int... Mesh>
std::vector<std::span<typed_case const>> cases_on(std::integer_sequence<int, Mesh...>) {
  return {std::span<typed_case const>(table<Op, Mesh, chosen<signature_of<Op>(), Mesh, budget_on(Mesh), Op::phase>>)...};
}

template <class T, class... D>
operand_info info_of(arg<T, D...> const*) {
  return {.dims = {number_of_dim<D>...}, .elements = std::is_same_v<T, double> ? kind::real : kind::whole};
}
template <class... Arg>
std::vector<operand_info> infos_of(mtf::detail::list<Arg...> const*) {
  return {info_of(static_cast<Arg const*>(nullptr))...};
}

/// An entry with what the typed call tells: operands and cases.
template <class Op>
operation with_cases(std::string name, documentation text) {
  operation op;
  op.name = std::move(name);
  op.text = std::move(text);
  op.in = infos_of(static_cast<typename Op::operands const*>(nullptr));
  op.takes_layout = signature_of<Op>().takes_layout;
  op.cases = cases_on<Op>(std::make_integer_sequence<int, mesh_count>{});
  return op;
}

// Extents, and plain loops over them, for definitions.
inline constexpr std::size_t A = extent_of[0], B = extent_of[1], C = extent_of[2], D = extent_of[3], E = extent_of[4];

/// out = f(operands...), which are repeated along the dimensions they lack: f sees one number of each.
template <class F>
auto pointwise(std::vector<int> out, std::vector<std::vector<int>> in, F f) {
  return [=](std::vector<numbers> const& x) {
    numbers y(global_size(out));
    std::vector<double> now(in.size());
    for (std::size_t at = 0; at < y.size(); ++at) {
      std::array<std::size_t, dim_count> i{};
      std::size_t rest = at;
      for (std::size_t k = out.size(); k-- > 0;) {
        auto const d = static_cast<std::size_t>(out[k]);
        i[d] = rest % static_cast<std::size_t>(extent_of[d]);
        rest /= static_cast<std::size_t>(extent_of[d]);
      }
      for (std::size_t o = 0; o < in.size(); ++o) {
        std::size_t from = 0;
        for (int const d : in[o])
          from = from * static_cast<std::size_t>(extent_of[static_cast<std::size_t>(d)]) + i[static_cast<std::size_t>(d)];
        now[o] = x[o][from];
      }
      y[at] = f(now);
    }
    return y;
  };
}

}  // namespace sweep
