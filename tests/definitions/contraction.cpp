#include "contraction.hpp"

#include <algorithm>

namespace define {

definition contraction(bool bias) {
  return [=](tape& t, operands const& x, array& y) {
    std::size_t const factors = x.size() - (bias ? 1 : 0);
    dim_list all;
    for (std::size_t o = 0; o < factors; ++o)
      for (int const d : x[o]->dims)
        if (std::ranges::find(all, d) == all.end()) all.push_back(d);
    each(y, [&](position const& p) {
      row terms;
      each(without(all, y.dims), y.extent, p, [&](position const& q) {
        number product = (*x[0])[q];
        for (std::size_t o = 1; o < factors; ++o) product = t.multiply(product, (*x[o])[q]);
        terms.push_back(product);
      });
      y[p] = t.sum(terms);
      if (bias) y[p] = t.add(y[p], (*x.back())[p]);
    });
  };
}

}  // namespace define
