#pragma once
// A batch in several parts, one after the other: micro-batches.
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>  // IWYU pragma: keep
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

namespace detail {

// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void no_tensors() {
  throw user_error("a structure of parameters has no tensor: its arrays are empty; give it one at least");
}
/// The backend that the tensors of a structure live on.
template <class Backend, class S>
constexpr Backend& backend_of(S& s) {
  Backend* b = nullptr;
  auto const find = [&](path const& name, auto const& x) {
    if (x.empty()) has_no_value("the parameter " + name.text(), std::remove_cvref_t<decltype(x)>::description::spec);
    if (b == nullptr) b = &x.backend();
  };
  walk(static_cast<void*>(nullptr), find, nullptr, s);
  if (b == nullptr) no_tensors();
  return *b;
}

/// An argument of the i-th micro-batch: of a function of the micro-batch's number its result, else the same for each.
template <class A>
constexpr decltype(auto) of_micro_batch(A const& a, [[maybe_unused]] std::size_t i) {
  if constexpr (std::is_invocable_v<A const&, std::size_t>)
    return a(i);
  else
    return (a);
}
template <class A>
using of_micro_batch_t = std::remove_cvref_t<decltype(of_micro_batch(std::declval<A const&>(), 0))>;

/// In place of weights: all micro-batches count the same.
struct alike {};

/// One of the micro-batches of a batch.
struct micro_batch {
  std::size_t number;
  double share;  // of the batch
  bool last;     // none is computed after it
};

// Not constexpr, both: a plan of such a program ends here.
[[noreturn]] inline void no_micro_batches() {
  throw user_error("mtf::accumulated(loss, 0): a batch is at least one micro-batch");
}
[[noreturn]] inline void wrong_weight(std::size_t i, double weight) {
  throw user_error("mtf::accumulated: the weight of micro-batch " + std::to_string(i) + " is " +
                   std::to_string(weight) +
                   ": a weight is a finite number and not negative, such as the number of labels");
}
[[noreturn]] inline void nothing_weighs(std::size_t n) {
  throw user_error("mtf::accumulated: all " + std::to_string(n) +
                   " micro-batches of a batch have the weight 0, so their mean is none: leave such a batch out, as "
                   "where it has no label");
}

/// What share of the batch each of n micro-batches is, by their weights.
template <class Weight>
std::vector<double> shares_of(Weight const& weight, std::size_t n) {
  std::vector<double> shares(n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    shares[i] = static_cast<double>(weight(i));
    if (!(shares[i] >= 0) || !(shares[i] <= std::numeric_limits<double>::max())) wrong_weight(i, shares[i]);
    sum += shares[i];
  }
  if (sum == 0) nothing_weighs(n);
  for (auto& share : shares) share /= sum;
  return shares;
}

/// f(micro_batch) for each that has a share. On a trace they are a loop of its plan: the first, which makes the
/// gradients, and the last, which may reduce them, run by themselves, and one run stands for all between.
template <class Backend, class Weight, class F>
constexpr void for_each_micro_batch([[maybe_unused]] Backend& b, [[maybe_unused]] Weight const& weight, std::size_t n,
                                    F const& f) {
  double const even = 1 / static_cast<double>(n);
  if constexpr (!Backend::holds_data) {
    for (std::size_t i = 0; i < n;) {
      std::size_t const count = i == 0 || i + 1 == n ? 1 : n - 2;
      b.begin_loop(count);
      f(micro_batch{i, even, i + 1 == n});
      b.end_loop();
      i += count;
    }
  } else if constexpr (std::is_same_v<Weight, alike>) {
    for (std::size_t i = 0; i < n; ++i) f(micro_batch{i, even, i + 1 == n});
  } else {
    auto const shares = shares_of(weight, n);
    auto last = n - 1;
    while (shares[last] == 0) --last;
    for (std::size_t i = 0; i <= last; ++i)
      if (shares[i] != 0) f(micro_batch{i, shares[i], i == last});
  }
}

/// The mean of losses by their shares, not reduced until it is asked for. Taken in the type that they are computed in.
template <class Loss, class Weight>
class mean_of_losses {
  static constexpr bool even = std::is_same_v<Weight, alike>;
  using T = typename Loss::element_type;
  using summed = std::remove_cvref_t<decltype(cast_call<compute_t<T>>{}(std::declval<Loss const&>()))>;

 public:
  constexpr void add(Loss const& x, double share) {
    auto const term = cast_call<compute_t<T>>{}(stop_gradient(x));
    if constexpr (even)
      add_term(term);
    else
      add_term(term * share);
  }
  /// The mean of n losses: one all-reduce if it is partial.
  [[nodiscard]] constexpr auto value([[maybe_unused]] std::size_t n) const {
    if constexpr (even)
      return cast_call<T>{}(complete(sum_) * (1 / static_cast<double>(n)));
    else
      return cast_call<T>{}(complete(sum_));
  }

