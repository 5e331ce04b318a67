#pragma once
// The largest elements of rows.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/top.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/new_dims.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf {

namespace detail {

template <std::size_t Results>
struct top_work : operation_work<1, Results> {
  axis_mask exchange = 0;  // the axes that split the rows
  rows x;
  index k = 1, candidates = 1;  // of all ranks, and of one
  int dim = 0;
  bool smallest = false;
};

/// The w.k largest elements of each row of the first operand, or the smallest, and their positions.
template <class T>
constexpr void find_largest(auto& f, auto const& w, T* largest, std::int32_t* ids) {
  auto const [outer, n, inner, stored] = w.x;
  index const offset = shard_offset(w.in[0], w.dim, f.mesh(), f.rank());
  T const* x = f.x();
  std::remove_cvref_t<decltype(f.out)> copied;  // pads come last
  index const size = w.in[0].local_size(f.mesh());
  // Also where none are here, so that a plan's memory is every rank's.
  if (w.in[0].padded) copied = make_buffer<T>(f.backend, size);
  if (has_pads(w.in[0], f.mesh(), f.rank())) {
    T* const to = data_of<T>(copied);
    f.run(primitives::fill<T>{to, size, neutral<T>(w.smallest ? combine::min : combine::max)});
    auto const owned = owned_elements_of(w.in[0], f.mesh(), f.rank());
    auto where = owned.where;
    where.stride[0] = where.stride[1];
    if (owned.count > 0) f.run(primitives::copy<T, T>{where, to, x});
    x = to;
  }
  if (w.exchange == 0) {
    f.run(primitives::top_of_rows<T>{1, outer, n, inner, w.k, offset, largest, ids, x, nullptr, w.smallest});
  } else {
    // Each rank's largest ones. (Positions need not ascend from block to block: two axes may split in either order.)
    index const ranks = f.mesh().size(w.exchange), mine = outer * w.candidates * inner;
    auto values = make_buffer<T>(f.backend, mine), all_values = make_buffer<T>(f.backend, ranks * mine);
    auto places = make_buffer<std::int32_t>(f.backend, mine),
         all_places = make_buffer<std::int32_t>(f.backend, ranks * mine);
    T *const v = data_of<T>(values), *const all_v = data_of<T>(all_values);
    auto *const p = data_of<std::int32_t>(places), *const all_p = data_of<std::int32_t>(all_places);
    f.run(primitives::top_of_rows<T>{1, outer, n, inner, w.candidates, offset, v, p, x, nullptr, w.smallest});
    f.backend.communicate(collective::all_gather(w.exchange, element_of<T>, static_cast<std::size_t>(mine)), v, all_v);
    f.backend.communicate(collective::all_gather(w.exchange, element_of<std::int32_t>, static_cast<std::size_t>(mine)),
                          p, all_p);
    f.run(
        primitives::top_of_rows<T>{ranks, outer, w.candidates, inner, w.k, 0, largest, ids, all_v, all_p, w.smallest});
  }
}

template <class T>
struct top_operation {
  top_work<2> const* work;
  static constexpr std::size_t kept = 1;  // the positions
  static constexpr char const* name() { return "top_k"; }

  constexpr void forward(auto& f) const {
    if (work->out[work->dim].pad == 0) {
      find_largest<T>(f, *work, f.y(), f.template y<1>());
      f.kept[0] = f.template result<1>();
    } else {
      auto const r = found();
      auto const largest = make_buffer<T>(f.backend, r.outer * r.n * r.inner);
      f.kept[0] = make_buffer<std::int32_t>(f.backend, r.outer * r.n * r.inner);
      auto* const places = data_of<std::int32_t>(f.kept[0]);
      find_largest<T>(f, *work, data_of<T>(largest), places);
      f.run(primitives::copy<T, T>{unpacked_rows(r), f.y(), data_of<T>(largest)});
      f.run(primitives::copy<std::int32_t, std::int32_t>{unpacked_rows(r), f.template y<1>(), places});
    }
  }
  constexpr void backward(auto& g) const {
    auto const& w = *work;
    auto const r = found();
    auto dy = g.g.memory;
    if (w.out[w.dim].pad != 0) {
      dy = make_buffer<T>(g.backend, r.outer * r.n * r.inner);
      g.run(primitives::copy<T, T>{packed_rows(r), data_of<T>(dy), g.dy()});
    }
    g.run(primitives::top_of_rows_vjp<T>{w.x.outer, w.x.n, w.x.inner, w.k,
                                         shard_offset(w.in[0], w.dim, g.mesh(), g.rank()), g.dx(), data_of<T>(dy),
                                         data_of<std::int32_t>(g.kept[0])});
  }

 private:
  /// The rows of the results.
  [[nodiscard]] constexpr rows found() const {
    return {work->x.outer, work->k, work->x.inner, work->out[work->dim].extent};
  }
};

/// All but the results' shardings.
template <std::size_t Results, class D>
constexpr top_work<Results> derive_top(mesh_shape const& mesh, sharding const& x, index k) {
  top_work<Results> w;
  w.in = {x};
  w.complete[0] = x.partial;
  w.dim = x.find(D::id);
  w.x = rows_along(x, w.dim, mesh);
  w.exchange = x[w.dim].split.mask();
  w.k = k;
  w.candidates = w.k < w.x.n ? w.k : w.x.n;
  w.gradient_may_be_partial = ~w.exchange;
  return w;
}

template <class D, class K>
struct top_call {
  template <class X>
  static auto verdict() -> first_failed_t<std::conditional_t<std::is_same_v<typename X::element_type, bool>,
                                                             error_element_type<typename X::element_type>, ok>,
                                          decltype(part_verdict<typename X::shape_type, D, K>())>;

  using adds = shape<K>;
  static constexpr bool takes_pads = true;
  static constexpr top_work<2> derive(auto const& extents, mesh_shape const& mesh, sharding const& x) {
    auto const k = dim_from<K>(extents, {});
    auto w = derive_top<2, D>(mesh, x, k.logical());
    w.out = with_part<D>(extents, x, k);
    w.out.partial = 0;
    w.further[0] = w.out;
    return w;
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using described_x = typename X::description;
    using dims = typename replaced_dim<D, K>::template in<typename X::shape_type>;
    using out = out_of<top_call, 0, described_x>;  // both lie alike
    using largest = typename result_description<T, out, concat_t<dims>, described_x>::type;
    using places = typename result_description<std::int32_t, out, concat_t<dims>, described_x>::type;
    return run_as<list<largest, places>, top_call>(top_operation<T>{}, x);
  }
};

}  // namespace detail

/// The largest elements along D, as many as K is long, in descending order, and their positions along it (int32): two
/// tensors, `auto const [largest, places] = mtf::top_k<vocabulary, k>(logits)`, with K in the place of D. Of equal
/// elements the first comes first; NaN before all others. If D is split, each rank's largest ones are gathered,
/// elements and positions: two all-gathers; K is not split. The gradient goes to where the elements were. Refused: a K
/// that is longer than D, or there already; bools.
template <dimension D, dimension K, operand X>
constexpr auto top_k(X const& x) {
  return detail::operate_for<2>(detail::top_call<D, K>{}, x);
}

}  // namespace mtf
