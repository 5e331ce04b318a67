#pragma once
// Elements along a dimension by number: taken out, and added up where numbers say.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/embedding.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/rename.hpp>
#include <mtf/ops/movement/transpose.hpp>

namespace mtf {

namespace detail {

template <class... D>
auto shape_with(list<D...> const*) -> shape<D...>;
/// The shape with the dimensions of several lists.
template <class... L>
using joined_shape = decltype(shape_with(static_cast<concat_t<L...> const*>(nullptr)));
/// Those of a shape that `Other` has, or that it lacks.
template <class Other, bool Has, class... D>
auto dims_where(shape<D...> const*) -> concat_t<std::conditional_t<Other::template has<D> == Has, list<D>, list<>>...>;
template <class Shape, class Other>
using dims_common = decltype(dims_where<Other, true>(static_cast<Shape const*>(nullptr)));
template <class Shape, class Other>
using dims_beside = decltype(dims_where<Other, false>(static_cast<Shape const*>(nullptr)));

/// What one rank does: tables [batch, n, width], a batch of numbers [batch, count], rows [batch, count, width].
struct gather_work : operation_work<2> {
  sharding table;  // of x, or of the result of scatter_add
  int dim = 0;
  index batch = 1, count = 1, n = 1, width = 1;

  /// Of numbers and of a table whose first dimensions they share.
  constexpr void is_of(mesh_shape const& mesh, sharding const& of_table, std::uint64_t id, sharding const& ids) {
    table = of_table;
    dim = table.find(id);
    n = table.local_extent(dim, mesh);
    for (int d = 0; d < dim; ++d) batch *= table.local_extent(d, mesh);
    for (int d = dim + 1; d < table.ndim; ++d) width *= table.local_extent(d, mesh);
    count = ids.local_size(mesh) / batch;
  }
  /// The axes that split the dimension.
  [[nodiscard]] constexpr axis_mask owners() const { return table[dim].split.mask(); }
  /// NaN for ids that are not below `extent`.
  template <class T>
  constexpr void take(auto const& pass, index extent, T* rows, T const* from, std::int32_t const* ids) const {
    pass.run(primitives::take_rows<T>{count, width, n, offset(pass), extent, rows, from, ids, batch});
  }
  /// Adds to zeros.
  template <class T>
  constexpr void add(auto const& pass, T* to, T const* rows, std::int32_t const* ids) const {
    pass.run(primitives::fill<T>{to, batch * n * width, T(0)});
    pass.run(primitives::add_rows<T>{count, width, n, offset(pass), table[dim].logical(), to, rows, ids, batch});
  }

 private:
  [[nodiscard]] constexpr index offset(auto const& pass) const {
    return shard_offset(table, dim, pass.mesh(), pass.rank());
  }
};

template <class T>
struct gather_operation {
  gather_work const* work;
  static constexpr std::size_t kept = 1;  // ids
  static constexpr char const* name() { return "gather"; }

  constexpr void forward(auto& f) const {
    work->take(f, work->table[work->dim].logical(), f.y(), f.x(), f.template x<1>());
    f.kept = {f.template memory<1>()};
  }
  constexpr void backward(auto& g) const { work->add(g, g.dx(), g.dy(), data_of<std::int32_t>(g.kept[0])); }
};

/// Of operands whose shared dimensions come first, then D of x.
template <class D>
struct gather_rule {
  static constexpr bool takes_pads = true;
  static constexpr gather_work derive(mesh_shape const& mesh, sharding const& x, sharding const& ids) {
    gather_work w;
    w.in = {x, ids};
    w.is_of(mesh, x, D::id, ids);
    for (int d = 0; d < ids.ndim; ++d) w.out.push(ids[d]);
    for (int d = w.dim + 1; d < x.ndim; ++d) w.out.push(x[d]);
    axis_mask const passes = x.partial & ~ids.split_axes();
    w.complete = {x.partial & ~passes, ids.partial};
    w.out.partial = passes | w.owners();  // each rank has what it owns, zeros for the rest
    w.gradient_may_be_partial = ~w.owners();
    w.gradient_sums[0] = axes_of_others(x, ids);
    return w;
  }
};
template <class D>
struct gather_call {
  static constexpr char const* name = "gather";
  template <class X, class Ids>
  static auto verdict() -> first_failed_t<
      named_dims_t<typename X::shape_type, D>,
      std::conditional_t<std::is_same_v<typename Ids::element_type, std::int32_t>, ok,
                         error_element_type<typename Ids::element_type>>,
      std::conditional_t<Ids::shape_type::template has<D>, error_dim_already_there<D, typename Ids::shape_type>, ok>>;
  template <class X, class Ids>
  constexpr auto operator()(X const& x, Ids const& ids) const {
    using of_x = typename X::shape_type;
    using of_ids = typename Ids::shape_type;
    using shared = dims_common<of_x, of_ids>;
    using order = joined_shape<shared, list<D>, dims_beside<of_x, joined_shape<shared, list<D>>>>;
    using order_of_ids = joined_shape<shared, dims_beside<of_ids, of_x>>;
    auto const table = transposed(static_cast<order const*>(nullptr), x);
    auto const numbers = transposed(static_cast<order_of_ids const*>(nullptr), ids);
    using T = typename X::element_type;
    return run_as<description_of<T, gather_rule<D>, typename decltype(table)::description,
                                 typename decltype(numbers)::description>,
                  gather_rule<D>>(gather_operation<T>{}, table, numbers);
  }
};

template <class T>
struct scatter_operation {
  gather_work const* work;
  static constexpr std::size_t kept = 1;  // ids
  static constexpr char const* name() { return "scatter_add"; }

