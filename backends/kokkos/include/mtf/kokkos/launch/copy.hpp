#pragma once
// Copies between strided arrays, with conversion of the element type. A copy that is contiguous along different loops
// in its source and its destination (a transposition) goes through square tiles.
#include <algorithm>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/kokkos/launch/nest.hpp>
#include <mtf/kokkos/launch/transpose_block.hpp>
#include <mtf/kokkos/launch/vectors.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/staging.hpp>
#if MTF_HAS_DEVICES
#include <mtf/kokkos/launch/batch.hpp>
#endif

namespace mtf::kokkos {

template <class To, class From>
struct copy_kernel {
  static constexpr int operands = 2;
  nest<2> where;
  index n;
  To* out;
  From const* in;

#if MTF_HAS_DEVICES
  static constexpr int width = pack_width<To, From>;
  [[nodiscard]] bool has_packs() const {
    return has_whole_packs<width>(where, 0, out) && has_whole_packs<width>(where, 1, in);
  }
  KOKKOS_FORCEINLINE_FUNCTION void neighbours(index const (&at)[2], index left, bool whole) const {
    auto const x = load_pack<width>(in + at[1], where.inner_stride(1), left, whole);
    pack<To, width> y;
    for (int k = 0; k < width; ++k) y.x[k] = convert<To>(x.x[k]);
    store_pack<width>(out + at[0], where.inner_stride(0), left, whole, y);
  }
#endif
  void block(index b) const {
    index const to_stride = where.inner_stride(0), from_stride = where.inner_stride(1);
    bool const streams = exceeds_caches<To>(n);
    where.for_runs(b * host_grain, std::min(n, (b + 1) * host_grain), [&](index const(&at)[2], index m) {
      To* const to = out + at[0];
      From const* const from = in + at[1];
      if constexpr (std::is_same_v<To, From>)
        if (streams && to_stride == 1 && from_stride == 1) return stream(to, from, m);
      if (to_stride == 1 && from_stride == 1) {
        MTF_SIMD
        for (index j = 0; j < m; ++j) to[j] = convert<To>(from[j]);
      } else if (to_stride == 1 && from_stride == 0) {
        To const value = convert<To>(*from);
        MTF_SIMD
        for (index j = 0; j < m; ++j) to[j] = value;
      } else {
        for (index j = 0; j < m; ++j) to[j * to_stride] = convert<To>(from[j * from_stride]);
      }
    });
    if (streams) stream_fence();
  }
};

/// out[i * i_stride + j] = in[i + j * j_stride], i < i_extent, j < j_extent, for all of `rest`, in square tiles.
template <class To, class From, int Tile>
struct transpose_kernel {
  nest<2> rest;
  index i_extent, j_extent, i_stride, j_stride;
  To* out;
  From const* in;

  /// Tiles of Tile x `width` elements.
  [[nodiscard]] KOKKOS_FUNCTION index tiles(index width = Tile) const {
    return rest.l.size() * ceil_div(i_extent, Tile) * ceil_div(j_extent, width);
  }

  struct place {
    To* out;
    From const* in;
    index i_size, j_size;
  };
  [[nodiscard]] KOKKOS_FUNCTION place tile_at(index t, index width = Tile) const {
    index const j_tiles = ceil_div(j_extent, width), i_tiles = ceil_div(i_extent, Tile);
    index const j = t % j_tiles * width;
    index const i = t / j_tiles % i_tiles * Tile;
    index at[2];
    rest.locate(t / j_tiles / i_tiles, at);
    index const i_left = i_extent - i, j_left = j_extent - j;
    return {out + at[0] + i * i_stride + j, in + at[1] + i + j * j_stride, i_left < Tile ? i_left : Tile,
            j_left < width ? j_left : width};
  }
};

/// Tiles of two cache lines by two; a task is a strip of tiles along j. A tile's lines are far apart, where the
/// processor does not prefetch by itself, so they are prefetched here. Results too large for the caches are written
/// past them.
template <class To, class From>
struct host_transpose {
  static constexpr int tile = static_cast<int>(128 / std::min(sizeof(To), sizeof(From)));
  static constexpr index strip = 32 * tile, ahead = tile;
  transpose_kernel<To, From, tile> kernel;
  bool streams;

