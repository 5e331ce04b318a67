#pragma once
// How a file of operations writes them down: a typed call for each, then its entry.
//
//   SWEEP_OF_ONE(sum_b, (real<a, b, c>), mtf::sum<b>(x))
//   ... with_cases<sum_b>("sum<b>(x)") ...
#include <cmath>
#include <functional>
#include <utility>

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

using definition = std::function<numbers(std::vector<numbers> const&)>;

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
operation entry(std::string name, documentation text, definition define, closed_form sends) {
  operation op = with_cases<Op>(std::move(name), std::move(text));
  op.define = std::move(define);
  op.sends = std::move(sends);
  return op;
}

/// The same of an operation that adds elements up, or multiplies by what it added up.
template <class Op>
operation adding(std::string name, documentation text, definition define, closed_form sends) {
  operation op = entry<Op>(std::move(name), std::move(text), std::move(define), std::move(sends));
  op.sums = true;
  return op;
}

// The larger and the smaller of two numbers; NaN if there is one.
inline double larger(double x, double y) { return x > y || x != x ? x : y; }
inline double smaller(double x, double y) { return x < y || x != x ? x : y; }

inline numbers unchanged(std::vector<numbers> const& x) { return x[0]; }

// Extents, and plain loops over them, for definitions.
inline constexpr std::size_t A = extent_of[0], B = extent_of[1], C = extent_of[2], D = extent_of[3], E = extent_of[4];

/// Rows of n numbers that lie `inner` apart: row r is (r / inner, r % inner). f(x, y) makes n numbers of n.
template <class F>
definition by_rows(std::size_t n, std::size_t inner, F f) {
  return [=](std::vector<numbers> const& x) {
    numbers y(x[0].size()), row(n), made(n);
    for (std::size_t r = 0; r < x[0].size() / n; ++r) {
      std::size_t const first = r / inner * inner * n + r % inner;
      for (std::size_t j = 0; j < n; ++j) row[j] = x[0][first + j * inner];
      f(row, made, x);
      for (std::size_t j = 0; j < n; ++j) y[first + j * inner] = made[j];
    }
    return y;
  };
}

/// A function of one number of each operand, which are repeated along the dimensions that they lack.
class pointwise {
 public:
  using function = std::function<double(std::vector<double> const&)>;
  pointwise(std::vector<int> out, std::vector<std::vector<int>> in, function f)
      : out_(std::move(out)), in_(std::move(in)), f_(std::move(f)) {}

  numbers values(std::vector<numbers> const& x) const {
    numbers y(global_size(out_));
    each([&](std::size_t at, std::vector<std::size_t> const& from) { y[at] = f_(picked(x, from)); });
    return y;
  }
  /// By central differences in operand o.
  numbers gradient(std::vector<numbers> const& x, numbers const& weights, std::size_t o) const {
    constexpr double h = 1e-5;
    numbers g(x[o].size());
    each([&](std::size_t at, std::vector<std::size_t> const& from) {
      auto above = picked(x, from), below = above;
      above[o] += h;
      below[o] -= h;
      g[from[o]] += weights[at] * (f_(above) - f_(below)) / (2 * h);
    });
    return g;
  }
  void define(operation& op) const {
    op.define = [me = *this](std::vector<numbers> const& x) { return me.values(x); };
    op.gradient = [me = *this](std::vector<numbers> const& x, numbers const& w, std::size_t o) {
      return me.gradient(x, w, o);
    };
  }

 private:
  /// Calls visit(position in out, position in each operand) for every element.
  template <class Visit>
  void each(Visit const& visit) const {
    std::vector<std::size_t> from(in_.size());
    for (std::size_t at = 0; at < global_size(out_); ++at) {
      std::array<std::size_t, dim_count> i{};
      std::size_t rest = at;
      for (std::size_t k = out_.size(); k-- > 0;) {
        auto const d = static_cast<std::size_t>(out_[k]);
        i[d] = rest % static_cast<std::size_t>(extent_of[d]);
        rest /= static_cast<std::size_t>(extent_of[d]);
      }
      for (std::size_t o = 0; o < in_.size(); ++o) {
        from[o] = 0;
        for (int const d : in_[o])
          from[o] = from[o] * static_cast<std::size_t>(extent_of[static_cast<std::size_t>(d)]) +
                    i[static_cast<std::size_t>(d)];
      }
      visit(at, from);
    }
  }
  static std::vector<double> picked(std::vector<numbers> const& x, std::vector<std::size_t> const& from) {
    std::vector<double> now(x.size());
    for (std::size_t o = 0; o < x.size(); ++o) now[o] = x[o][from[o]];
    return now;
  }

  std::vector<int> out_;
  std::vector<std::vector<int>> in_;
  function f_;
};

}  // namespace sweep
