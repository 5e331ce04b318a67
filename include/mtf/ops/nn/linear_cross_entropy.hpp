#pragma once
// The loss of a linear classifier whose logits are never stored whole: they are made for some rows at a time, and once
// more backward.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/contraction.hpp>
#include <mtf/backend/primitives/cross_entropy.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/nn/cross_entropy.hpp>

namespace mtf {

namespace detail {

struct linear_cross_entropy_work : operation_work<3> {  // h [rows, features], table [classes, features], labels [rows]
  index n = 0, features = 0;                            // rows here
  index at_once = 0, at_once_backward = 0;              // how many of them have their logits at one time
  rows classes;
  axis_mask exchange = 0;  // axes that split the classes
};

/// As many rows as make the logits about as large as h (Hsu et al. 2024), but enough for a product at full speed.
constexpr index rows_at_once(index n, index features, index classes) {
  index const least = 128;
  return std::min(n, std::max(least, (n * features + classes - 1) / classes));
}

/// How far apart rows of that many logits lie: whole units of 16 bytes, as vectors and tensor cores take them.
template <class T>
constexpr index pitch_of_logits(index classes) {
  constexpr index unit = 16 / static_cast<index>(sizeof(T));
  return (classes + unit - 1) / unit * unit;
}

constexpr linear_cross_entropy_work derive_linear_cross_entropy(mesh_shape const& mesh, sharding const& h,
                                                                sharding const& table, sharding const& labels) {
  linear_cross_entropy_work w;
  w.in = {h, table, labels};
  w.out = labels;
  w.out.partial = 0;
  w.complete = {h.partial, table.partial, labels.partial};
  w.gradient_may_be_partial = ~(h.split_axes() | table.split_axes());
  w.gradient_sums = {axes_of_others(h, table), axes_of_others(table, h), 0};
  w.n = labels.local_size(mesh);
  w.features = table.local_extent(1, mesh);
  w.classes = rows_along(table, 0, mesh);
  w.at_once = rows_at_once(w.n, w.features, w.classes.n);
  // As many as there are features: the table's gradient, which is gone through for each chunk, is no more than logits.
  w.at_once_backward = std::min(w.n, std::max(w.at_once, w.features));
  w.exchange = table[0].split.mask();
  return w;
}

template <class T>
struct linear_cross_entropy_operation {
  using A = compute_t<T>;
  linear_cross_entropy_work const* work;
  primitives::loss_terms<A> terms;
  static constexpr std::size_t kept = 4;  // h, table, labels, each row's maximum and sums
  static constexpr char const* name() { return "linear_cross_entropy"; }

  constexpr void forward(auto& f) const {
    auto const n = work->n;
    auto const [first_class, v] = classes_here(f);
    index const pitch = pitch_of_logits<T>(v);
    bool const split = work->exchange != 0, smoothed = terms.smoothing != 0;
    index const lists = !split ? 1 : smoothed ? 3 : 2;
    auto statistics = make_buffer<A>(f.backend, (1 + lists) * n);
    auto own = split ? make_buffer<A>(f.backend, n) : statistics;  // maxima of the classes here
    A *const max = data_of<A>(statistics), *const sums = data_of<A>(statistics, n);
    std::int32_t const* const labels = f.template x<2>();
    A* const y = f.y();
    {
      auto const logits = make_buffer<T>(f.backend, work->at_once * std::max<index>(pitch, 1));
      T* const x = data_of<T>(logits);
      for (index first = 0; first < n; first += work->at_once) {
        index const m = std::min(work->at_once, n - first);
        rows const r{m, v, 1, pitch};
        make_logits(f, m, v, moved(f.x(), first * work->features), f.template x<1>(), x);
        if (!split) {
          f.run(primitives::cross_entropy<T>{r, moved(y, first), moved(max, first), moved(sums, first), x,
                                             moved(labels, first), terms});
        } else {
          A* const largest = moved(data_of<A>(own), first);
          f.run(primitives::row_max<T>{r, A(1), largest, x});
          f.run(primitives::cross_entropy_local<T>{r, first_class, largest, moved(sums, first), x, moved(labels, first),
                                                   smoothed, n});
        }
      }
    }
    if (split) {
      auto const count = static_cast<std::size_t>(n);
      f.backend.communicate(collective::all_reduce(work->exchange, combine::max, element_of<A>, count), data_of<A>(own),
                            max);
      f.run(primitives::cross_entropy_rebase<A>{n, v, smoothed, sums, data_of<A>(own), max});
      f.backend.communicate(
          collective::all_reduce(work->exchange, combine::sum, element_of<A>, static_cast<std::size_t>(lists) * count),
          sums, sums);
      f.run(primitives::cross_entropy_finish<T>{n, work->in[1][0].logical(), y, max, sums, labels, terms});
    }
    f.kept = {f.memory(), f.template memory<1>(), f.template memory<2>(), statistics};
  }