 private:
  constexpr void add_term(summed const& x) {
    if (sum_.empty())
      sum_ = x;
    else
      sum_ = sum_ + x;
  }
  summed sum_;
};

/// How many micro-batches: known to the compiler, or not (0).
template <std::size_t N>
struct micro_batch_count {
  [[nodiscard]] static constexpr std::size_t value() { return N; }
};
template <>
struct micro_batch_count<0> {
  std::size_t n = 0;
  [[nodiscard]] constexpr std::size_t value() const { return n; }
};

}  // namespace detail

/// What `accumulated` makes: a loss whose value is the mean of f's over the micro-batches of a batch, by their weights.
template <class F, std::size_t N, class Weight = detail::alike>
class accumulated_loss {
 public:
  constexpr accumulated_loss() = default;
  constexpr accumulated_loss(F const& f, detail::micro_batch_count<N> n, Weight const& weight = {})
      : f_(f), n_(n), weight_(weight) {
    if (n.value() == 0) detail::no_micro_batches();
  }

  /// The loss of one micro-batch.
  [[nodiscard]] constexpr F const& each() const { return f_; }
  /// How many there are.
  [[nodiscard]] constexpr std::size_t size() const { return n_.value(); }
  /// How much each counts.
  [[nodiscard]] constexpr Weight const& weight() const { return weight_; }

  /// The mean of f(params, args...) over the micro-batches, reduced.
  template <class Params, class... Args>
  constexpr auto operator()(Params const& params, Args const&... args) const {
    using loss = std::remove_cvref_t<decltype(f_(params, detail::of_micro_batch(args, 0)...))>;
    if constexpr (std::is_same_v<loss, refused>) {
      return refused{};
    } else {
      detail::mean_of_losses<loss, Weight> mean;
      detail::for_each_micro_batch(detail::backend_of<typename loss::backend_type>(params), weight_, size(),
                                   [&](detail::micro_batch const& m) {
                                     mean.add(f_(params, detail::of_micro_batch(args, m.number)...), m.share);
                                   });
      return mean.value(size());
    }
  }

 private:
  [[no_unique_address]] F f_{};
  [[no_unique_address]] detail::micro_batch_count<N> n_{};
  [[no_unique_address]] Weight weight_{};
};

/// Gradient accumulation: the loss whose value is the mean of f(params, args...) over n micro-batches, which are
/// computed one after the other. `mtf::value_and_grad(mtf::accumulated(loss, 8))` runs forward and backward through
/// each, and holds the activations of one at a time. Gradients are added up unreduced, in place, and are reduced as
/// often as without it: by the optimizer, or, with completed_gradients::overlapped, in the backward pass of the last
/// micro-batch. Those of bfloat16 are added up in float and rounded once. The value is reduced once.
///
/// An argument that is a function of a number is called with the micro-batch's number, `[&](std::size_t i) { return
/// tokens[i]; }`; any other is given to each. If f is the mean over its batch, of as many examples in each, value and
/// gradients are those of the micro-batches together, as one batch; else give weights. Where f gives a parameter no
/// gradient in some micro-batch, nothing is added. Called by itself it evaluates. Refused, as a user_error: no
/// micro-batch at all.
template <class F>
constexpr accumulated_loss<F, 0> accumulated(F const& f, std::size_t n) {
  return {f, {n}};
}
/// The same where micro-batches count by `weight(i)`, a number that is the same on all ranks: sum of weight(i) f_i over
/// sum of weight(i). If f is a mean over what has a label, and the weight the number of these, value and gradients are
/// those of one batch, however its labels are distributed. A micro-batch of weight 0 is left out: it may have no mean.
/// Weights are asked for once each, before the first micro-batch; plans do not ask. Refused, as a user_error: weights
/// that are negative, not finite, or all 0.
template <class F, class Weight>
constexpr accumulated_loss<F, 0, Weight> accumulated(F const& f, std::size_t n, Weight const& weight) {
  static_assert(std::is_invocable_r_v<double, Weight const&, std::size_t>,
                "mtf: the weights of micro-batches are a function of a micro-batch's number: "
                "[&](std::size_t i) { return labels_in(i); }");
  return {f, {n}, weight};
}
/// The same for plan_of, whose functions have no state: `mtf::accumulated<8>(loss)`. In a plan the micro-batches are a
/// loop, which costs the compiler what three cost.
template <std::size_t N, class F>
  requires(N > 0)
constexpr accumulated_loss<F, N> accumulated(F const& f) {
  return {f, {}};
}

namespace detail {

template <class F>
inline constexpr bool is_accumulated = false;
template <class F, std::size_t N, class Weight>
inline constexpr bool is_accumulated<accumulated_loss<F, N, Weight>> = true;

}  // namespace detail
}  // namespace mtf
