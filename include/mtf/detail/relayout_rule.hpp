#pragma once
// What bringing a tensor from one sharding to another sends: design 5's table, as a list of steps.
#include <array>
#include <cstdint>

#include <mtf/detail/sharding.hpp>

namespace mtf::detail {

enum class step_kind : std::uint8_t { slice, all_reduce, reduce_scatter, all_gather, all_to_all, permute, scattered_all_reduce };

/// One step of a relayout. Blocks are seen as [outer, parts x block] around the dimension concerned:
///   slice, reduce_scatter  [outer, parts, block] -> [outer, block]
///   all_gather             [outer, block]        -> [outer, parts, block]
///   all_to_all             moves `axes` from dimension `from` to dimension `to`; the extents below are the local ones
///                          before the step: [outer, A, middle, B, inner] where A, B are the two dimensions in storage order
///   permute                the shard moves to the rank with the coordinates of the two axes exchanged
///   scattered_all_reduce   reduce-scatter over `inner_axes`, all-reduce over `axes`, all-gather over `inner_axes`
struct step {
  step_kind kind = step_kind::slice;
  axis_mask axes = 0, inner_axes = 0;
  int parts = 1;                   // ranks that take part
  index outer = 1, block = 1;      // slice, all_gather, reduce_scatter
  index a = 1, middle = 1, b = 1, inner = 1;  // all_to_all
  bool from_first = false;                    // all_to_all: the dimension that becomes whole is A
  int axis = 0, other_axis = 0;               // permute
  index elements_in = 0, elements_out = 0;    // local sizes before and after
  bool operator==(step const&) const = default;
};

struct steps {
  int size = 0;
  std::array<step, 12> at{};
  constexpr void push(step const& s) { at[static_cast<std::size_t>(size++)] = s; }
  [[nodiscard]] constexpr step const& operator[](int i) const { return at[static_cast<std::size_t>(i)]; }
  [[nodiscard]] constexpr bool communicates() const {
    for (int i = 0; i < size; ++i)
      if ((*this)[i].kind != step_kind::slice) return true;
    return false;
  }
};

/// Derives the steps from a sharding to another of the same dimensions in the same order. `to.partial` is a subset of
/// `from.partial`: a relayout completes sums, it does not open them.
class relayout_derivation {
 public:
  constexpr relayout_derivation(mesh_shape const& mesh, sharding const& from, sharding const& to)
      : mesh_(mesh), now_(from), to_(to) {}

  constexpr steps derive() {
    // Local slices first: they make everything after them smaller. Then the exchanges that keep the size or shrink it,
    // the completion of what is still partial, and gathers last.
    while (slice() || reduce_scatter() || exchange() || permute() || complete() || gather()) {
    }
    return out_;
  }

 private:
  constexpr axis_mask in_use() const { return now_.cut_axes() | now_.partial; }
  constexpr bool wants(int d) const {
    return now_[d].cut.size < to_[d].cut.size && now_[d].cut.prefix_of(to_[d].cut);
  }
  constexpr int wanted(int d) const { return to_[d].cut[now_[d].cut.size]; }
  constexpr bool must_shrink(int d) const { return now_[d].cut.size > 0 && !now_[d].cut.prefix_of(to_[d].cut); }

  constexpr step around(int d, step_kind kind, int axis) const {
    step s;
    s.kind = kind;
    s.axes = 1U << static_cast<unsigned>(axis);
    s.parts = mesh_.size(s.axes);
    rows const r = rows_along(now_, d, mesh_);
    s.outer = r.outer;
    s.block = r.n * r.inner;
    s.elements_in = now_.local_size(mesh_);
    return s;
  }
  constexpr void emit(step s) {
    s.elements_out = now_.local_size(mesh_);
    out_.push(s);
  }

