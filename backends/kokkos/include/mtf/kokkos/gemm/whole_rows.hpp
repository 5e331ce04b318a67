#pragma once
// Matrices of bfloat16 as tensor cores take them: rows (of matrices by columns, columns) whose starts and lengths are
// multiples of 16 bytes. Where only lengths are not, what is left over is a product of its own. Other operands of a
// large product, such as dense logits of a vocabulary of 50257, are copied, a part of the product at a time; the
// library's kernels for rows that begin anywhere take eight times as long.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mtf/kokkos/launch/copy.hpp>
#include <mtf/kokkos/launch/fill.hpp>

namespace mtf::kokkos {

inline constexpr unsigned whole_row = 16;  // bytes

constexpr index whole_elements(index n) {
  constexpr index step = whole_row / sizeof(bfloat16);
  return ceil_div(n, step) * step;
}
/// Of all addresses and strides in bytes whose bits these are: in bytes, at most 16.
inline unsigned alignment_of(std::uintptr_t bits) {
  bits |= whole_row;
  return static_cast<unsigned>(bits & (~bits + 1));
}
inline unsigned alignment_of(void const* p) { return alignment_of(reinterpret_cast<std::uintptr_t>(p)); }

/// A matrix by its strides, one of which is 1.
struct strided_matrix {
  index rows, columns, row_stride, column_stride;

  [[nodiscard]] bool by_rows() const { return column_stride == 1; }
  [[nodiscard]] bool is_aligned(void const* at) const {
    index const leading = by_rows() ? row_stride : column_stride;
    return alignment_of(at) >= whole_row && whole_elements(leading) == leading;
  }
  /// One of r x c elements of the same order, with whole rows.
  [[nodiscard]] strided_matrix padded(index r, index c) const {
    return by_rows() ? strided_matrix{r, c, whole_elements(c), 1} : strided_matrix{r, c, 1, whole_elements(r)};
  }
  [[nodiscard]] index size() const { return by_rows() ? rows * row_stride : columns * column_stride; }
};
inline strided_matrix a_of(contraction const& w) { return {w.m, w.k, w.a_m, w.a_k}; }
inline strided_matrix b_of(contraction const& w) { return {w.k, w.n, w.b_k, w.b_n}; }
inline strided_matrix c_of(contraction const& w) { return {w.m, w.n, w.c_m, w.c_n}; }

/// Whether copies may be worth their time.
inline bool is_large(contraction const& w) {
  return w.batch.size() == 1 && w.c_n == 1 && w.flops() > 1e9 && std::min({w.m, w.n, w.k}) >= 64;
}

/// Which operands of a product are copied, and the extents that it then has.
struct copied_operands {
  index n, k;
  bool a, b, c;

  copied_operands(contraction const& w, void const* at_a, void const* at_b, void const* at_c)
      : n(whole_elements(w.n)),
        k(w.a_k == 1 || w.b_k == 1 ? whole_elements(w.k) : w.k),
        a(k != w.k || !a_of(w).is_aligned(at_a)),
        b(k != w.k || n != w.n || !b_of(w).is_aligned(at_b)),
        c(n != w.n || !c_of(w).is_aligned(at_c)) {}
  [[nodiscard]] bool any() const { return a || b || c; }
};

/// Whether all rows begin at multiples of 16 bytes, and nothing need be copied to make their lengths such, as of logits
/// with pads between rows.
inline bool all_rows_begin_whole(contraction const& w, void const* a, void const* b, void const* c) {
  return a_of(w).is_aligned(a) && b_of(w).is_aligned(b) && c_of(w).is_aligned(c);
}

/// c = a b, or c + a b, or a b + bias, of such matrices by `multiply`, which takes the same arguments: whole units of
/// columns, and along k where k is within rows; and what is left over of both. Elements are rounded once more where
/// something is left over of k, before the others are added, so by what a few terms come to.
template <class Multiply>
void multiply_with_rests(contraction const& what, bfloat16 const* a, bfloat16 const* b, bfloat16* c, bool accumulate,
                         bfloat16 const* bias, Multiply const& multiply) {
  constexpr index unit = whole_row / sizeof(bfloat16);
  contraction part = what;
  part.n = what.n / unit * unit;
  if (index const n = part.n; n != what.n) {
    contraction rest = what;
    rest.n = what.n - n;
    multiply(rest, a, b + n * what.b_n, c + n, accumulate, bias == nullptr ? bias : bias + n);
  }
  if (part.n == 0) return;
  index const k = what.a_k == 1 || what.b_k == 1 ? what.k / unit * unit : what.k;
  if (k != what.k) {
    contraction rest = part;
    rest.k = what.k - k;
    multiply(rest, a + k * what.a_k, b + k * what.b_k, c, accumulate, bias);
    accumulate = true;
    bias = nullptr;
    part.k = k;
  }
  if (part.k > 0) multiply(part, a, b, c, accumulate, bias);
}

/// A matrix where it is, or a copy of it with zeros around.
template <class Exec>
class whole_rows {
 public:
  whole_rows(device<Exec>& on, bool copied, bfloat16 const* from, strided_matrix const& is, index rows, index columns,
             bool read = true)
      : lies_(copied ? is.padded(rows, columns) : is),
        own_(on, copied ? lies_.size() : 0),
        at_(copied ? own_.get() : from) {
    if (!copied || !read) return;
    copy(on, both(is.rows, is.columns, lies_, is), own_.get(), from);
    if (rows == is.rows && columns == is.columns) return;
    workspace<bfloat16, Exec> const zero(on, 1);
    compute(on, primitives::fill<bfloat16>{zero.get(), 1, bfloat16(0.0F)});
    auto const clear = [&](index row, index column, index r, index c) {
      bfloat16* const to = own_.get() + row * lies_.row_stride + column * lies_.column_stride;
      copy(on, both(r, c, lies_, {}), to, static_cast<bfloat16 const*>(zero.get()));
    };
    clear(0, is.columns, rows, columns - is.columns);
    clear(is.rows, 0, rows - is.rows, is.columns);
  }
  [[nodiscard]] strided_matrix const& lies() const { return lies_; }
  [[nodiscard]] bfloat16 const* get() const { return at_; }
  /// Where the copy is.
  [[nodiscard]] bfloat16* own() const { return own_.get(); }

