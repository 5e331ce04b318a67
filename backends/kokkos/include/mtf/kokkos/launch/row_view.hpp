#pragma once
// Tensors [outer, n, inner] as dense rows [outer, inner, n]: themselves if inner is 1 and there are no pads, or the
// kernel passes over them (with_pads), else copies. So row kernels are written, compiled and tuned for such rows only.
#include <mtf/kokkos/launch/copy.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>

namespace mtf::kokkos {

/// Operands (rows, tensor).
inline loops<2> to_dense_rows(rows const& r) {
  return {3, {r.outer, r.inner, r.n}, {{{r.n * r.inner, r.n, 1}, {r.step(), 1, r.inner}}}};
}
/// Operands (tensor, rows).
inline loops<2> from_dense_rows(rows const& r) {
  return {3, {r.outer, r.n, r.inner}, {{{r.step(), r.inner, 1}, {r.n * r.inner, 1, r.n}}}};
}

inline index copied_size(rows const& r) { return r.inner == 1 && r.step() == r.n ? 0 : r.outer * r.n * r.inner; }

/// Rows of which the pads are a part, for kernels that get n apart and pass over what is behind: so pads alone are no
/// reason for a copy. The n of the result is how far apart rows are, also of copies.
inline rows with_pads(rows const& r) { return r.inner == 1 ? rows{r.outer, r.step(), 1} : r; }

/// What a row kernel reads.
template <class T, class Exec>
class row_operand {
 public:
  row_operand(device<Exec>& on, rows const& r, T const* x) : x_(x), dense_(on, copied_size(r)) {
    if (dense_.get() != nullptr) copy(on, to_dense_rows(r), dense_.get(), x);
  }
  [[nodiscard]] T const* get() const { return dense_.get() != nullptr ? dense_.get() : x_; }

 private:
  T const* x_;
  workspace<T, Exec> dense_;
};

/// What a row kernel writes; the destructor copies it to its place.
template <class T, class Exec>
class row_result {
 public:
  row_result(device<Exec>& on, rows const& r, T* y) : on_(&on), r_(r), y_(y), dense_(on, copied_size(r)) {}
  row_result(row_result const&) = delete;
  row_result& operator=(row_result const&) = delete;
  ~row_result() {
    if (dense_.get() != nullptr) copy(*on_, from_dense_rows(r_), y_, dense_.get());
  }
  [[nodiscard]] T* get() const { return dense_.get() != nullptr ? dense_.get() : y_; }

 private:
  device<Exec>* on_;
  rows r_;
  T* y_;
  workspace<T, Exec> dense_;
};

/// Writes rows, or one number for each row, which a policy computes from the same rows of the operands
/// (row_kernels.hpp).
template <class Exec, class Row, class T, class... Operands>
void write_rows(device<Exec>& on, char const* label, rows const& r, Row const& row, T* out, Operands const*... in) {
  using body = rows_body<Row, T, sizeof...(in)>;
  using operand = row_operand<T, Exec>;
  rows const all = with_pads(r);
  row_result<T, Exec> dense(on, all, out);
  for_rows(label, on.exec, r.count(), r.n, body{row, dense.get(), {r.n, {operand(on, all, in).get()...}, all.n}});
}
template <class Exec, class Row, class Number, class T, class... Operands>
void number_rows(device<Exec>& on, char const* label, rows const& r, Row const& row, Number* out, T const* x,
                 Operands const*... more) {
  using body = row_numbers_body<Row, Number, T, 1 + sizeof...(more)>;
  using operand = row_operand<T, Exec>;
  rows const all = with_pads(r);
  for_rows(label, on.exec, r.count(), r.n,
           body{row, out, {r.n, {operand(on, all, x).get(), operand(on, all, more).get()...}, all.n}});
}

}  // namespace mtf::kokkos
