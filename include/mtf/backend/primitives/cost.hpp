#pragma once
// What a primitive costs, of the numbers that it is given: bytes that must be moved, each operand once, and the
// operations of products. Plans add them up before anything runs, profiles hold them against the time.
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/work.hpp>

namespace mtf {

/// What bounds the speed of a primitive: the matrix units, memory, or what lies between ranks.
enum class limit : std::uint8_t { matrix, memory, network };

/// A unit of work that a backend does on one rank's shards: a small value with its name, the bytes that it moves and,
/// of products, its floating-point operations. `backend.run(p)` does it.
template <class P>
concept primitive = requires(P const& p) {
  { P::name } -> std::same_as<char const* const&>;
  { p.bytes() } -> std::same_as<double>;
};

namespace primitives {

/// What bounds a primitive: the matrix units if it has flops(), else memory.
template <class P>
inline constexpr limit limit_of = requires(P const& p) { p.flops(); } ? limit::matrix : limit::memory;

/// Of products; what is bound by memory counts none.
template <primitive P>
constexpr double flops_of(P const& p) {
  if constexpr (limit_of<P> == limit::matrix)
    return p.flops();
  else
    return 0;
}

/// What a backend's speed depends on besides a primitive's name: of products the bytes of an element and the smallest
/// extent, as thin ones are slower; of what is bound by memory the bytes of one run, as caches and short runs have
/// speeds of their own.
struct grade {
  std::size_t element = 0;
  std::int64_t size = 0;
  bool operator==(grade const&) const = default;
};
/// The grade of a primitive.
template <primitive P>
constexpr grade grade_of(P const& p) {
  if constexpr (limit_of<P> == limit::matrix)
    return {P::element, p.size()};
  else
    return {0, static_cast<std::int64_t>(p.bytes())};
}

/// The elements that an operand of a loop nest has: it stays in place along the others.
template <int Operands>
constexpr double distinct(backend::loops<Operands> const& l, std::size_t operand) {
  double n = 1;
  auto const* const stride = l.stride[operand].data();  // of a constant expression each call of [] is a step
  auto const* const extent = l.extent.data();
  for (int d = 0; d < l.ndim; ++d)
    if (stride[d] != 0) n *= static_cast<double>(extent[d]);
  return n;
}

/// The bytes of elements of type T.
template <class T>
constexpr double bytes_moved(backend::index n) {
  return static_cast<double>(n) * sizeof(T);
}
template <class T>
constexpr double bytes_moved(backend::rows const& r) {
  return bytes_moved<T>(r.count() * r.n);
}
template <class T, int Operands>
constexpr double bytes_moved(backend::loops<Operands> const& l, std::size_t operand = 0) {
  return distinct(l, operand) * sizeof(T);
}

}  // namespace primitives
}  // namespace mtf
