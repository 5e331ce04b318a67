#pragma once
// Rows in order.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/sort.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/steps.hpp>

namespace mtf {

namespace detail {

/// A sharding with dimension d whole on each rank: each axis that splits it splits, innermost, the first other
/// dimension that it divides. One for which there is none splits nothing.
constexpr sharding with_whole_rows(mesh_shape const& mesh, sharding s, int d) {
  axis_list const axes = s[d].split;
  s[d].split = {};
  for (int i = 0; i < axes.size; ++i)
    for (int e = 0; e < s.ndim; ++e)
      if (e != d && s.local_extent(e, mesh) % mesh.extent[axes[i]] == 0) {
        s[e].split.push(axes[i]);
        break;
      }
  return s;
}

struct sort_work : operation_work<1> {
  sharding whole;     // with whole rows
  steps there, back;  // to it, and to x's splits again
  int dim = 0;
  rows x;

  [[nodiscard]] constexpr rows rows_on(auto const& pass) const {
    return rows_without_pads(x, whole, dim, pass.mesh(), pass.rank());
  }
};

template <class T>
struct sort_operation {
  sort_work const* work;
  static constexpr std::size_t kept = 1;  // where elements were
  static constexpr char const* name() { return "sort"; }

  constexpr void forward(auto& f) const {
    auto const n = work->whole.local_size(f.mesh());
    auto const x = execute<T>(f.backend, work->there, f.memory());
    auto sorted = make_buffer<T>(f.backend, n), places = make_buffer<std::int32_t>(f.backend, n);
    f.run(primitives::sort_rows<T>{work->rows_on(f), data_of<T>(sorted), data_of<std::int32_t>(places), data_of<T>(x)});
    zero_pads(f.backend, work->whole, sorted, sizeof(T));
    f.out = execute<T>(f.backend, work->back, sorted);
    f.kept = {places};
  }
  constexpr void backward(auto& g) const {
    auto own = work->in[0], whole = work->whole;
    own.partial = whole.partial = g.g.partial;
    auto const dy = execute<T>(g.backend, derive_relayout(g.mesh(), own, whole), g.g.memory);
    auto dx = make_buffer<T>(g.backend, whole.local_size(g.mesh()));
    g.run(primitives::sort_rows_vjp<T>{work->rows_on(g), data_of<T>(dx), data_of<T>(dy),
                                       data_of<std::int32_t>(g.kept[0])});
    zero_pads(g.backend, whole, dx, sizeof(T));
    g.set_dx(execute<T>(g.backend, derive_relayout(g.mesh(), whole, own), dx));
  }
};

template <class T>
struct argsort_operation {
  sort_work const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "argsort"; }

  constexpr void forward(auto& f) const {
    auto const x = execute<T>(f.backend, work->there, f.memory());
    auto places = make_buffer<std::int32_t>(f.backend, work->whole.local_size(f.mesh()));
    f.run(primitives::sort_rows<T>{work->rows_on(f), nullptr, data_of<std::int32_t>(places), data_of<T>(x)});
    zero_pads(f.backend, work->whole, places, sizeof(std::int32_t));
    f.out = execute<std::int32_t>(f.backend, work->back, places);
  }
};

template <class D, bool Places>
struct sort_call {
  template <class X>
  static auto verdict() -> first_failed_t<std::conditional_t<std::is_same_v<typename X::element_type, bool>,
                                                             error_element_type<typename X::element_type>, ok>,
                                          named_dims_t<typename X::shape_type, D>>;
  static constexpr bool takes_pads = true;
  static constexpr sort_work derive(mesh_shape const& mesh, sharding const& x) {
    sort_work w;
    w.in = {x};
    w.complete[0] = x.partial;
    w.out = x;
    w.out.partial = 0;
    w.dim = x.find(D::id);
    w.whole = with_whole_rows(mesh, w.out, w.dim);
    w.there = derive_relayout(mesh, w.out, w.whole);
    w.back = derive_relayout(mesh, w.whole, w.out);
    w.x = rows_along(w.whole, w.dim, mesh);
    return w;
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using R = std::conditional_t<Places, std::int32_t, T>;
    using operation = std::conditional_t<Places, argsort_operation<T>, sort_operation<T>>;
    return run_as<description_of<R, sort_call, typename X::description>, sort_call>(operation{}, x);
  }
};

}  // namespace detail

/// The elements along D in ascending order, NaN last. If D is split each axis that splits it splits another dimension
/// meanwhile, the first that it divides: an all-to-all there and one back. (Only where there is none are rows gathered:
/// what is sent is never more than that.) The gradient goes to where the elements were. Refused: a dimension that x
/// lacks; bools.
template <dimension D, operand X>
constexpr auto sort(X const& x) {
  return detail::operate(detail::sort_call<D, false>{}, x);
}

/// Where along D the elements of `sort` were (int32): of equal ones, as 0 and -0 are, the first comes first, and NaN
/// are equal. Communication and refusals as for sort. Rename it to take other elements in this order:
/// `gather<D>(y, rename<D, E>(argsort<D>(x)))`.
template <dimension D, operand X>
constexpr auto argsort(X const& x) {
  return detail::operate(detail::sort_call<D, true>{}, x);
}

}  // namespace mtf
