#pragma once
// A batch in several parts, one after the other: micro-batches.
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mtf/core/error.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>  // IWYU pragma: keep
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

namespace detail {

/// The backend that the tensors of a structure live on.
template <class Backend, class S>
constexpr Backend& backend_of(S& s) {
  Backend* b = nullptr;
  auto const find = [&](path const& name, auto const& x) {
    if (x.empty()) has_no_value("the parameter " + name.text(), std::remove_cvref_t<decltype(x)>::description::spec);
    if (b == nullptr) b = &x.backend();
  };
  walk(static_cast<void*>(nullptr), find, nullptr, s);
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

/// f(i) for each micro-batch. On a trace as a loop of its plan: the first, which makes the gradients, and the last,
/// which may complete them, are by themselves, and one stands for all between.
template <class Backend, class F>
constexpr void for_each_micro_batch([[maybe_unused]] Backend& b, std::size_t n, F const& f) {
  if constexpr (Backend::holds_data) {
    for (std::size_t i = 0; i < n; ++i) f(i);
  } else {
    for (std::size_t i = 0; i < n;) {
      std::size_t const count = i == 0 || i + 1 == n ? 1 : n - 2;
      b.begin_loop(count);
      f(i);
      b.end_loop();
      i += count;
    }
  }
}

/// A sum of losses, not reduced yet.
template <class Loss>
class sum_of_losses {
 public:
  constexpr void add(Loss const& x) {
    if (sum_.empty())
      sum_ = stop_gradient(x);
    else
      sum_ = sum_ + stop_gradient(x);
  }
  /// Reduced, divided by n: one all-reduce if it is partial.
  [[nodiscard]] constexpr auto mean(std::size_t n) const { return complete(sum_) * (1 / static_cast<double>(n)); }

 private:
  Loss sum_;
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

// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void no_micro_batches() {
  throw user_error("mtf::accumulated(loss, 0): a batch is at least one micro-batch");
}

}  // namespace detail

/// What `accumulated` makes: a loss whose value is the mean of f's over the micro-batches of a batch.
template <class F, std::size_t N>
class accumulated_loss {
 public:
  constexpr accumulated_loss() = default;
  constexpr accumulated_loss(F const& f, detail::micro_batch_count<N> n) : f_(f), n_(n) {
    if (n.value() == 0) detail::no_micro_batches();
  }

  /// The loss of one micro-batch.
  [[nodiscard]] constexpr F const& each() const { return f_; }
  /// How many there are.
  [[nodiscard]] constexpr std::size_t size() const { return n_.value(); }

  /// The mean of f(params, args...) over the micro-batches, complete.
  template <class Params, class... Args>
  constexpr auto operator()(Params const& params, Args const&... args) const {
    using loss = std::remove_cvref_t<decltype(f_(params, detail::of_micro_batch(args, 0)...))>;
    if constexpr (std::is_same_v<loss, refused>) {
      return refused{};
    } else {
      detail::sum_of_losses<loss> sum;
      detail::for_each_micro_batch(detail::backend_of<typename loss::backend_type>(params), size(),
                                   [&](std::size_t i) { sum.add(f_(params, detail::of_micro_batch(args, i)...)); });
      return sum.mean(size());
    }
  }

 private:
  [[no_unique_address]] F f_{};
  [[no_unique_address]] detail::micro_batch_count<N> n_{};
};

/// Gradient accumulation: the loss whose value is the mean of f(params, args...) over n micro-batches, of which one
/// after the other is computed. `mtf::value_and_grad(mtf::accumulated(loss, 8))` runs forward and backward through
/// each, and holds the activations of one at a time. Gradients are added up unreduced, in place, and are completed as
/// often as without it: by the optimizer, or, with completed_gradients::overlapped, in the backward pass of the last.
/// The value is reduced once.
///
/// An argument that is a function of a number is called with the micro-batch's, `[&](std::size_t i) { return
/// tokens[i]; }`; any other is given to each. If f is the mean over its batch, value and gradients are those of the
/// micro-batches together, as one batch. With a parameter that f gives no gradient in some micro-batch nothing is added
/// there. Called by itself it evaluates. Refused, as a user_error: no micro-batch at all.
template <class F>
constexpr accumulated_loss<F, 0> accumulated(F const& f, std::size_t n) {
  return {f, {n}};
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
template <class F, std::size_t N>
inline constexpr bool is_accumulated<accumulated_loss<F, N>> = true;

}  // namespace detail
}  // namespace mtf
