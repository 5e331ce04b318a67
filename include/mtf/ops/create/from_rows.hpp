#pragma once
// Tensors from the host, of which each rank makes its own part.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mtf/detail/ops/frame.hpp>

namespace mtf {

/// A tensor whose elements a function gives: `fill(row, column, to)` writes those of one row, which is along the last
/// dimension, from a column on. Rows are numbered row-major over the other dimensions. Each rank calls it for the rows
/// and columns of its own shard, and for no others; nothing is sent. What `fill` throws must be thrown on all ranks
/// (docs/design/errors.md, "Errors at run time").
template <tensor_type X, class Fill>
  requires(X::shape_type::ndim > 0)
X from_rows(typename X::backend_type& b, Fill const& fill) {
  using T = typename X::element_type;
  auto const where = detail::place_for<X>(b);
  auto const& spec = where.spec();
  auto const& mesh = b.ranks().mesh();
  int const rank = b.ranks().rank(), last = spec.ndim - 1;
  auto const columns = spec.local_extent(last, mesh), column = detail::shard_offset(spec, last, mesh, rank);
  auto const filled = detail::logical_extent(spec, last, mesh, rank);  // the others are pads, as whole rows may be
  std::vector<T> mine(static_cast<std::size_t>(where.local_size()));
  for (std::int64_t first = 0; first < where.local_size(); first += columns) {
    std::int64_t row = 0, rest = first / columns, of_dim = 1;
    bool is_pad = filled == 0;
    for (int d = last - 1; d >= 0; --d) {
      auto const extent = spec.local_extent(d, mesh);
      row += (detail::shard_offset(spec, d, mesh, rank) + rest % extent) * of_dim;
      is_pad = is_pad || rest % extent >= detail::logical_extent(spec, d, mesh, rank);
      rest /= extent;
      of_dim *= spec[d].logical();
    }
    if (!is_pad) fill(row, column, std::span<T>(mine.data() + first, static_cast<std::size_t>(filled)));
  }
  auto const v = detail::make_value<T>(b, where.local_size());
  b.from_host(v.data(), mine.data(), mine.size() * sizeof(T));
  return where.tensor(v);
}

}  // namespace mtf