  constexpr bool slice() {
    for (int d = 0; d < now_.rank; ++d)
      if (wants(d) && !((in_use() >> static_cast<unsigned>(wanted(d))) & 1U)) {
        step s = around(d, step_kind::slice, wanted(d));
        s.block /= s.parts;
        now_[d].cut.push(wanted(d));
        emit(s);
        return true;
      }
    return false;
  }
  constexpr bool reduce_scatter() {
    for (int d = 0; d < now_.rank; ++d)
      if (wants(d) && ((now_.partial >> static_cast<unsigned>(wanted(d))) & 1U)) {
        step s = around(d, step_kind::reduce_scatter, wanted(d));
        s.block /= s.parts;
        now_.partial &= ~s.axes;
        now_[d].cut.push(wanted(d));
        emit(s);
        return true;
      }
    return false;
  }
  constexpr bool exchange() {
    for (int d = 0; d < now_.rank; ++d)
      for (int e = 0; e < now_.rank; ++e)
        if (d != e && must_shrink(d) && wants(e) && now_[d].cut.last() == wanted(e)) {
          step s = around(d, step_kind::all_to_all, wanted(e));
          int const first = d < e ? d : e, second = d < e ? e : d;
          s.outer = s.middle = s.inner = 1;
          for (int k = 0; k < now_.rank; ++k) {
            auto const n = now_.local_extent(k, mesh_);
            (k < first ? s.outer : k == first ? s.a : k < second ? s.middle : k == second ? s.b : s.inner) *= n;
          }
          s.from_first = d < e;
          now_[d].cut.pop();
          now_[e].cut.push(wanted(e));
          emit(s);
          return true;
        }
    return false;
  }
  constexpr bool permute() {
    for (int d = 0; d < now_.rank; ++d) {
      auto rest = now_[d].cut;
      if (!must_shrink(d) || now_[d].cut.size != to_[d].cut.size) continue;
      int const old = rest.last();
      rest.pop();
      int const fresh = to_[d].cut.last();
      if (!rest.prefix_of(to_[d].cut) || ((in_use() >> static_cast<unsigned>(fresh)) & 1U) ||
          mesh_.extent[static_cast<std::size_t>(old)] != mesh_.extent[static_cast<std::size_t>(fresh)])
        continue;
      step s = around(d, step_kind::permute, old);
      s.axes |= 1U << static_cast<unsigned>(fresh);
      s.axis = old;
      s.other_axis = fresh;
      now_[d].cut.pop();
      now_[d].cut.push(fresh);
      emit(s);
      return true;
    }
    return false;
  }
  constexpr bool complete() {
    axis_mask const axes = now_.partial & ~to_.partial;
    if (axes == 0) return false;
    step s;
    s.kind = step_kind::all_reduce;
    s.axes = axes;
    s.elements_in = now_.local_size(mesh_);
    axis_mask const inner = axes & mesh_.node_axes;
    if (inner != 0 && inner != axes && s.elements_in % mesh_.size(inner) == 0) {
      s.kind = step_kind::scattered_all_reduce;
      s.axes = axes & ~inner;
      s.inner_axes = inner;
    }
    s.parts = mesh_.size(axes);
    now_.partial &= ~axes;
    emit(s);
    return true;
  }
  constexpr bool gather() {
    for (int d = 0; d < now_.rank; ++d)
      if (must_shrink(d)) {
        step s = around(d, step_kind::all_gather, now_[d].cut.last());
        now_[d].cut.pop();
        emit(s);
        return true;
      }
    return false;
  }

  mesh_shape mesh_;
  sharding now_, to_;
  steps out_;
};

constexpr steps derive_relayout(mesh_shape const& mesh, sharding const& from, sharding const& to) {
  return relayout_derivation(mesh, from, to).derive();
}

/// Completing a sum over some axes, the cuts unchanged.
constexpr steps derive_completion(mesh_shape const& mesh, sharding from, axis_mask axes) {
  from.partial |= axes;
  sharding to = from;
  to.partial &= ~axes;
  return derive_relayout(mesh, from, to);
}

}  // namespace mtf::detail
