#pragma once
// Positions drawn from rows of logits by given uniform numbers, as those who write texts draw tokens.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/sample.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/steps.hpp>
#include <mtf/math/sample.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/sorting/sort.hpp>

namespace mtf {

/// What may be drawn, and how likely it is: temperature, min_p, top_k, top_p.
using math::sample_options;

namespace detail {

/// Of logits and N tensors over their rows.
template <std::size_t N>
struct sample_work : operation_work<1 + N> {
  sharding whole;                 // the logits with whole rows
  steps there, rows_there, back;  // to it, of the rows alone, and of the rows to where the result lies
  int dim = 0;
  rows x;
};

template <class D>
struct sample_rule {
  static constexpr bool takes_pads = true;
  static constexpr sharding rows_of(sharding const& s) { return without(s, std::array<std::uint64_t, 1>{D::id}, 1); }
  template <class... Row>
  static constexpr sample_work<sizeof...(Row)> derive(mesh_shape const& mesh, sharding const& x, Row const&... row) {
    sample_work<sizeof...(Row)> w;
    w.in = {x, row...};
    w.complete = {x.partial, row.partial...};
    sharding own = x;
    own.partial = 0;
    w.dim = x.find(D::id);
    w.whole = with_whole_rows(mesh, own, w.dim);
    w.out = rows_of(own);
    w.there = derive_relayout(mesh, own, w.whole);
    w.rows_there = derive_relayout(mesh, w.out, rows_of(w.whole));
    w.back = derive_relayout(mesh, rows_of(w.whole), w.out);
    w.x = rows_along(w.whole, w.dim, mesh);
    return w;
  }
};

/// Of logits, uniform numbers and, with N of 5, temperatures, min_p, top_k and top_p of each row.
template <std::size_t N>
struct sample_operation {
  sample_work<N> const* work;
  sample_options how;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "sample"; }

  constexpr void forward(auto& f) const {
    auto const x = execute<float>(f.backend, work->there, f.memory());
    auto const uniform = of_rows<1, double>(f);
    if constexpr (N == 1) {
      draw(f, x, uniform, {});
    } else {
      auto const temperature = of_rows<2, float>(f), min_p = of_rows<3, float>(f), top_p = of_rows<5, float>(f);
      auto const top_k = of_rows<4, std::int32_t>(f);
      draw(f, x, uniform,
           {data_of<float>(temperature), data_of<float>(min_p), data_of<std::int32_t>(top_k), data_of<float>(top_p)});
    }
  }

 private:
  template <std::size_t I, class T>
  constexpr auto of_rows(auto& f) const {
    return execute<T>(f.backend, work->rows_there, f.template memory<I>());
  }
  constexpr void draw(auto& f, auto const& x, auto const& uniform,
                      primitives::sample_options_of_rows const& each) const {
    rows const here = rows_without_pads(work->x, work->whole, work->dim, f.mesh(), f.rank());
    auto drawn = make_buffer<std::int32_t>(f.backend, here.count());
    f.run(primitives::sample_rows{here, data_of<std::int32_t>(drawn), data_of<float>(x), data_of<double>(uniform), how,
                                  each});
    f.out = execute<std::int32_t>(f.backend, work->back, drawn);
  }
};

template <class... D>
auto shape_of_rows(list<D...> const*) -> shape<D...>;
template <class D, class... Own>
auto dims_of_rows(shape<Own...> const*) -> concat_t<list<>, std::conditional_t<Own::id == D::id, list<>, list<Own>>...>;
/// The dimensions of X but for D.
template <class D, class X>
using rows_beside_t = decltype(shape_of_rows(
    static_cast<decltype(dims_of_rows<D>(static_cast<typename X::shape_type const*>(nullptr))) const*>(nullptr)));

template <class D>
struct sample_call {
  static constexpr char const* name = "sample";
  sample_options how;