  constexpr void forward(auto& f) const {
    work->add(f, f.y(), f.x(), f.template x<1>());
    f.kept = {f.template memory<1>()};
  }
  constexpr void backward(auto& g) const {
    constexpr auto all = index{1} << 32U;  // what was left out gets 0
    work->take(g, all, g.dx(), g.dy(), data_of<std::int32_t>(g.kept[0]));
  }
};

/// Of updates and numbers whose first `Batch` dimensions are kept; the numbers' others are summed.
template <class D, std::size_t Batch>
struct scatter_rule {
  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  using adds = shape<D>;
  /// The axes that split what is summed: they do not split D until the sums over them are taken.
  static constexpr axis_mask summed(sharding const& ids) {
    axis_mask axes = 0;
    for (int d = static_cast<int>(Batch); d < ids.ndim; ++d) axes |= ids[d].split.mask();
    return axes;
  }
  static constexpr dim_state own(auto const& layout, sharding const& ids) {
    axis_list split;
    auto const all = layout.split_of(D::id, D::kin);
    for (int i = 0; i < all.size; ++i)
      if (((summed(ids) >> static_cast<unsigned>(all[i])) & 1U) == 0) split.push(all[i]);
    return dim_from<D>(layout, split);
  }
  static constexpr sharding target(auto const& layout, sharding const& updates, sharding const& ids) {
    sharding to = updates;
    to.partial = 0;
    to.push(own(layout, ids));
    return to;
  }
  static constexpr gather_work derive_under(auto const& layout, mesh_shape const& mesh, sharding const& updates,
                                            sharding const& ids) {
    gather_work w;
    w.in = {updates, ids};
    constexpr int batch = static_cast<int>(Batch);
    for (int d = 0; d < batch; ++d) w.out.push(updates[d]);
    w.out.push(own(layout, ids));
    axis_mask const sums = summed(ids);
    for (int d = ids.ndim; d < updates.ndim; ++d) w.out.push(updates[d]);
    w.is_of(mesh, w.out, D::id, ids);
    w.complete = {updates.partial & w.owners(), ids.partial};
    w.out.partial = (updates.partial & ~w.owners()) | sums;
    w.gradient_may_be_partial = ~sums;
    w.gradient_sums[0] = w.owners();
    return w;
  }
};
/// D split as the layout says.
template <class D, class Layout>
struct split_as_rule : rename_call<D, D> {
  using layout_type = Layout;
};
template <class D, class... Along>
struct scatter_call {
  static constexpr char const* name = "scatter_add";
  /// The dimensions of the numbers along which is summed: all if none is named.
  template <class Ids>
  using summed = std::conditional_t<sizeof...(Along) == 0, typename Ids::shape_type, shape<Along...>>;
  template <class Ids>
  using batch = dims_beside<typename Ids::shape_type, summed<Ids>>;

  template <class Updates, class Ids>
  using result_shape =
      joined_shape<batch<Ids>, list<D>, dims_beside<typename Updates::shape_type, typename Ids::shape_type>>;

