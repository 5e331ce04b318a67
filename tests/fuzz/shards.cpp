#include "shards.hpp"

#include "draw.hpp"

namespace fuzz {

int coordinate(mtf::mesh_shape const& m, int rank, int axis) {
  for (int x = m.ndim - 1; x > axis; --x) rank /= m.extent[static_cast<std::size_t>(x)];
  return rank % m.extent[static_cast<std::size_t>(axis)];
}
std::vector<std::size_t> positions(mtf::sharding const& s, mtf::mesh_shape const& mesh, int rank) {
  std::vector<std::size_t> all{0};
  for (int d = 0; d < s.ndim; ++d) {
    auto size = static_cast<std::size_t>(s[d].extent), first = std::size_t{0};
    for (int i = 0; i < s[d].split.size; ++i) {  // the outermost axis first
      size /= static_cast<std::size_t>(mesh.extent[static_cast<std::size_t>(s[d].split[i])]);
      first += static_cast<std::size_t>(coordinate(mesh, rank, s[d].split[i])) * size;
    }
    std::vector<std::size_t> finer;
    finer.reserve(all.size() * size);
    auto const extent = static_cast<std::size_t>(s[d].extent - s[d].pad);
    for (std::size_t const at : all)
      for (std::size_t i = first; i < first + size; ++i)
        finer.push_back(at == pad || i >= extent ? pad : at * extent + i);
    all = std::move(finer);
  }
  return all;
}
std::vector<double> share(drawing const& d, mtf::sharding const& s, mtf::mesh_shape const& mesh, int rank) {
  int index = 0, terms = 1;
  for (int x = 0; x < mesh.ndim; ++x)
    if (((s.partial >> static_cast<unsigned>(x)) & 1U) != 0) {
      index = index * mesh.extent[static_cast<std::size_t>(x)] + coordinate(mesh, rank, x);
      terms *= mesh.extent[static_cast<std::size_t>(x)];
    }
  std::vector<double> mine;
  for (std::size_t const at : positions(s, mesh, rank))
    mine.push_back(at == pad ? 0
                             : term_of(drawn(d.salt, at, d.low, d.high, d.integers ? 1 : 32), d.salt, at, index, terms,
                                       d.integers));
  return mine;
}

}  // namespace fuzz
