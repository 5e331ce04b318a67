#pragma once
// What the elements of a row so far come to.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/cumulative.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/carry.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf {

/// Which elements a running sum, product or maximum takes together: those up to an element, those before it, those from
/// it on, or those behind it.
enum class cumulative : std::uint8_t { inclusive, exclusive, reverse, reverse_exclusive };

namespace detail {

constexpr bool is_reverse(cumulative how) { return how == cumulative::reverse || how == cumulative::reverse_exclusive; }
constexpr bool is_exclusive(cumulative how) {
  return how == cumulative::exclusive || how == cumulative::reverse_exclusive;
}

/// What nothing comes to.
template <class A>
constexpr A nothing_of(primitives::running by) {
  return by == primitives::running::max ? neutral<A>(combine::max) : A(by == primitives::running::product ? 1 : 0);
}

struct cumulative_work : operation_work<1> {
  rows x;
  int dim = 0;

  [[nodiscard]] constexpr axis_list const& split() const { return in[0][dim].split; }
  /// The rows of a rank, without pads.
  [[nodiscard]] constexpr rows rows_on(auto const& pass) const {
    return rows_without_pads(x, in[0], dim, pass.mesh(), pass.rank());
  }
  /// Whether a rank has the first elements, or, in reverse, the last.
  [[nodiscard]] constexpr bool begins_on(auto const& pass, bool reverse) const {
    auto const here = shard_offset(in[0], dim, pass.mesh(), pass.rank());
    return reverse ? here + x.n >= in[0][dim].logical() : here == 0;
  }
};

template <primitives::running By, class T, class R>
struct cumulative_operation {
  using A = compute_t<R>;
  cumulative_work const* work;
  cumulative how;
  static constexpr bool linear = By == primitives::running::sum;
  static constexpr std::size_t kept = linear ? 0 : 2;  // x, and what comes before the rank's part
  static constexpr char const* name() {
    return linear ? "cumulative_sum" : By == primitives::running::product ? "cumulative_prod" : "cumulative_max";
  }

  constexpr void forward(auto& f) const {
    auto const before = carried<T, R>(f, is_reverse(how), f.x());
    run<T, R>(f, is_reverse(how), is_exclusive(how), f.y(), f.x(), before);
    if constexpr (!linear) f.kept = {f.memory(), before};
  }
  constexpr void backward(auto& g) const {
    bool const reverse = is_reverse(how), exclusive = is_exclusive(how);
    if constexpr (linear) {
      auto const behind = carried<T, T>(g, !reverse, g.dy());
      run<T, T>(g, !reverse, exclusive, g.dx(), g.dy(), behind);
    } else {
      auto const n = work->x.count();
      T const* const x = data_of<T>(g.kept[0]);
      auto all_before = make_buffer<A>(g.backend, work->in[0].local_size(g.mesh()));
      run<T, A>(g, reverse, true, data_of<A>(all_before), x, g.kept[1]);
      bool const begins = work->begins_on(g, reverse), ends = work->begins_on(g, !reverse);
      primitives::run_vjp_of<T> const of{By, work->rows_on(g),       reverse, exclusive, begins, ends,
                                         x,  data_of<A>(all_before), g.dy()};
      auto arrives = of_parts<A>(g, 2 * n);
      if (arrives) {
        auto hands_on = make_buffer<A>(g.backend, 2 * n);
        A *const totals = data_of<A>(hands_on), *const a = data_of<A>(arrives);
        g.run(primitives::run_vjp_totals<T>{of, totals});
        g.run(primitives::fill<A>{a, n, A(1)});
        g.run(primitives::fill<A>{data_of<A>(arrives, n), n, A(0)});
        carry_by_doubling<A>(g, work->split(), !reverse, 2 * n, totals, a, [&](A* later, A const* earlier) {
          g.run(primitives::join_run_vjps<A>{By, n, later, earlier});
        });
      }
      g.run(primitives::run_vjp<T>{of, g.dx(), arrives ? data_of<A>(arrives, n) : nullptr});
    }
  }