  constexpr void backward(auto& g) const {
    auto const n = work->n, features = work->features;
    auto const [first_class, v] = classes_here(g);
    index const pitch = pitch_of_logits<T>(v);
    T const *const h = data_of<T>(g.kept[0]), *const table = data_of<T>(g.kept[1]);
    auto const* const labels = data_of<std::int32_t>(g.kept[2]);
    A const *const max = data_of<A>(g.kept[3]), *const sums = data_of<A>(g.kept[3], n);
    bool const of_h = g.template wants<0>(), of_table = g.template wants<1>();
    T* const dh = of_h ? g.template dx<0>() : nullptr;
    if (of_h && v == 0) g.run(primitives::fill<T>{dh, n * features, T(0)});
    table_gradient to(g, v * features, of_table);
    auto const logits = make_buffer<T>(g.backend, work->at_once_backward * std::max<index>(pitch, 1));
    T* const x = data_of<T>(logits);
    for (index first = 0; first < n && v > 0; first += work->at_once_backward) {
      index const m = std::min(work->at_once_backward, n - first);
      T const* const h_here = moved(h, first * features);
      make_logits(g, m, v, h_here, table, x);
      g.run(primitives::cross_entropy_vjp<T>{rows{m, v, 1, pitch}, first_class, work->in[1][0].logical(), x, x,
                                             moved(labels, first), moved(max, first), moved(sums, first),
                                             moved(g.dy(), first), terms});
      if (of_h) {
        contraction const dx{.batch = {},
                             .m = m,
                             .n = features,
                             .k = v,
                             .a_m = pitch,
                             .a_k = 1,
                             .b_k = features,
                             .b_n = 1,
                             .c_m = features,
                             .c_n = 1};
        g.run(primitives::contract<T>{dx, x, table, moved(dh, first * features)});
      }
      if (of_table) {
        contraction const dw{.batch = {},
                             .m = v,
                             .n = features,
                             .k = m,
                             .a_m = 1,
                             .a_k = pitch,
                             .b_k = features,
                             .b_n = 1,
                             .c_m = features,
                             .c_n = 1};
        to.add(dw, x, h_here);
      }
    }
    to.finish();
  }

 private:
  /// The sum over the chunks: in the gradient's memory, or, where T is narrower than what is computed in, beside it.
  template <class Pass>
  class table_gradient {
   public:
    constexpr table_gradient(Pass& g, index n, bool wanted) : g_(g), n_(n) {
      if (!wanted) return;
      adds_ = static_cast<bool>(g.template accumulator<1>());
      out_ = g.template dx<1>();
      if constexpr (!std::is_same_v<T, A>) {
        sum_ = make_buffer<A>(g.backend, std::max<index>(n, 1));
        part_ = make_buffer<T>(g.backend, std::max<index>(n, 1));
        g.run(primitives::fill<A>{data_of<A>(sum_), n, A(0)});
        if (!adds_) g.run(primitives::fill<T>{out_, n, T(0)});
      }
    }
    constexpr void add(contraction const& of, T const* dlogits, T const* h) {
      if constexpr (std::is_same_v<T, A>) {
        g_.run(primitives::contract<T>{of, dlogits, h, out_, std::exchange(adds_, true)});
      } else {
        g_.run(primitives::contract<T>{of, dlogits, h, data_of<T>(part_)});
        g_.run(primitives::add<A, T>{n_, data_of<A>(sum_), data_of<T>(part_)});
      }
    }
    constexpr void finish() {
      if constexpr (!std::is_same_v<T, A>)
        if (sum_) g_.run(primitives::add<T, A>{n_, out_, data_of<A>(sum_)});
    }

   private:
    Pass& g_;
    index n_;
    bool adds_ = false;
    T* out_ = nullptr;
    std::remove_cvref_t<decltype(std::declval<Pass&>().kept[0])> sum_{}, part_{};
  };

