#pragma once
// Numbers that remember what they were computed from: a definition (definition.hpp) computes with them in double,
// number by number, and gradients follow by reverse mode over every single number.
//
// Beside each number stands a bound of what rounding may have changed it by when the library computed it in its element
// types, in any order: the tolerances of the fuzzer follow from these bounds, for values and for gradients. Where
// nothing rounds (round_by was not called), all bounds are 0. A number carries
//   value      in double
//   error      the bound, to first order
//   magnitude  of what was added up to it: ranks may hold, and round, terms that are larger than their sum
// and backward the same three of its derivative.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace define {

/// A number on the tape.
using number = std::uint32_t;

class tape {
 public:
  struct node {
    double value = 0, error = 0, magnitude = 0;
    double rounding = 0;  // relative, of this operation
    std::array<number, 2> from{};
    std::array<double, 2> slope{}, slope_error{}, slope_magnitude{};
    double (*rounds)(double) = nullptr;  // what is passed on backward
    int parents = 0;
    double derivative = 0, derivative_error = 0, derivative_magnitude = 0;
    bool reached = false;  // backward
  };

  /// What operations round by from now on: inside an operation, and where its result is stored.
  void round_by(double inside, double stored) { inside_ = inside, stored_ = stored; }

  number constant(double value, double magnitude = 0, double rounding = 0);
  number add(number x, number y);
  number subtract(number x, number y);
  number multiply(number x, number y);
  number scale(number x, double factor);
  /// A function of one number, with its first two derivatives there. `slope_terms`: the size of what the first is
  /// computed from, if it is a difference.
  number function(number x, double value, double slope, double curvature, double slope_terms = 0);
  /// Passes its operand on, but is a constant to the backward pass.
  number stopped(number x);
  /// A result as the element type stores it.
  number store(number x);
  /// Rounded by f, and its derivative too.
  number rounded(number x, double (*f)(double));
  number sum(std::span<number const> x);

  // Of what else operations are made.
  number exp(number x);
  number log(number x);
  number sqrt(number x);
  number tanh(number x);
  number sigmoid(number x);
  number inverse(number x);
  number power(number x, double n);
  number shift(number x, double n) { return add(x, constant(n)); }
  number divide(number x, number y) { return multiply(x, inverse(y)); }
  /// NaN if one is; where they are equal, each has half of the derivative.
  number larger(number x, number y);
  number smaller(number x, number y) { return scale(larger(scale(x, -1), scale(y, -1)), -1); }
  /// NaN, a constant, if there is one; else all that equal it have the derivative.
  number largest(std::span<number const> x);
  number abs(number x);
  /// Whether x is positive, negative or 0. If rounding could change the answer, the tape is undecided.
  int sign(number x);
  /// If rounding could change which of the two is larger, the tape is undecided.
  void told_apart(number x, number y);
  /// x must be above `least` by more than its error; else the tape is undecided.
  void above(number x, double least);
  /// Truncated to an integer; a constant to the backward pass.
  number truncated(number x);
  /// A decision could go either way, so the program's results have no tolerance.
  [[nodiscard]] bool undecided() const { return undecided_; }
  /// The operation has no meaning for such operands, or one that rounding hides.
  void reject() { undecided_ = true; }

  /// The derivatives of x by all numbers before it.
  void backward(number x);
  [[nodiscard]] double value(number x) const { return nodes_[x].value; }
  node const& operator[](number x) const { return nodes_[x]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// As it was with n numbers, and decided.
  void back_to(std::size_t n) {
    nodes_.resize(n);
    undecided_ = false;
  }

 private:
  number push(node const& n) {
    nodes_.push_back(n);
    return static_cast<number>(nodes_.size() - 1);
  }
  std::vector<node> nodes_;
  double inside_ = 0, stored_ = 0;
  bool undecided_ = false;
};

}  // namespace define
