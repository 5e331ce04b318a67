#pragma once
// Lookup of rows by number, also with the vocabulary cut.
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/embedding.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/transpose.hpp>

namespace mtf {

namespace detail {

struct embedding_work {
  sharding table, out;
  index count = 1, width = 1, vocabulary = 1;  // local
  axis_mask complete_table = 0;
  axis_mask gradient_may_pass = 0, gradient_sums = 0;
};

constexpr embedding_work derive_embedding(mesh_shape const& mesh, sharding const& table, sharding const& ids) {
  embedding_work w;
  w.table = table;
  w.complete_table = table.partial;
  w.count = ids.local_size(mesh);
  w.vocabulary = table.local_extent(0, mesh);
  w.width = table.local_size(mesh) / w.vocabulary;
  for (int d = 0; d < ids.rank; ++d) w.out.push(ids[d]);
  for (int d = 1; d < table.rank; ++d) w.out.push(table[d]);
  w.out.partial = table[0].cut.mask();  // each rank has the rows of its share, zeros for the others
  w.gradient_may_pass = ~w.out.partial;
  w.gradient_sums = ids.cut_axes();
  return w;
}

template <class Backend, class T>
class embedding_node {
 public:
  constexpr embedding_node(embedding_work const& w, ref<gradient_slot<Backend, T>> const& table,
                           buffer<Backend> const& ids, ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), table_(table), ids_(ids), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "embedding", w_->out);
    auto const g = out_->take(w_->gradient_may_pass);
    if (!g.memory) return;
    auto const size = w_->vocabulary * w_->width;
    auto dt = make_buffer<T>(b, size);
    b.run(primitives::fill<T>{data_of<T>(dt), size, T(0)});
    b.run(primitives::add_rows<T>{w_->count, w_->width, w_->vocabulary,
                                  shard_offset(w_->table, 0, b.ranks().mesh(), b.ranks().rank()), data_of<T>(dt),
                                  data_of<T>(g.memory), data_of<std::int32_t>(ids_)});
    table_->add({std::move(dt), g.partial | w_->gradient_sums});
  }

 private:
  embedding_work const* w_;
  ref<gradient_slot<Backend, T>> table_;
  buffer<Backend> ids_;
  ref<gradient_slot<Backend, T>> out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_embedding(embedding_work const& w, value<Backend, T> const& operand,
                                          value<Backend, std::int32_t> const& ids) {
  Backend& b = operand.backend();
  operation<Backend> const here(b, "embedding", w.out);
  auto const table = completed_value(operand, w.table, w.complete_table);
  auto out = make_value<T>(b, w.count * w.width);
  b.run(primitives::take_rows<T>{w.count, w.width, w.vocabulary,
                                 shard_offset(w.table, 0, b.ranks().mesh(), b.ranks().rank()), w.table[0].extent,
                                 out.data(), table.data(), ids.data()});
  record(tape_of(table), out, w.out,
         [&](auto const& slot) { return embedding_node<Backend, T>(w, table.slot, ids.memory, slot); });
  return out;
}

template <class Table, class Ids>
struct embedding_rule {
  static constexpr embedding_work work = derive_embedding(Table::mesh, Table::spec, Ids::spec);
  static constexpr sharding out = work.out;
};

template <class V, class S>
struct first_dim;
template <class V, class... D>
struct first_dim<V, shape<D...>> {
  // V, then the other dimensions in their order.
  template <class... Kept>
  static auto join(list<Kept...>) -> shape<V, Kept...>;
  using type = decltype(join(concat_t<std::conditional_t<D::id == V::id, list<>, list<D>>...>{}));
};

/// The verdict on the table's other dimensions: the ids must not have them too.
template <class V, class Ids, class S>
struct rows_verdict;
template <class V, class Ids, class... D>
struct rows_verdict<V, Ids, shape<D...>>
    : first_failed<std::conditional_t<D::id != V::id && Ids::template has<D>, error_dim_already_there<D, Ids>, ok>...> {
};

}  // namespace detail

/// The rows of `table` along Vocabulary that `ids` (int32, in [0, extent)) name: the result has the dimensions of ids,
/// then the others of the table. A negative id gives zeros, one at or above the extent NaN (0 in a table of integers);
/// `from_global<X, Vocabulary>` refuses the latter before. If Vocabulary is cut, the result is partial over its axes
/// and nothing is sent. Backward: rows are added up, partial over the axes that cut the ids.
template <dimension Vocabulary, operand Table, operand Ids>
constexpr auto embedding(Table const& table, Ids const& ids) {
  if constexpr (detail::any_refused<Table, Ids>) {
    return refused{};
  } else {
    using verdict1 = detail::first_failed_t<
        detail::named_dims_t<typename Table::shape_type, Vocabulary>, detail::same_mesh_t<Table, Ids>,
        std::conditional_t<std::is_same_v<typename Ids::element_type, std::int32_t>, ok,
                           error_element_type<typename Ids::element_type>>,
        typename detail::rows_verdict<Vocabulary, typename Ids::shape_type, typename Table::shape_type>::type,
        detail::operands_verdict_t<detail::operands_together<typename Table::description, typename Ids::description>,
                                   Table, Ids>>;
    if constexpr (!verdict1::value) {
      detail::require<verdict1>{};
      return refused{};
    } else {
      using order = typename detail::first_dim<Vocabulary, typename Table::shape_type>::type;
      auto const ordered = detail::transposed(static_cast<order const*>(nullptr), table);
      using rule = detail::embedding_rule<typename decltype(ordered)::description, typename Ids::description>;
      using out = detail::result_t<typename Table::element_type, rule, Table, Ids>;
      return out(detail::run_embedding(rule::work, ordered.value(), complete(ids).value()));
    }
  }
}

}  // namespace mtf