  /// Copies a result to its place.
  void put(device<Exec>& on, bfloat16* to, strided_matrix const& is) const {
    copy(on, both(is.rows, is.columns, is, lies_), to, at_);
  }

 private:
  static loops<2> both(index rows, index columns, strided_matrix const& to, strided_matrix const& from) {
    return {.ndim = 2,
            .extent = {rows, columns},
            .stride = {{{to.row_stride, to.column_stride}, {from.row_stride, from.column_stride}}}};
  }

  strided_matrix lies_;
  workspace<bfloat16, Exec> own_;
  bfloat16 const* at_;
};

/// c = a b, or c + a b, or a b + bias, by `multiply`, which takes the same arguments: rows or columns of the result at
/// a time, so that only the smaller operand is copied as a whole, and of what is larger `most_elements` at most. (By
/// default parts large enough for all of a GPU's multiprocessors.)
template <class Exec, class Multiply>
void multiply_in_parts(device<Exec>& on, contraction const& what, bfloat16 const* a, bfloat16 const* b, bfloat16* c,
                       bool accumulate, bfloat16 const* bias, Multiply const& multiply,
                       index most_elements = index(128) << 20U) {
  using operand = whole_rows<Exec>;
  bool const by_rows = what.m >= what.n;
  index const all = by_rows ? what.m : what.n, row = std::max(by_rows ? what.n : what.m, what.k);
  index const step = std::min(all, std::max<index>(most_elements / row / 128, 1) * 128);
  copied_operands const whole(what, a, b, c);
  operand const same = by_rows ? operand(on, whole.b, b, b_of(what), whole.k, whole.n)
                               : operand(on, whole.a, a, a_of(what), what.m, whole.k);
  for (index begin = 0; begin < all; begin += step) {
    contraction part = what;
    (by_rows ? part.m : part.n) = std::min(step, all - begin);
    bfloat16 const* const part_a = a + (by_rows ? begin * what.a_m : 0);
    bfloat16 const* const part_b = b + (by_rows ? 0 : begin * what.b_n);
    bfloat16* const part_c = c + begin * (by_rows ? what.c_m : what.c_n);
    bfloat16 const* const part_bias = bias == nullptr || by_rows ? bias : bias + begin;
    copied_operands const copied(part, part_a, part_b, part_c);
    operand const other = by_rows ? operand(on, copied.a, part_a, a_of(part), part.m, copied.k)
                                  : operand(on, copied.b, part_b, b_of(part), copied.k, copied.n);
    operand const result(on, copied.c, part_c, c_of(part), part.m, copied.n, accumulate);
    operand const row_of_bias(on, bias != nullptr && copied.n != part.n, part_bias, {1, part.n, part.n, 1}, 1,
                              copied.n);
    strided_matrix const of_a = (by_rows ? other : same).lies(), of_b = (by_rows ? same : other).lies();
    contraction const padded{.batch = {},
                             .m = part.m,
                             .n = copied.n,
                             .k = copied.k,
                             .a_m = of_a.row_stride,
                             .a_k = of_a.column_stride,
                             .b_k = of_b.row_stride,
                             .b_n = of_b.column_stride,
                             .c_m = result.lies().row_stride,
                             .c_n = 1};
    multiply(padded, (by_rows ? other : same).get(), (by_rows ? same : other).get(), copied.c ? result.own() : part_c,
             accumulate, row_of_bias.get());
    if (copied.c) result.put(on, part_c, c_of(part));
  }
}

}  // namespace mtf::kokkos
