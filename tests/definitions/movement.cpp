#include "movement.hpp"

#include <algorithm>

namespace define {

definition same() {
  return pointwise([](tape&, number x) { return x; });
}
definition renamed(int from, int to) {
  return [=](tape&, operands const& x, array& y) {
    each(y, [&](position const& p) {
      position q = p;
      q[at(from)] = p[at(to)];
      y[p] = (*x[0])[q];
    });
  };
}
definition regrouped(int one, int outer, int inner) {
  return [=](tape&, operands const& x, array& y) {
    each(y, [&](position const& p) {
      position q = p;
      int const row = y.extent[at(inner)];
      if (std::ranges::find(y.dims, one) == y.dims.end()) {
        q[at(one)] = p[at(outer)] * row + p[at(inner)];
      } else {
        q[at(outer)] = p[at(one)] / row;
        q[at(inner)] = p[at(one)] % row;
      }
      y[p] = (*x[0])[q];
    });
  };
}
definition joined(int whole, std::vector<int> parts) {
  return [=](tape&, operands const& x, array& y) {
    each(y, [&](position const& p) {
      position q = p;
      std::size_t k = 0;
      int i = p[at(whole)];
      for (; i >= y.extent[at(parts[k])]; ++k) i -= y.extent[at(parts[k])];
      q[at(parts[k])] = i;
      y[p] = (*x[k])[q];
    });
  };
}
definition taken_from(int dim, int part, std::function<int(int position, int extent)> where, double outside) {
  return [=](tape& t, operands const& x, array& y) {
    each(y, [&](position const& p) {
      position q = p;
      int const n = y.extent[at(dim)], i = where(p[at(part)], n);
      q[at(dim)] = i;
      y[p] = i >= 0 && i < n ? (*x[0])[q] : t.constant(outside);
    });
  };
}
definition stacked(int dim) {
  return
      [=](tape&, operands const& x, array& y) { each(y, [&](position const& p) { y[p] = (*x[at(p[at(dim)])])[p]; }); };
}
definition position_of(int dim, int position_there) {
  return [=](tape&, operands const& x, array& y) {
    each(y, [&](position const& p) {
      position q = p;
      q[at(dim)] = position_there;
      y[p] = (*x[0])[q];
    });
  };
}
definition rounded(double (*f)(double)) {
  return pointwise([f](tape& t, number x) { return t.rounded(x, f); });
}
definition truncated() { return pointwise(&tape::truncated); }
definition stopped() { return pointwise(&tape::stopped); }

}  // namespace define
