#pragma once
// Lookup of rows by number, also with the vocabulary split.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/embedding.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/transpose.hpp>

namespace mtf {

namespace detail {

struct embedding_work : operation_work<2> {
  index count = 1, width = 1, vocabulary = 1;  // local
};

/// table: the vocabulary first.
constexpr embedding_work derive_embedding(mesh_shape const& mesh, sharding const& table, sharding const& ids) {
  embedding_work w;
  w.in = {table, ids};
  w.complete = {table.partial, ids.partial};
  w.count = ids.local_size(mesh);
  w.vocabulary = table.local_extent(0, mesh);
  w.width = table.local_size(mesh) / w.vocabulary;
  for (int d = 0; d < ids.ndim; ++d) w.out.push(ids[d]);
  for (int d = 1; d < table.ndim; ++d) w.out.push(table[d]);
  w.out.partial = table[0].split.mask();  // each rank has the rows of its share, zeros for the others
  w.gradient_may_be_partial = ~w.out.partial;
  w.gradient_sums[0] = ids.split_axes();
  return w;
}

template <class T>
struct embedding_operation {
  embedding_work const* work;
  static constexpr std::size_t kept = 1;  // ids
  static constexpr char const* name() { return "embedding"; }

  constexpr void forward(auto& f) const {
    auto const& w = *work;
    f.run(primitives::take_rows<T>{w.count, w.width, w.vocabulary, shard_offset(w.in[0], 0, f.mesh(), f.rank()),
                                   w.in[0][0].logical(), f.y(), f.x(), f.template x<1>()});
    f.kept = {f.template memory<1>()};
  }
  constexpr void backward(auto& g) const {
    auto const& w = *work;
    T* const dx = g.dx();
    g.run(primitives::fill<T>{dx, w.vocabulary * w.width, T(0)});
    g.run(primitives::add_rows<T>{w.count, w.width, w.vocabulary, shard_offset(w.in[0], 0, g.mesh(), g.rank()),
                                  w.in[0][0].logical(), dx, g.dy(), data_of<std::int32_t>(g.kept[0])});
  }
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

template <class V>
struct embedding_call {
  template <class Table, class Ids>
  static auto verdict()
      -> first_failed_t<named_dims_t<typename Table::shape_type, V>,
                        std::conditional_t<std::is_same_v<typename Ids::element_type, std::int32_t>, ok,
                                           error_element_type<typename Ids::element_type>>,
                        typename rows_verdict<V, typename Ids::shape_type, typename Table::shape_type>::type>;
  static constexpr bool takes_pads = true;
  static constexpr embedding_work derive(mesh_shape const& mesh, sharding const& table, sharding const& ids) {
    return derive_embedding(mesh, table, ids);
  }
  template <class Table, class Ids>
  constexpr auto operator()(Table const& table, Ids const& ids) const {
    using T = typename Table::element_type;
    using order = typename first_dim<V, typename Table::shape_type>::type;
    auto const ordered = transposed(static_cast<order const*>(nullptr), table);
    using D = typename decltype(ordered)::description;
    return run_as<description_of<T, embedding_call, D, typename Ids::description>, embedding_call>(
        embedding_operation<T>{}, ordered, ids);
  }
};

}  // namespace detail

/// The rows of `table` along Vocabulary that `ids` (int32, in [0, extent)) name: the result has the dimensions of ids,
/// then the others of the table. A negative id gives zeros, one at or above the extent NaN (0 in a table of integers);
/// `from_global<X, Vocabulary>` refuses the latter before. If Vocabulary is split, the result is partial over its axes
/// and nothing is sent. Backward: rows are added up, partial over the axes that split the ids; nothing is sent unless
/// the gradient arrives partial over Vocabulary's axes. Refused: a table without Vocabulary, ids of another type, ids
/// with one of the table's other dimensions, two dimensions of table and ids on one axis.
template <dimension Vocabulary, operand Table, operand Ids>
constexpr auto embedding(Table const& table, Ids const& ids) {
  return detail::operate(detail::embedding_call<Vocabulary>{}, table, ids);
}

}  // namespace mtf
