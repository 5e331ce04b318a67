#pragma once
// What an operation means, stated once for all tests: from global arrays of numbers to one, number by number and as
// simply as can be. The layout sweep and the program fuzzer take values and gradients from it, the fuzzer its
// tolerances too. Nothing here knows the library.
//
// Dimensions are numbers, whose extents the arrays know; a definition is told of which it speaks.
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tape.hpp"

namespace define {

inline constexpr std::size_t most_dims = 8;
/// The extents of all dimensions.
using extents = std::array<int, most_dims>;
/// A position along every dimension; those that an array lacks do not matter to it.
using position = std::array<int, most_dims>;
/// Some dimensions, outermost first.
using dim_list = std::vector<int>;
constexpr std::size_t at(int dim) { return static_cast<std::size_t>(dim); }

struct array {
  dim_list dims;
  extents extent;
  std::vector<number> numbers;  // row-major

  array(dim_list over, extents const& of);
  number& operator[](position const& p) { return numbers[offset(p)]; }
  number operator[](position const& p) const { return numbers[offset(p)]; }

 private:
  [[nodiscard]] std::size_t offset(position const& p) const {
    std::size_t i = 0;
    for (int const d : dims) i = i * at(extent[at(d)]) + at(p[at(d)]);
    return i;
  }
};

std::size_t size_of(dim_list const& dims, extents const& of);
dim_list without(dim_list const& dims, dim_list const& gone);

/// f(position) for every position along some dimensions, row-major; others stay as in `from`.
template <class F>
void each(dim_list const& dims, extents const& of, position from, F const& f) {
  std::size_t const n = size_of(dims, of);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t rest = i;
    for (std::size_t k = dims.size(); k-- > 0;) {
      std::size_t const extent = at(of[at(dims[k])]);
      from[at(dims[k])] = static_cast<int>(rest % extent);
      rest /= extent;
    }
    f(from);
  }
}
/// f(position) for every one of an array.
template <class F>
void each(array const& x, F const& f) {
  each(x.dims, x.extent, {}, f);
}

using operands = std::vector<array const*>;
/// Fills the result, whose dimensions are known.
using definition = std::function<void(tape&, operands const&, array& y)>;

// Of what definitions are made --------------------------------------------------------------------------------------

using row = std::vector<number>;
/// The numbers of x along `dims`, others fixed.
row along(array const& x, dim_list const& dims, position const& at);

definition by_elements(std::function<number(tape&, row const&)> f);
/// f(tape, a number of each operand) of every element; operands are repeated along the dimensions that they lack.
template <class F>
definition pointwise(F f) {
  return by_elements([f](tape& t, row const& x) {
    if constexpr (std::is_invocable_v<F const&, tape&, number>)
      return std::invoke(f, t, x[0]);
    else if constexpr (std::is_invocable_v<F const&, tape&, number, number>)
      return std::invoke(f, t, x[0], x[1]);
    else
      return std::invoke(f, t, x[0], x[1], x[2]);
  });
}
/// f(tape, all numbers along the dimensions that the result lacks).
definition reduction(std::function<number(tape&, row const&)> f);
/// From the rows of the first operand along `dim`, with the other operands' rows, to rows of the result.
definition rows(int dim, std::function<row(tape&, std::vector<row> const&)> f);
/// f(index in the result, position): no operands.
definition constant(std::function<double(std::size_t index, position const& at)> f);

}  // namespace define
