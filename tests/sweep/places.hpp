#pragma once
// Where the sweep's tensors lie, as numbers: eight dimensions, eight meshes, and codes for layouts. A case of the sweep
// is a few such numbers; typed.hpp makes types of them, the oracle (oracle.hpp) reads them without the library.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sweep {

/// Dimensions are numbered a to h. 24 is divided by all meshes, 4 and 6 are not: the sweep meets both. e is b under
/// another name, f is c and d as one, g is b and then e, h is a and then b.
/// With MTF_SWEEP_VALUES their extents are values, and so are all layouts. With MTF_SWEEP_EXTENTS it is the sweep of
/// special values (special.hpp), which has its own, some of them 1.
inline constexpr int dim_count = 8;
constexpr std::array<int, dim_count> with_made_of(int a, int b, int c, int d, int e) {
  return {a, b, c, d, e, c * d, b + e, a + b};
}
#ifdef MTF_SWEEP_VALUES
inline constexpr bool typed_calls = false;
#else
inline constexpr bool typed_calls = true;
#endif
#ifdef MTF_SWEEP_EXTENTS
inline constexpr bool special = true;
inline constexpr std::array<int, dim_count> extent_of = with_made_of(MTF_SWEEP_EXTENTS);
#else
inline constexpr bool special = false;
inline constexpr std::array<int, dim_count> extent_of = with_made_of(24, 12, 4, 6, 12);
#endif
/// With pads. Each of `paddings` has dimensions of which ranks have pads, some nothing else, and others without pads;
/// two dimensions as one have those of the outer one. The sweep of pads (main.cpp) runs under each, others under none.
inline std::array<int, dim_count> stored_of = extent_of;
inline constexpr std::array<std::array<int, dim_count>, 2> paddings{
    {{30, 16, 6, 6, 16, 36, 32, 40}, {28, 15, 4, 8, 15, 32, 27, 39}}};
inline constexpr std::array<char const*, dim_count> name_of_dim{"a", "b", "c", "d", "e", "f", "g", "h"};

/// A set of dimensions, operands or axes: bit i is the i-th.
using set = std::uint32_t;
constexpr bool in(set s, int i) { return ((s >> static_cast<unsigned>(i)) & 1U) != 0; }
constexpr set bit(int i) { return 1U << static_cast<unsigned>(i); }

struct mesh_code {
  int axes = 0;
  std::array<int, 3> size{1, 1, 1};
  set inside_node = 0;  // the axes whose links run inside one node
  [[nodiscard]] constexpr int ranks() const { return size[0] * size[1] * size[2]; }
  /// The number of ranks along a set of axes.
  [[nodiscard]] constexpr int along(set s) const {
    int n = 1;
    for (int x = 0; x < axes; ++x) n *= in(s, x) ? size[static_cast<std::size_t>(x)] : 1;
    return n;
  }
  /// The coordinate of a rank along an axis; the last axis varies fastest.
  [[nodiscard]] constexpr int coordinate(int rank, int axis) const {
    for (int x = axes - 1; x > axis; --x) rank /= size[static_cast<std::size_t>(x)];
    return rank % size[static_cast<std::size_t>(axis)];
  }
};
#ifdef MTF_SWEEP_EXTENTS
inline constexpr int mesh_count = 3;
inline constexpr std::array<mesh_code, mesh_count> mesh_of{{{0, {1, 1, 1}}, {2, {1, 2, 1}}, {2, {2, 2, 1}}}};
#else
inline constexpr int mesh_count = 8;
inline constexpr std::array<mesh_code, mesh_count> mesh_of{{{0, {1, 1, 1}},
                                                            {1, {2, 1, 1}},
                                                            {1, {3, 1, 1}},
                                                            {1, {4, 1, 1}},
                                                            {2, {2, 2, 1}},
                                                            {2, {2, 3, 1}},
                                                            {3, {2, 2, 2}},
                                                            {2, {2, 2, 1}, bit(1)}}};
#endif