  template <class Updates, class... Own>
  static auto has_all(shape<Own...> const*) -> named_dims_t<typename Updates::shape_type, Own...>;
  template <class Updates, class Ids>
  static auto verdict() {
    using own = typename Updates::shape_type;
    using operands = first_failed_t<
        named_dims_t<typename Ids::shape_type, Along...>,
        decltype(has_all<Updates>(static_cast<typename Ids::shape_type const*>(nullptr))),
        std::conditional_t<std::is_same_v<typename Ids::element_type, std::int32_t>, ok,
                           error_element_type<typename Ids::element_type>>,
        std::conditional_t<std::is_same_v<typename Updates::element_type, bool>, error_element_type<bool>, ok>,
        std::conditional_t<own::template has<D>, error_dim_already_there<D, own>, ok>>;
    if constexpr (operands::value)
      return tensor_verdict_t<result_shape<Updates, Ids>, typename Updates::layout_type>{};
    else
      return operands{};
  }
  template <class Updates, class Ids>
  constexpr auto operator()(Updates const& updates, Ids const& ids) const {
    using kept = batch<Ids>;
    using rest = dims_beside<typename Updates::shape_type, typename Ids::shape_type>;
    using of_ids = joined_shape<kept, dims_common<typename Ids::shape_type, summed<Ids>>>;
    using rule = scatter_rule<D, kept::size>;
    auto const rows = transposed(static_cast<joined_shape<of_ids, rest> const*>(nullptr), updates);
    auto const numbers = transposed(static_cast<of_ids const*>(nullptr), ids);
    using T = typename Updates::element_type;
    using described_rows = typename decltype(rows)::description;
    using work = out_of<rule, 0, described_rows, typename decltype(numbers)::description>;
    using dims = concat_t<result_shape<Updates, Ids>>;
    using summed_up = typename result_description<T, work, dims, described_rows>::type;
    auto const sums = run_as<summed_up, rule>(scatter_operation<T>{}, rows, numbers);
    using split =
        std::conditional_t<by_value<Updates>, rename_call<D, D>, split_as_rule<D, typename Updates::layout_type>>;
    constexpr auto partial = work_in_types<split, summed_up>.out.partial;
    return relaid_as<reshaped<described_rows, result_shape<Updates, Ids>, partial>, split>("scatter_add", sums);
  }
};

}  // namespace detail

/// The elements of x at the positions along D that `ids` (int32, in [0, extent)) name. Along the dimensions that both
/// have, each position's ids are for its own elements: `gather<vocabulary>(logits, labels)` is each label's logit. The
/// result has the dimensions that both have, then the others of ids, then those of x. Negative ids and those at or
/// above the extent are as in `embedding`, which is this of a table. If D is split nothing is sent: each rank has what
/// it owns, and the result is partial over D's axes. Backward: scatter_add, partial over the axes that split what x
/// lacks. x stays partial, but for axes that split ids. Refused: an x without D, ids of another type, ids with D
/// (rename theirs).
template <dimension D, operand X, operand Ids>
constexpr auto gather(X const& x, Ids const& ids) {
  return detail::operate(detail::gather_call<D>{}, x, ids);
}

/// Zeros along D, to which `updates` are added at the positions that `ids` (int32) name: the transpose of gather. The
/// updates have all dimensions of ids; it is summed along those named, or all of ids if none is, and along the others
/// each position has its own. The result has these others, D, and the others of the updates. Ids that are not in
/// [0, extent) are left out. Integers are summed as they are. D is split as the layout says; nothing is sent: each rank
/// adds up what it owns, and the result is partial over the axes that split the dimensions that are summed; where these
/// split D too, over them sums are taken by a reduce-scatter. Backward: gather. Refused: ids of another type or with
/// dimensions that the updates lack, updates with D, bools, a layout that splits D and a dimension that the result
/// keeps over one axis.
template <dimension D, dimension... Along, operand Ids, operand Updates>
constexpr auto scatter_add(Ids const& ids, Updates const& updates) {
  return detail::operate(detail::scatter_call<D, Along...>{}, updates, ids);
}

/// The sums of x along D in segments: element s of the result, along Segment, is the sum of those whose id is s. ids:
/// int32 over D, and over other dimensions of x if these have segments of their own. It is scatter_add<Segment, D>.
template <dimension D, dimension Segment, operand X, operand Ids>
constexpr auto segment_sum(X const& x, Ids const& ids) {
  return scatter_add<Segment, D>(ids, x);
}

}  // namespace mtf