 private:
  template <class From, class To>
  constexpr void run(auto& pass, bool reverse, bool exclusive, To* out, From const* x, auto const& before) const {
    using B = compute_t<To>;
    pass.run(primitives::run_along<From, To>{By, work->rows_on(pass), reverse, exclusive, out, x,
                                             before ? data_of<B>(before) : nullptr});
  }
  /// Memory for so many elements, if the rows are split; else none.
  template <class B>
  constexpr auto of_parts(auto& pass, index n) const {
    std::remove_cvref_t<decltype(make_buffer<B>(pass.backend, n))> made{};
    if (work->split().size > 0) made = make_buffer<B>(pass.backend, n);
    return made;
  }
  /// What comes before each row's part; empty if the rows are not split.
  template <class From, class To>
  constexpr auto carried(auto& pass, bool reverse, From const* x) const {
    using B = compute_t<To>;
    auto const n = work->x.count();
    auto carry = of_parts<B>(pass, n);
    if (!carry) return carry;
    auto own = make_buffer<B>(pass.backend, n);
    B *const totals = data_of<B>(own), *const before = data_of<B>(carry);
    pass.run(primitives::run_totals<From, To>{By, work->rows_on(pass), totals, x});
    if (linear && !reverse && in_order_of_ranks(work->split())) {
      pass.backend.communicate(
          collective::exclusive_sum(work->split().mask(), element_of<B>, static_cast<std::size_t>(n)), totals, before);
    } else {
      pass.run(primitives::fill<B>{before, n, nothing_of<B>(By)});
      carry_by_doubling<B>(pass, work->split(), reverse, n, totals, before, [&](B* later, B const* earlier) {
        pass.run(primitives::join_runs<B>{By, n, later, earlier});
      });
    }
    return carry;
  }
};

template <primitives::running By, class D>
struct cumulative_call {
  cumulative how;

  template <class X>
  static auto verdict() -> first_failed_t<
      named_dims_t<typename X::shape_type, D>,
      std::conditional_t<By == primitives::running::max && std::is_same_v<typename X::element_type, bool>,
                         error_element_type<typename X::element_type>, ok>>;
  static constexpr bool takes_pads = true;
  static constexpr cumulative_work derive(mesh_shape const& mesh, sharding const& x) {
    cumulative_work w;
    w.in = {x};
    w.out = x;
    w.dim = x.find(D::id);
    w.x = rows_along(x, w.dim, mesh);
    if (By != primitives::running::sum) {
      w.complete[0] = x.partial;
      w.out.partial = 0;
    }
    return w;
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using R = std::conditional_t<By == primitives::running::sum, sum_element_t<T>, T>;
    if constexpr (std::is_same_v<T, bool>)
      return cumulative_call{how}(cast<std::int32_t>(x));
    else
      return run_as<description_of<R, cumulative_call, typename X::description>, cumulative_call>(
          cumulative_operation<By, T, R>{nullptr, how}, x);
  }
};

}  // namespace detail

/// Of each element the sum of those along D up to it; of integers and bools int64. A partial x stays partial. If D is
/// split each rank runs over its part, and what comes before is found from the ranks' totals, one number a row: one
/// exclusive sum; in reverse (and backward, whose direction is the other), or where D's axes are not in the order of
/// the mesh, permutes, as many as the logarithm of the ranks to base 2 rounded up. Refused: a dimension that x lacks.
template <dimension D, operand X>
constexpr auto cumulative_sum(X const& x, cumulative how = cumulative::inclusive) {
  return detail::operate(detail::cumulative_call<primitives::running::sum, D>{how}, x);
}

/// The product likewise, of no elements 1; of bools int32. If D is split: permutes of the ranks' totals as above;
/// backward twice as many numbers. The gradient is exact with zeros too: nothing is divided.
template <dimension D, operand X>
constexpr auto cumulative_prod(X const& x, cumulative how = cumulative::inclusive) {
  return detail::operate(detail::cumulative_call<primitives::running::product, D>{how}, x);
}

/// The largest element likewise, NaN from the first NaN on; of no elements -infinity, of integers their lowest. What is
/// sent is as for cumulative_prod. The gradient goes to the element that was the largest, of equal ones the first in
/// the direction of the run; of NaN to none. Refused: bools.
template <dimension D, operand X>
constexpr auto cumulative_max(X const& x, cumulative how = cumulative::inclusive) {
  return detail::operate(detail::cumulative_call<primitives::running::max, D>{how}, x);
}

}  // namespace mtf