/// A layout: six bits a dimension, in them the axes that split it, outermost first, as two bits each of axis + 1. Up to
/// eight dimensions, as many as a tensor may have, fit.
using splits = std::uint64_t;
static_assert(6 * dim_count <= 64);
constexpr unsigned split_of(splits l, int dim) {
  return static_cast<unsigned>(l >> static_cast<unsigned>(6 * dim)) & 63U;
}
constexpr splits with_split(splits l, int dim, unsigned six) {
  auto const at = static_cast<unsigned>(6 * dim);
  return (l & ~(splits{63} << at)) | splits{six} << at;
}
/// How many axes split the dimension.
constexpr int depth(unsigned six) { return six >= 16 ? 3 : six >= 4 ? 2 : six >= 1 ? 1 : 0; }
/// The i-th of them.
constexpr int axis_at(unsigned six, int i) { return static_cast<int>((six >> static_cast<unsigned>(2 * i)) & 3U) - 1; }
/// The same with one more axis before the i-th.
constexpr unsigned with_axis(unsigned six, int i, int axis) {
  unsigned const low = six & ((1U << static_cast<unsigned>(2 * i)) - 1U);
  return low | static_cast<unsigned>(axis + 1) << static_cast<unsigned>(2 * i) |
         (six >> static_cast<unsigned>(2 * i)) << static_cast<unsigned>(2 * i + 2);
}
constexpr set axes_of(unsigned six) {
  set s = 0;
  for (int i = 0; i < depth(six); ++i) s |= bit(axis_at(six, i));
  return s;
}
/// The axes that split some of the dimensions.
constexpr set axes_of(splits l, set dims) {
  set s = 0;
  for (int d = 0; d < dim_count; ++d)
    if (in(dims, d)) s |= axes_of(split_of(l, d));
  return s;
}

/// The splits of these dimensions alone.
constexpr splits of_dims(splits l, set dims) {
  splits s = 0;
  for (int d = 0; d < dim_count; ++d)
    if (in(dims, d)) s = with_split(s, d, split_of(l, d));
  return s;
}

/// One case: the layout of all operands; over which axes each operand is partial, three bits each; and a second layout,
/// of operand `other_operand` or, for operations that take a layout, the one they are given (other_operand -1).
struct case_code {
  splits layout = 0, other = 0;
  std::uint32_t partial = 0;
  int other_operand = -1;
  [[nodiscard]] constexpr set partial_of(int operand) const {
    return (partial >> static_cast<unsigned>(3 * operand)) & 7U;
  }
};
constexpr std::uint32_t partial_bits(int operand, set axes) { return axes << static_cast<unsigned>(3 * operand); }

/// What the generator must know of an operation: the dimensions of its operands.
struct signature {
  int operands = 0;
  std::array<set, 6> dims{};
  set more_dims = 0;  // dimensions of the result alone: layouts split them too
  set apart = 0;      // dimensions of which no tensor has two: one axis may split several of them
  bool takes_layout = false;
  [[nodiscard]] constexpr set all() const {
    set s = more_dims;
    for (set const d : dims) s |= d;
    return s;
  }
};

/// What kinds of cases there are, and how many of each an operation gets on one mesh.
enum class family : std::uint8_t { plain, partial, refused, differing, count };
using budget = std::array<int, static_cast<std::size_t>(family::count)>;

/// Calls sink(code, family) for every case of an operation on a mesh; with `more`, also for operands that are partial
/// over every set of axes, and over different ones, and for many second layouts.
template <class Sink>
class generator {
 public:
  constexpr generator(signature const& s, mesh_code const& m, bool more, Sink& sink)
      : s_(s), all_(s.all()), m_(m), more_(more), sink_(sink) {}
  constexpr void run() { place(0, 0); }