  /// The classes that are on a rank, without pads.
  struct some_classes {
    index first, n;
  };
  constexpr some_classes classes_here(auto const& pass) const {
    return {shard_offset(work->in[1], 0, pass.mesh(), pass.rank()),
            rows_without_pads(work->classes, work->in[1], 0, pass.mesh(), pass.rank()).n};
  }
  constexpr void make_logits(auto const& pass, index m, index v, T const* h, T const* table, T* logits) const {
    if (v == 0) return;
    index const k = work->features;
    contraction const product{.batch = {},
                              .m = m,
                              .n = v,
                              .k = k,
                              .a_m = k,
                              .a_k = 1,
                              .b_k = 1,
                              .b_n = k,
                              .c_m = pitch_of_logits<T>(v),
                              .c_n = 1};
    pass.run(primitives::contract<T>{product, h, table, logits});
  }
};

struct linear_cross_entropy_rule : said_by_parts {
  static constexpr bool takes_pads = true;
  static constexpr linear_cross_entropy_work derive(mesh_shape const& mesh, sharding const& h, sharding const& table,
                                                    sharding const& labels) {
    return derive_linear_cross_entropy(mesh, h, table, labels);
  }
};

/// The calls that it means: of an einsum to the labels' dimensions and the classes.
template <class Classes, class... R>
constexpr einsum_call<R..., Classes> logits_call(shape<R...> const*) {
  return {"linear_cross_entropy"};
}
/// Orders in which rows and classes come first.
template <class... R, class F>
constexpr shape<R..., F> const* rows_then(shape<R...> const*, std::type_identity<F>) {
  return nullptr;
}

template <class Classes>
struct linear_cross_entropy_call {
  cross_entropy_options options;

  template <class H, class Table, class Labels>
  static auto verdict() -> ok;  // those of einsum and of the loss
  template <class H, class Table, class Labels>
  using operands_rule = said_by_parts;
  static constexpr char const* name = "linear_cross_entropy";

  template <class H, class Table, class Labels>
  constexpr auto operator()(H const& h, Table const& table, Labels const& labels) const {
    using dims = typename Labels::shape_type;
    constexpr auto product = logits_call<Classes>(static_cast<dims const*>(nullptr));
    using logits = decltype(operate(product, h, table));
    if constexpr (std::is_same_v<logits, refused>) {
      return refused{};
    } else {
      using losses = decltype(operate(cross_entropy_call<Classes>{}, std::declval<logits const&>(), labels));
      if constexpr (std::is_same_v<losses, refused>) {
        return refused{};
      } else {
        auto const whole = [&] {
          auto const a = complete(h);
          auto const b = complete(table);
          return operate(cross_entropy_call<Classes>{options}, operate(product, a, b), labels);
        };
        if constexpr (Table::shape_type::ndim != 2 || H::shape_type::ndim != dims::ndim + 1) {
          return whole();
        } else if constexpr (by_value<H>) {
          if (splits_features(h.where().spec, table.where().spec)) return whole();
          using pair = einsum_pair<typename H::description, typename Table::description, typename logits::shape_type>;
          derived_at<cross_entropy_call<Classes>, cross_entropy_work>(
              table_of(h), std::array{derived_for<pair>(name, h, table).out, &labels.where()}, name);
          return in_chunks<losses>(h, table, labels);
        } else if constexpr (splits_features(H::spec, Table::spec)) {
          return whole();
        } else {
          return in_chunks<losses>(h, table, labels);
        }
      }
    }
  }

 private:
  static constexpr bool splits_features(sharding const& h, sharding const& table) {
    for (int d = 0; d < table.ndim; ++d)
      if (table[d].id != Classes::id)
        return !h.has(table[d].id) || table[d].split.size > 0 || h[h.find(table[d].id)].split.size > 0;
    return true;
  }
  template <class Losses, class H, class Table, class Labels>
  constexpr auto in_chunks(H const& h, Table const& table, Labels const& labels) const {
    using T = typename H::element_type;
    using A = compute_t<T>;
    using S = typename Table::shape_type;
    using features = typename S::template at<S::ids[0] == Classes::id ? 1 : 0>;
    check_options(options);
    auto const a = transposed(
        rows_then(static_cast<typename Labels::shape_type const*>(nullptr), std::type_identity<features>{}), h);
    auto const b = transpose<Classes, features>(table);
    return run_as<typename Losses::description, linear_cross_entropy_rule>(
        linear_cross_entropy_operation<T>{nullptr,
                                          {static_cast<A>(options.label_smoothing), static_cast<A>(options.z_loss)}},
        a, b, labels);
  }
};

}  // namespace detail

/// `cross_entropy<Classes>(einsum<..., Classes>(h, table), labels, options)`, with the same results and refusals, and
/// without the logits: they are made for some rows at a time, about as many numbers as h or the table has, and once
/// more backward (a third product of their size more). Their rows lie whole units of 16 bytes apart. (In bfloat16 each
/// chunk's part of the table's gradient is rounded before it is added, in float, to the others.) h has the labels'
/// dimensions and one more, which `table` has beside Classes. If Classes is split: the two all-reduces of
/// `cross_entropy`. If the features are split, or `table` has further dimensions, it is those two operations, and the
/// logits are stored.
template <dimension Classes, operand H, operand Table, operand Labels>
constexpr auto linear_cross_entropy(H const& h, Table const& table, Labels const& labels,
                                    cross_entropy_options const& options = {}) {
  return detail::operate(detail::linear_cross_entropy_call<Classes>{options}, h, table, labels);
}

}  // namespace mtf
