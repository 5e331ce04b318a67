#pragma once
// Walking loop nests (mtf::backend::loops) inside kernels, without separate code for each number of loops.
#include <type_traits>
#include <utility>

#include <mtf/kokkos/launch/packed.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// The loops of one kernel launch: extents and strides, and how to get from a linear index to offsets.
template <int Operands>
struct nest {
  loops<Operands> l;

  /// offset[o] of the linear index i (row-major over the extents); returns i's place in the innermost loop. With Width,
  /// i counts groups of so many neighbours there, of which the last one of each loop may have fewer.
  template <int Width = 1>
  KOKKOS_FORCEINLINE_FUNCTION index locate(index i, index (&offset)[Operands]) const {
    for (int o = 0; o < Operands; ++o) offset[o] = 0;
    // 32-bit division is several times faster on every device
    return i <= 0x7fffffff ? find<Width>(static_cast<unsigned>(i), offset) : find<Width>(i, offset);
  }

  /// Calls body(offsets, length) for the pieces of innermost loops that make up [begin, end).
  template <class Body>
  void for_runs(index begin, index end, Body const& body) const {
    index const inner = l.extent[static_cast<std::size_t>(l.ndim - 1)];
    index offset[Operands];
    index at[max_dims];
    index i = begin;
    for (int d = l.ndim - 1; d >= 0; --d) {
      at[d] = i % l.extent[static_cast<std::size_t>(d)];
      i /= l.extent[static_cast<std::size_t>(d)];
    }
    for (int o = 0; o < Operands; ++o) {
      offset[o] = 0;
      for (int d = 0; d < l.ndim; ++d) offset[o] += at[d] * stride(o, d);
    }
    for (i = begin; i < end;) {
      index const length = std::min(inner - at[l.ndim - 1], end - i);
      body(offset, length);
      i += length;
      for (int o = 0; o < Operands; ++o) offset[o] -= at[l.ndim - 1] * stride(o, l.ndim - 1);
      at[l.ndim - 1] = 0;
      for (int d = l.ndim - 2; d >= 0; --d) {
        for (int o = 0; o < Operands; ++o) offset[o] += stride(o, d);
        if (++at[d] < l.extent[static_cast<std::size_t>(d)]) break;
        for (int o = 0; o < Operands; ++o) offset[o] -= at[d] * stride(o, d);
        at[d] = 0;
      }
    }
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index stride(int operand, int d) const {
    return l.stride[static_cast<std::size_t>(operand)][static_cast<std::size_t>(d)];
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index inner_stride(int operand) const {
    return stride(operand, l.ndim - 1);
  }
  /// True where all operands are contiguous in the innermost loop.
  [[nodiscard]] bool contiguous() const {
    for (int o = 0; o < Operands; ++o)
      if (inner_stride(o) != 1) return false;
    return true;
  }

 private:
  template <int Width, class Number>
  KOKKOS_FORCEINLINE_FUNCTION index find(Number i, index (&offset)[Operands]) const {
    Number place = i;
    for (int d = l.ndim - 1; d > 0; --d) {
      bool const innermost = d == l.ndim - 1;
      auto extent = static_cast<Number>(l.extent[static_cast<std::size_t>(d)]);
      if (innermost) extent = (extent + Width - 1) / Width;
      Number const at = i % extent;
      i /= extent;
      if (innermost) place = at;
      step(d, static_cast<index>(at) * (innermost ? Width : 1), offset);
    }
    step(0, static_cast<index>(i) * (l.ndim == 1 ? Width : 1), offset);
    return static_cast<index>(place) * Width;
  }
  KOKKOS_FORCEINLINE_FUNCTION void step(int d, index by, index (&offset)[Operands]) const {
    for (int o = 0; o < Operands; ++o) offset[o] += by * stride(o, d);
  }
};

/// The nest with its unit loops dropped; at least one loop remains.
template <int Operands>
nest<Operands> nest_of(loops<Operands> const& l) {
  return {collapsed(l)};
}

/// The same loops, sorted by the strides of one operand, the largest outermost, and merged where that is possible.
template <int Operands>
loops<Operands> ordered_by(std::size_t operand, loops<Operands> l) {
  auto const rank = static_cast<std::size_t>(l.ndim);
  auto& key = l.stride[operand];
  for (std::size_t done = 1; done < rank; ++done)
    for (std::size_t d = done; d > 0 && key[d - 1] < key[d]; --d) {
      std::swap(l.extent[d - 1], l.extent[d]);
      for (auto& stride : l.stride) std::swap(stride[d - 1], stride[d]);
    }
  return collapsed(l);
}

#if MTF_HAS_DEVICES
/// A few neighbours of the innermost loop: what a device's thread does. All are computed before the first is stored, so
/// that none waits for what another loads. A kernel that says how many (`width`) does them itself, by packs.
template <class Kernel>
struct by_neighbours {
  static constexpr bool by_packs = requires { Kernel::width; };
  static constexpr int operands = Kernel::operands, width = [] {
    if constexpr (by_packs)
      return Kernel::width;
    else
      return 4;
  }();
  Kernel kernel;
  bool whole = false;  // packs may be accessed at once

  explicit by_neighbours(Kernel const& k) : kernel(k) {
    if constexpr (by_packs) whole = k.has_packs();
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index inner() const {
    return kernel.where.l.extent[static_cast<std::size_t>(kernel.where.l.ndim - 1)];
  }
  [[nodiscard]] index groups() const { return kernel.n / inner() * ceil_div(inner(), width); }

  KOKKOS_FUNCTION void operator()(index group) const {
    index at[operands];
    index const place = kernel.where.template locate<width>(group, at), length = inner(), left = length - place;
    if constexpr (by_packs) {
      kernel.neighbours(at, left, whole);
    } else {
      index const first = length % width == 0
                              ? group * width
                              : (group - place / width) / ((length + width - 1) / width) * length + place;
      std::remove_cvref_t<decltype(kernel.value(first, at))> value[width];
      for (int j = 0; j < width; ++j)
        if (j < left) {
          value[j] = kernel.value(first + j, at);
          step(at, 1);
        }
      step(at, -(left < width ? left : width));
      for (int j = 0; j < width; ++j)
        if (j < left) {
          kernel.put(first + j, at, value[j]);
          step(at, 1);
        }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void step(index (&at)[operands], index by) const {
    for (int o = 0; o < operands; ++o) at[o] += by * kernel.where.inner_stride(o);
  }
};
#endif
template <class Kernel>
struct by_block {
  Kernel kernel;
  void operator()(index b) const { kernel.block(b); }
};

/// Runs a kernel over its n elements. On the host by `block(b)`, host_grain elements each. On devices by `value(i, at)`
/// and `put(i, at, value)` of element i, whose operands are `at` in `where`; or by `neighbours(at, left, whole)` of
/// `width` elements in the innermost loop, `left` if there are fewer, where `whole` is what `has_packs()` says.
template <class Exec, class Kernel>
void launch_nest(char const* label, Exec const& exec, Kernel const& kernel) {
  if (kernel.n == 0) return;
  if constexpr (runs_on_host<Exec>)
    launch_on_host(label, exec, ceil_div(kernel.n, host_grain), kernel.n, by_block<Kernel>{kernel});
#if MTF_HAS_DEVICES
  else {
    by_neighbours<Kernel> const all(kernel);
    Kokkos::parallel_for(label, range_policy<Exec>(exec, 0, all.groups()), all);
  }
#endif
}

}  // namespace mtf::kokkos