 private:
  /// Each axis idle, or before, between or after the axes that already split a dimension: all injective layouts. Or
  /// last of several dimensions that are apart.
  constexpr void place(int axis, splits l) {
    if (axis == m_.axes) {
      found(l);
      return;
    }
    place(axis + 1, l);
    for (int d = 0; d < dim_count; ++d)
      if (in(all_, d))
        for (int i = 0; i <= depth(split_of(l, d)); ++i)
          place(axis + 1, with_split(l, d, with_axis(split_of(l, d), i, axis)));
    for (set some = 1; some <= s_.apart; ++some)
      if ((some & ~s_.apart) == 0 && (some & (some - 1U)) != 0) place(axis + 1, split_all(l, some, axis));
  }
  /// Each of them also by this axis, innermost.
  constexpr splits split_all(splits l, set dims, int axis) const {
    for (int d = 0; d < dim_count; ++d)
      if (in(dims, d)) l = with_split(l, d, with_axis(split_of(l, d), depth(split_of(l, d)), axis));
    return l;
  }
  constexpr void found(splits l) {
    int const n = count_++;
    if (s_.takes_layout) {
      // The layout that is asked for: each axis moves by a rule that meets every pair of uses sooner or later.
      for (int k = 0; k < (more_ ? 40 : m_.axes + 2); ++k) {
        splits const to = target(n * 5 + k);
        sink_({.layout = l, .other = to}, family::plain);
        for (int x = 0; x < m_.axes; ++x)
          if (!in(axes_of(l, s_.dims[0]), x))
            sink_({.layout = l, .other = to, .partial = partial_bits(0, bit(x))}, family::partial);
      }
    } else {
      sink_({.layout = l}, family::plain);
      partials(l);
    }
    not_injective(l);
    if (s_.operands > 1)
      for (int o = 1; o < s_.operands; ++o) {
        for (int k = 0; k < (more_ ? 12 : 2); ++k)
          if (splits const to = k == 1 ? turned(l) : target(n * 7 + 3 * o + 11 * k); to != l)
            sink_({.layout = l, .other = to, .other_operand = o}, family::differing);
      }
  }
  /// Some injective layout, the n-th in no order.
  constexpr splits target(int n) const {
    std::array<int, dim_count + 1> dims{};
    int count = 1;  // the first: idle
    for (int d = 0; d < dim_count; ++d)
      if (in(all_, d)) dims[static_cast<std::size_t>(count++)] = d;
    splits l = 0;
    for (int x = 0; x < m_.axes; ++x) {
      int const at = n % count;
      n = n / count + n % 3 + x;
      if (at == 0) continue;
      int const d = dims[static_cast<std::size_t>(at)];
      l = with_split(l, d, with_axis(split_of(l, d), n % 2 == 0 ? 0 : depth(split_of(l, d)), x));
    }
    return l;
  }
  /// The same dimensions, each split over the next axis.
  constexpr splits turned(splits l) const {
    splits to = 0;
    for (int d = 0; d < dim_count; ++d)
      for (int i = 0; i < depth(split_of(l, d)); ++i)
        to = with_split(to, d, with_axis(split_of(to, d), i, (axis_at(split_of(l, d), i) + 1) % m_.axes));
    return to;
  }
  constexpr void partials(splits l) {
    set every = bit(m_.axes) - 1U;
    for (int o = 0; o < s_.operands; ++o) {
      set const free = (bit(m_.axes) - 1U) & ~axes_of(l, s_.dims[static_cast<std::size_t>(o)]);
      every &= free;
      for (int x = 0; x < m_.axes; ++x)
        if (in(free, x)) sink_({.layout = l, .partial = partial_bits(o, bit(x))}, family::partial);
      if ((free & (free - 1U)) != 0) sink_({.layout = l, .partial = partial_bits(o, free)}, family::partial);
      if (more_) more_partials(l, o, free);
    }
    if (s_.operands < 2) return;
    for (int x = 0; x < m_.axes; ++x)
      if (in(every, x)) {
        std::uint32_t all = 0;
        for (int o = 0; o < s_.operands; ++o) all |= partial_bits(o, bit(x));
        sink_({.layout = l, .partial = all}, family::partial);
      }
  }
  /// Operand o is partial over two of three axes; or over some, and another operand over others.
  constexpr void more_partials(splits l, int o, set free) {
    for (set some = 1; some <= free; ++some) {
      if ((some & ~free) != 0) continue;
      bool const two = some != free && (some & (some - 1U)) != 0;
      if (two) sink_({.layout = l, .partial = partial_bits(o, some)}, family::partial);
      for (int p = 0; p < o; ++p) {
        set const others = (bit(m_.axes) - 1U) & ~axes_of(l, s_.dims[static_cast<std::size_t>(p)]);
        for (set other = 1; other <= others; ++other)
          if ((other & ~others) == 0)
            sink_({.layout = l, .partial = partial_bits(o, some) | partial_bits(p, other)}, family::partial);
      }
    }
  }
  /// An axis that splits one dimension splits another as well; or splits a dimension of a tensor that is partial over
  /// it.
  constexpr void not_injective(splits l) {
    for (int x = 0; x < m_.axes; ++x)
      for (int d = 0; d < dim_count; ++d) {
        if (!in(axes_of(split_of(l, d)), x)) continue;
        for (int e = d + 1; e < dim_count; ++e)
          if (in(all_, e) && !in(axes_of(split_of(l, e)), x))
            twice(l, with_split(l, e, with_axis(split_of(l, e), depth(split_of(l, e)), x)));
        for (int o = 0; o < s_.operands; ++o)
          if (in(s_.dims[static_cast<std::size_t>(o)], d))
            sink_({.layout = l, .other = l, .partial = partial_bits(o, bit(x))}, family::refused);
      }
  }