  [[nodiscard]] index strips() const { return kernel.tiles(strip); }
  void operator()(index s) const {
    auto const all = kernel.tile_at(s, strip);
    for (index j = 0; j < all.j_size; j += tile) {
      if (j + ahead < all.j_size) fetch(part(all, j + ahead));
      place const p = part(all, j);
      if (streams) {
        alignas(64) To buffer[tile * tile];
        transpose(p, buffer, tile);
        for (index i = 0; i < p.i_size; ++i) stream(p.out + i * kernel.i_stride, buffer + i * tile, p.j_size);
      } else {
        transpose(p, p.out, kernel.i_stride);
      }
    }
    if (streams) stream_fence();
  }

 private:
  using place = typename transpose_kernel<To, From, tile>::place;
  place part(place const& all, index j) const {
    return {all.out + j, all.in + j * kernel.j_stride, all.i_size, std::min<index>(tile, all.j_size - j)};
  }
  void fetch(place const& p) const {
    constexpr int second_level_cache = 2;  // in the first, rows that lie powers of two apart displace each other
    for (index j = 0; j < p.j_size; ++j) __builtin_prefetch(p.in + j * kernel.j_stride, 0, second_level_cache);
    if (streams) return;
    for (index i = 0; i < p.i_size; ++i) __builtin_prefetch(p.out + i * kernel.i_stride, 1, second_level_cache);
  }
  void transpose(place const& p, To* out, index out_stride) const {
    index i_blocks = 0, j_blocks = 0;  // elements that transpose_block does
    if constexpr (has_block_transpose && std::is_same_v<To, From> && sizeof(To) >= 2) {
      i_blocks = p.i_size / 8 * 8;
      j_blocks = p.j_size / 8 * 8;
      for (index i = 0; i < i_blocks; i += 8)
        for (index j = 0; j < j_blocks; j += 8)
          transpose_block(out + i * out_stride + j, out_stride, p.in + i + j * kernel.j_stride, kernel.j_stride);
      if (i_blocks == p.i_size && j_blocks == p.j_size) return;
    }
    for (index i = 0; i < p.i_size; ++i)
      for (index j = i < i_blocks ? j_blocks : 0; j < p.j_size; ++j)
        out[i * out_stride + j] = convert<To>(p.in[i + j * kernel.j_stride]);
  }
};

template <class Exec, class To, class From>
struct device_transpose {
  using member = typename Kokkos::TeamPolicy<Exec>::member_type;
  static constexpr int tile = 32;
  transpose_kernel<To, From, tile> kernel;

  KOKKOS_FUNCTION void operator()(member const& m) const {
    auto const p = kernel.tile_at(m.league_rank());
    auto* const buffer = static_cast<To*>(m.team_shmem().get_shmem(bytes()));  // rows padded against bank conflicts
    Kokkos::parallel_for(Kokkos::TeamThreadRange(m, tile * tile), [&](int e) {
      int const i = e % tile, j = e / tile;
      if (i < p.i_size && j < p.j_size) buffer[i * (tile + 1) + j] = convert<To>(p.in[i + j * kernel.j_stride]);
    });
    m.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(m, tile * tile), [&](int e) {
      int const i = e / tile, j = e % tile;
      if (i < p.i_size && j < p.j_size) p.out[i * kernel.i_stride + j] = buffer[i * (tile + 1) + j];
    });
  }
  KOKKOS_FUNCTION static constexpr int bytes() { return tile * (tile + 1) * static_cast<int>(sizeof(To)); }
};

