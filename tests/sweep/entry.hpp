#pragma once
// How a file of operations writes them down: a typed call for each, then its entry.
//
//   SWEEP_OF_ONE(sum_b, (real<a, b, c>), mtf::sum<b>(x))
//   ... with_cases<sum_b>("sum<b>(x)") ...
#include <string>
#include <utility>
#include <vector>

#include "forms.hpp"
#include "typed.hpp"

#define SWEEP_OPERANDS(...) mtf::detail::list<__VA_ARGS__>
#define SWEEP_HEAD(NAME, OPERANDS)          \
  using operands = SWEEP_OPERANDS OPERANDS; \
  static constexpr int phase = phase_of(#NAME);
#define SWEEP_OF_ONE(NAME, OPERANDS, ...)    \
  struct NAME {                              \
    SWEEP_HEAD(NAME, OPERANDS)               \
    template <class Case, class X>           \
    static auto call(backend&, X const& x) { \
      return __VA_ARGS__;                    \
    }                                        \
  };
#define SWEEP_OF_TWO(NAME, OPERANDS, ...)                \
  struct NAME {                                          \
    SWEEP_HEAD(NAME, OPERANDS)                           \
    template <class Case, class X, class Y>              \
    static auto call(backend&, X const& x, Y const& y) { \
      return __VA_ARGS__;                                \
    }                                                    \
  };
#define SWEEP_OF_THREE(NAME, OPERANDS, ...)                          \
  struct NAME {                                                      \
    SWEEP_HEAD(NAME, OPERANDS)                                       \
    template <class Case, class X, class Y, class Z>                 \
    static auto call(backend&, X const& x, Y const& y, Z const& z) { \
      return __VA_ARGS__;                                            \
    }                                                                \
  };
#define SWEEP_OF_FOUR(NAME, OPERANDS, ...)                                       \
  struct NAME {                                                                  \
    SWEEP_HEAD(NAME, OPERANDS)                                                   \
    template <class Case, class X, class Y, class Z, class W>                    \
    static auto call(backend&, X const& x, Y const& y, Z const& z, W const& w) { \
      return __VA_ARGS__;                                                        \
    }                                                                            \
  };
#define SWEEP_OF_FIVE(NAME, OPERANDS, ...)                                                   \
  struct NAME {                                                                              \
    SWEEP_HEAD(NAME, OPERANDS)                                                               \
    template <class Case, class X, class Y, class Z, class W, class V>                       \
    static auto call(backend&, X const& x, Y const& y, Z const& z, W const& w, V const& v) { \
      return __VA_ARGS__;                                                                    \
    }                                                                                        \
  };

namespace sweep {

template <class Op, int Mesh>
std::span<typed_case const> cases_on() {
  return table<Op, Mesh, chosen<signature_of<Op>(), Mesh, typed_budget(Mesh), Op::phase>>;
}
template <class Op, int... Mesh>
std::vector<std::span<typed_case const>> cases_on_all(std::integer_sequence<int, Mesh...>) {
  return {cases_on<Op, Mesh>()...};
}

template <class T, class... D>
operand_info info_of(arg<T, D...> const*) {
  return {.dims = {number_of_dim<D>...}, .elements = std::is_same_v<T, element> ? kind::real : kind::whole};
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
  op.form = signature_of<Op>();
  op.phase = Op::phase;
  op.cases = cases_on_all<Op>(std::make_integer_sequence<int, mesh_count>{});
  op.any_layout = by_value<Op, typename Op::operands, std::make_index_sequence<Op::operands::size>>::prototype;
  return op;
}

template <class Op>
operation entry(std::string name, documentation text, define::definition definition, closed_form sends) {
  operation op = with_cases<Op>(std::move(name), std::move(text));
  op.definition = std::move(definition);
  op.sends = std::move(sends);
  return op;
}

/// The same of an operation that adds elements up, or multiplies by what it added up.
template <class Op>
operation adding(std::string name, documentation text, define::definition definition, closed_form sends) {
  operation op = entry<Op>(std::move(name), std::move(text), std::move(definition), std::move(sends));
  op.sums = true;
  return op;
}

// Extents.
inline constexpr std::size_t A = extent_of[0], B = extent_of[1], C = extent_of[2], D = extent_of[3], E = extent_of[4],
                             G = extent_of[6];

}  // namespace sweep
