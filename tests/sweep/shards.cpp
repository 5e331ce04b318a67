#include "shards.hpp"

#include <algorithm>
#include <cstdlib>

namespace sweep {

interval held(mesh_code const& m, place const& p, int dim, int rank) {
  interval i{0, stored_of[static_cast<std::size_t>(dim)]};
  unsigned const six = split_of(p.split, dim);
  for (int k = 0; k < depth(six); ++k) {  // the outermost axis first
    int const axis = axis_at(six, k);
    i.size /= m.size[static_cast<std::size_t>(axis)];
    i.first += m.coordinate(rank, axis) * i.size;
  }
  return i;
}

std::vector<std::size_t> positions(mesh_code const& m, place const& p, int rank) {
  std::vector<std::size_t> all{0};
  for (int const d : p.dims) {
    interval const i = held(m, p, d, rank);
    std::vector<std::size_t> finer;
    finer.reserve(all.size() * static_cast<std::size_t>(i.size));
    int const extent = extent_of[static_cast<std::size_t>(d)];
    for (std::size_t const at : all)
      for (int k = i.first; k < i.first + i.size; ++k)
        finer.push_back(at == pad || k >= extent ? pad
                                                 : at * static_cast<std::size_t>(extent) + static_cast<std::size_t>(k));
    all = std::move(finer);
  }
  return all;
}

bool divides(mesh_code const& m, splits layout) {
  for (int d = 0; d < dim_count; ++d) {
    int parts = 1;
    for (int k = 0; k < depth(split_of(layout, d)); ++k)
      parts *= m.size[static_cast<std::size_t>(axis_at(split_of(layout, d), k))];
    if (stored_of[static_cast<std::size_t>(d)] % parts != 0) return false;
  }
  return true;
}

bool can_lie(mesh_code const& m, place const& p) {
  if (!can_meet(m, {p})) return false;
  for (int r = 0; r < m.ranks(); ++r)
    for (int s = 0; s < m.ranks(); ++s)
      if (same_but(m, r, s, p.partial) && positions(m, p, r) != positions(m, p, s)) return false;
  return true;
}

bool can_meet(mesh_code const& m, std::vector<place> const& all) {
  place space;
  for (auto const& p : all)
    for (int const d : p.dims)
      if (!space.has(d)) {
        space.dims.push_back(d);
        space.split = with_split(space.split, d, split_of(p.split, d));
      }
  std::vector<bool> met(global_size(space.dims));
  for (int r = 0; r < m.ranks(); ++r) {
    for (auto const& p : all)
      for (int const d : p.dims)
        if (held(m, p, d, r) != held(m, space, d, r)) return false;
    for (std::size_t const at : positions(m, space, r))
      if (at != pad) met[at] = true;
  }
  return std::ranges::all_of(met, [](bool x) { return x; });
}

double term(double value, std::uint64_t salt, std::size_t position, int index, int terms, kind elements) {
  auto const drawn = [&](int i) {  // in [-2, 2)
    std::uint64_t z =
        salt * 0x9e3779b97f4a7c15ULL + position * 0xbf58476d1ce4e5b9ULL + static_cast<std::uint64_t>(i + 1);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    z ^= z >> 31U;
    double const x = static_cast<double>(z >> 42U) * 0x1p-20 - 2.0;  // 22 bits: sums of small integers stay exact
    return elements == kind::whole ? static_cast<double>(static_cast<int>(100 * x)) : x;
  };
  if (special && elements == kind::real) {
    int const at = std::abs(static_cast<int>(0x1p20 * drawn(0))) % terms;
    return index == at ? value : -0.0;
  }
  if (index + 1 < terms) return drawn(index);
  for (int i = 0; i + 1 < terms; ++i) value -= drawn(i);
  return value;
}

int index_along(mesh_code const& m, int rank, set axes) {
  int i = 0;
  for (int x = 0; x < m.axes; ++x)
    if (in(axes, x)) i = i * m.size[static_cast<std::size_t>(x)] + m.coordinate(rank, x);
  return i;
}

bool same_but(mesh_code const& m, int rank, int other, set axes) {
  for (int x = 0; x < m.axes; ++x)
    if (!in(axes, x) && m.coordinate(rank, x) != m.coordinate(other, x)) return false;
  return true;
}

}  // namespace sweep