/// out = in, over operands (out, in) with any strides; the element type is converted.
template <class Exec, class To, class From>
void copy(device<Exec>& on, loops<2> const& l, To* out, From const* in) {
  index const n = l.size();
  if (n == 0) return;
  loops<2> const sorted = ordered_by(0, l);  // to write in order
  auto const last = static_cast<std::size_t>(sorted.ndim - 1);

  std::size_t source = last;  // the loop along which the source is contiguous
  for (std::size_t d = 0; d < last; ++d)
    if (sorted.stride[1][d] == 1 && sorted.extent[d] >= 4) source = d;
  bool const transposes =
      source != last && sorted.stride[0][last] == 1 && sorted.stride[1][last] != 0 && sorted.extent[last] >= 4;
  if (!transposes) {
    launch_nest("mtf::copy", on.exec, copy_kernel<To, From>{{sorted}, n, out, in});
    return;
  }

  loops<2> rest = sorted;
  rest.extent[source] = rest.extent[last] = 1;
  auto const kernel_of = [&]<int Tile>(std::integral_constant<int, Tile>) {
    return transpose_kernel<To, From, Tile>{nest_of(rest),
                                            sorted.extent[source],
                                            sorted.extent[last],
                                            sorted.stride[0][source],
                                            sorted.stride[1][last],
                                            out,
                                            in};
  };
  if constexpr (runs_on_host<Exec>) {
    using body = host_transpose<To, From>;
    auto const kernel = kernel_of(std::integral_constant<int, body::tile>{});
    body const strips{kernel, exceeds_caches<To>(n)};
    launch_on_host("mtf::transpose", on.exec, strips.strips(), n, strips);
  } else {
    using body = device_transpose<Exec, To, From>;
    auto const kernel = kernel_of(std::integral_constant<int, body::tile>{});
    using policy = Kokkos::TeamPolicy<Exec>;
    auto const league = static_cast<int>(kernel.tiles());
    int const most = policy(on.exec, league, 1)
                         .set_scratch_size(0, Kokkos::PerTeam(body::bytes()))
                         .team_size_max(body{kernel}, Kokkos::ParallelForTag{});
    Kokkos::parallel_for(
        "mtf::transpose",
        policy(on.exec, league, std::min(most, 256)).set_scratch_size(0, Kokkos::PerTeam(body::bytes())), body{kernel});
  }
}

/// Sets each row of a contraction's result to the bias, for products that add to what they find but take no bias.
template <class Exec, class T>
void fill_rows(device<Exec>& on, contraction const& what, T* c, T const* bias) {
  loops<2> const rows{.ndim = 2, .extent = {what.m, what.n}, .stride = {{{what.c_m, what.c_n}, {0, 1}}}};
  copy(on, rows, c, bias);
}

template <class Exec, class To, class From>
void compute(device<Exec>& on, primitives::copy<To, From> const& p) {
  copy(on, p.of, p.out, p.in);
}

template <class Exec, class T>
void compute(device<Exec>& on, primitives::copy_dense<T> const& p) {
  copy_bytes(on.exec, p.out, p.in, static_cast<std::size_t>(p.n) * sizeof(T));
}

#if MTF_HAS_DEVICES
template <class To, class From>
struct cast_body {
  To* out;
  From const* in;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const { out[j] = convert<To>(in[j]); }
};
/// Casts of dense elements are noted, for a batch of them.
template <class Exec, class To, class From>
  requires(!std::is_same_v<To, From>)
bool note(batch<Exec>& to, device<Exec>& on, primitives::copy<To, From> const& p) {
  auto const flat = collapsed(p.of);
  if (flat.ndim != 1 || flat.stride[0][0] != 1 || flat.stride[1][0] != 1) return false;
  index const n = flat.extent[0];
  if (n > index{1} << 22) return false;  // worth a launch of its own, with four elements a thread
  to.note(on, batched_elements<cast_body<To, From>>{{p.out, p.in}}, n, nullptr, writes(p.out, n), reads(p.in, n));
  return true;
}
#endif

MTF_COMPILED_COPY(device, copy)

}  // namespace mtf::kokkos
