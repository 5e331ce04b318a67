#pragma once
// The naive interpreter: global arrays of doubles, computed number by number, with gradients by reverse mode over every
// single number. It shares no code with the library.
//
// Beside each number stands a bound of what rounding may have changed it by when the library computed it in its element
// types, in any order: the tolerances of the fuzzer follow from these bounds, for values and for gradients. A number
// carries
//   value      in double
//   error      the bound, to first order
//   magnitude  of what was added up to it: ranks may hold, and round, terms that are larger than their sum
// and backward the same three of its derivative.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fuzz {

/// A number on the tape.
using number = std::uint32_t;

class tape {
 public:
  struct node {
    double value = 0, error = 0, magnitude = 0;
    double rounding = 0;  // relative, of this operation
    std::array<number, 2> from{};
    std::array<double, 2> slope{}, slope_error{}, slope_magnitude{};
    int parents = 0;
    double derivative = 0, derivative_error = 0, derivative_magnitude = 0;
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
  number larger(number x, number y);
  number abs(number x);
  /// Whether x is positive, negative or 0. If rounding could change the answer, the tape is undecided.
  int sign(number x);
  /// x must be above `least` by more than its error; else the tape is undecided.
  void above(number x, double least);
  /// Truncated to an integer; a constant to the backward pass.
  number truncated(number x);
  /// A decision could go either way, so the program's results have no tolerance.
  [[nodiscard]] bool undecided() const { return undecided_; }
  /// An operand for which the operation means nothing of use.
  void reject() { undecided_ = true; }

  /// The derivatives of x by all numbers before it.
  void backward(number x);
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

// Arrays -------------------------------------------------------------------------------------------------------------

inline constexpr int dim_count = 6;
inline constexpr std::array<char const*, dim_count> dim_names{"a", "b", "c", "one", "k", "wide"};
inline constexpr std::array<int, dim_count> extents{8, 4, 6, 1, 8, 1032};

/// Dimensions by number, outermost first.
using dim_list = std::vector<int>;
std::size_t size_of(dim_list const& dims);
/// A position along every dimension; those that an array lacks do not matter to it.
using position = std::array<int, dim_count>;

struct array {
  dim_list dims;
  std::vector<number> at;  // row-major

  explicit array(dim_list d) : dims(std::move(d)), at(size_of(dims)) {}
  number& operator[](position const& p) { return at[offset(p)]; }
  number operator[](position const& p) const { return at[offset(p)]; }

 private:
  [[nodiscard]] std::size_t offset(position const& p) const {
    std::size_t i = 0;
    for (int const d : dims)
      i = i * static_cast<std::size_t>(extents[static_cast<std::size_t>(d)]) +
          static_cast<std::size_t>(p[static_cast<std::size_t>(d)]);
    return i;
  }
};

/// f(position) for every position along some dimensions, row-major; others stay as in `from`.
template <class F>
void each(dim_list const& dims, position from, F const& f) {
  std::size_t const n = size_of(dims);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t rest = i;
    for (std::size_t d = dims.size(); d-- > 0;) {
      auto const k = static_cast<std::size_t>(dims[d]);
      from[k] = static_cast<int>(rest % static_cast<std::size_t>(extents[k]));
      rest /= static_cast<std::size_t>(extents[k]);
    }
    f(from);
  }
}
dim_list without(dim_list const& dims, dim_list const& gone);

// Definitions --------------------------------------------------------------------------------------------------------

using operands = std::vector<array const*>;
using numbers_of_one = std::vector<number>;
/// What an operation means: from its operands to an array over `out`. Results are stored by the caller.
using definition = std::function<array(tape&, operands const&, dim_list const& out)>;

namespace define {
/// A function of one number of each operand, which are repeated along what they lack.
definition pointwise(std::function<number(tape&, numbers_of_one const&)> f);
/// The same array: other dimensions, names or orders are the result's.
definition same();
/// One dimension by another name.
definition renamed(int from, int to);
/// The product of all operands, summed over what the result lacks; plus the last one if `bias`.
definition contraction(bool bias = false);
/// From all numbers along the dimensions that the result lacks to one.
definition reduction(std::function<number(tape&, numbers_of_one const&)> f);
/// From the rows of the first operand along `dim`, with the other operands' rows, to rows of the result.
definition rows(int dim, std::function<numbers_of_one(tape&, std::vector<numbers_of_one> const&)> f);
/// From a position to a number that does not depend on operands.
definition constant(std::function<double(std::size_t index, position const& at)> f);
definition stopped();
definition truncated();
definition softmax(int dim, double scale, bool logarithm = false);
/// Whether a query at a position sees the key at another.
using sees = std::function<bool(int query, int key)>;
/// Of the scores, and of lengths if they are an operand.
definition masked_softmax(int query, int key, sees shows, double scale);
definition attention(int query, int key, int head, sees shows, double scale);
definition logsumexp();
definition layer_norm(int dim, double epsilon);
definition rms_norm(int dim, double epsilon);
definition cross_entropy(int classes);
definition embedding(int vocabulary);
definition slice(int whole, int part);
definition update(int whole, int part);
/// The largest along `dim`, as many as `count` is long.
definition largest(int dim, int count);
definition dropout(double rate, std::uint64_t key);
}  // namespace define

}  // namespace fuzz
