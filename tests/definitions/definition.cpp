#include "definition.hpp"

#include <algorithm>

namespace define {

std::size_t size_of(dim_list const& dims, extents const& of) {
  std::size_t n = 1;
  for (int const d : dims) n *= at(of[at(d)]);
  return n;
}
array::array(dim_list over, extents const& of) : dims(std::move(over)), extent(of), numbers(size_of(dims, of)) {}

dim_list without(dim_list const& dims, dim_list const& gone) {
  dim_list left;
  for (int const d : dims)
    if (std::ranges::find(gone, d) == gone.end()) left.push_back(d);
  return left;
}

row along(array const& x, dim_list const& dims, position const& at) {
  row all;
  each(dims, x.extent, at, [&](position const& p) { all.push_back(x[p]); });
  return all;
}

definition by_elements(std::function<number(tape&, row const&)> f) {
  return [f = std::move(f)](tape& t, operands const& x, array& y) {
    row now(x.size());
    each(y, [&](position const& p) {
      for (std::size_t o = 0; o < x.size(); ++o) now[o] = (*x[o])[p];
      y[p] = f(t, now);
    });
  };
}
definition reduction(std::function<number(tape&, row const&)> f) {
  return [f = std::move(f)](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) { y[p] = f(t, along(*x[0], without(x[0]->dims, y.dims), p)); });
  };
}
definition rows(int dim, std::function<row(tape&, std::vector<row> const&)> f) {
  return [dim, f = std::move(f)](tape& t, operands const& x, array& y) {
    each(without(y.dims, {dim}), y.extent, {}, [&](position const& p) {
      std::vector<row> in;
      for (auto const* o : x) in.push_back(along(*o, {dim}, p));
      auto const made = f(t, in);
      each({dim}, y.extent, p, [&](position const& q) { y[q] = made[at(q[at(dim)])]; });
    });
  };
}
definition constant(std::function<double(std::size_t, position const&)> f) {
  return [f = std::move(f)](tape& t, operands const&, array& y) {
    std::size_t i = 0;
    each(y, [&](position const& p) { y[p] = t.constant(f(i++, p)); });
  };
}

}  // namespace define