  template <class X, class Row>
  static auto row_verdict() {
    return dims_verdict<Row>(static_cast<rows_beside_t<D, X> const*>(nullptr));
  }
  template <class X, class Uniform>
  static auto verdict() -> first_failed_t<named_dims_t<typename X::shape_type, D>, floating_t<X, Uniform>,
                                          decltype(row_verdict<X, Uniform>())>;
  template <class X, class Uniform, class Temperature, class MinP, class TopK, class TopP>
  static auto verdict()
      -> first_failed_t<named_dims_t<typename X::shape_type, D>, floating_t<X, Uniform, Temperature, MinP, TopP>,
                        std::conditional_t<std::is_same_v<typename TopK::element_type, std::int32_t>, ok,
                                           error_element_type<typename TopK::element_type>>,
                        decltype(row_verdict<X, Uniform>()), decltype(row_verdict<X, Temperature>()),
                        decltype(row_verdict<X, MinP>()), decltype(row_verdict<X, TopK>()),
                        decltype(row_verdict<X, TopP>())>;

  template <class X, class Uniform>
  constexpr auto operator()(X const& x, Uniform const& uniform) const {
    return drawn(logits(x), as_rows<double, X>(uniform));
  }
  template <class X, class Uniform, class Temperature, class MinP, class TopK, class TopP>
  constexpr auto operator()(X const& x, Uniform const& uniform, Temperature const& temperature, MinP const& min_p,
                            TopK const& top_k, TopP const& top_p) const {
    return drawn(logits(x), as_rows<double, X>(uniform), as_rows<float, X>(temperature), as_rows<float, X>(min_p),
                 as_rows<std::int32_t, X>(top_k), as_rows<float, X>(top_p));
  }

 private:
  template <class X>
  static constexpr auto logits(X const& x) {
    return cast<float>(stop_gradient(x));
  }
  /// A tensor over the rows of X, as elements T in their order.
  template <class T, class X, class Row>
  static constexpr auto as_rows(Row const& row) {
    return transposed(static_cast<rows_beside_t<D, X> const*>(nullptr), cast<T>(stop_gradient(row)));
  }
  template <class X, class... Row>
  constexpr auto drawn(X const& x, Row const&... row) const {
    using rule = sample_rule<D>;
    using result = description_of<std::int32_t, rule, typename X::description, typename Row::description...>;
    return run_as<result, rule>(sample_operation<sizeof...(Row)>{nullptr, how}, x, row...);
  }
};

}  // namespace detail

/// The position along D (int32) that each row's number of [0, 1) draws from its logits: with the probabilities of
/// softmax(logits / temperature), and of what `how` says may be drawn. It is the first up to which probabilities add up
/// to more than the number; the same on every backend and under every layout, as they are whole numbers, within 2^-24,
/// of float logits. NaN and -infinity are not drawn, nor is what is less likely than 2^-40 of the most likely (twice
/// that for each time that a row is twice as long as 2^23); -1: there is nothing else. Of +infinities the first is
/// taken. `uniform` has the dimensions of logits but for D. If D is split each axis that splits it splits another
/// dimension meanwhile, as in sort, and the result is gathered. No gradient. Refused: a dimension that the logits lack,
/// integers, numbers over other dimensions than the rows'.
template <dimension D, operand X, operand Uniform>
constexpr auto sample(X const& logits, Uniform const& uniform, sample_options const& how = {}) {
  return detail::operate(detail::sample_call<D>{how}, logits, uniform);
}

/// The same with options of each row: tensors over the rows, as `uniform` is; top_k is of int32.
template <dimension D, operand X, operand Uniform, operand Temperature, operand MinP, operand TopK, operand TopP>
constexpr auto sample(X const& logits, Uniform const& uniform, Temperature const& temperature, MinP const& min_p,
                      TopK const& top_k, TopP const& top_p) {
  return detail::operate(detail::sample_call<D>{}, logits, uniform, temperature, min_p, top_k, top_p);
}

}  // namespace mtf