  constexpr void twice(splits good, splits bad) {
    sink_({.layout = bad, .other = good}, family::refused);
    if (s_.takes_layout) sink_({.layout = good, .other = bad}, family::refused);
  }

  signature s_;
  set all_;
  mesh_code m_;
  bool more_;
  Sink& sink_;
  int count_ = 0;
};

/// Counts cases by family.
struct counter {
  std::array<int, static_cast<std::size_t>(family::count)> n{};
  constexpr void operator()(case_code const&, family f) { ++n[static_cast<std::size_t>(f)]; }
};

/// Keeps `most` of each family, evenly spread.
template <class Out>
struct picker {
  budget total{}, most{};
  int phase = 0;
  Out out;
  budget seen{};
  constexpr void operator()(case_code const& c, family f) {
    auto const at = static_cast<std::size_t>(f);
    std::int64_t const i = seen[at]++;
    if (most[at] < total[at] && (i * most[at] + phase % total[at]) % total[at] >= most[at]) return;
    out(c);
  }
};

/// Where an operation's sample of cases begins: another for each name, whatever stands before it in its file.
constexpr int phase_of(char const* name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (; *name != 0; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619U;
  return static_cast<int>(hash % 65521U);
}

/// The cases that are chosen for an operation of this signature on a mesh; f(case).
template <class F>
constexpr void each_chosen(signature const& s, int mesh, bool more, budget const& total, budget const& most, int phase,
                           F f) {
  picker<F> p{.total = total, .most = most, .phase = phase, .out = f};
  generator(s, mesh_of[static_cast<std::size_t>(mesh)], more, p).run();
}
constexpr budget total_on(signature const& s, int mesh, bool more) {
  counter all;
  generator(s, mesh_of[static_cast<std::size_t>(mesh)], more, all).run();
  return all.n;
}

/// The same for types. Counted once a signature: enumerating is what costs the compiler time here.
template <signature S, int Mesh>
inline constexpr budget total_of = total_on(S, Mesh, false);
template <signature S, int Mesh, budget Most, int Phase>
struct chosen {
  static constexpr std::size_t size = [] {
    int n = 0;
    for (std::size_t f = 0; f < Most.size(); ++f) n += std::min(total_of<S, Mesh>[f], Most[f]);
    return static_cast<std::size_t>(n);
  }();
  static constexpr std::array<case_code, size> cases = [] {
    std::array<case_code, size> kept{};
    std::size_t n = 0;
    each_chosen(S, Mesh, false, total_of<S, Mesh>, Most, Phase, [&](case_code const& c) { kept[n++] = c; });
    return kept;
  }();
};

/// How many cases an operation gets on a mesh, typed: a sample.
constexpr budget typed_budget(int mesh) {
  auto const& m = mesh_of[static_cast<std::size_t>(mesh)];
  if (special || !typed_calls) return {};
  if (m.inside_node != 0) return {0, 1, 0, 0};
  switch (m.axes) {
    case 0:
      return {1, 0, 0, 0};
    case 1:
      return m.size[0] == 2 ? budget{2, 1, 1, 1} : budget{};
    case 2:
      return m.size[1] == 3 ? budget{2, 2, 1, 1} : budget{};
    default:
      return {2, 2, 1, 1};
  }
}
}  // namespace sweep
