#include "movement.hpp"

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
definition rounded(double (*f)(double)) {
  return pointwise([f](tape& t, number x) { return t.rounded(x, f); });
}
definition truncated() { return pointwise(&tape::truncated); }
definition stopped() { return pointwise(&tape::stopped); }

}  // namespace define
