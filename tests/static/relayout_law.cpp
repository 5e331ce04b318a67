// The law of relayouts: from every way in which dimensions can lie on two axes, split or partial, to every other one,
// the derived steps end in the wanted sharding and bring each rank just the elements that it gives it, with just the
// sums taken that are wanted.
#include "all_ways.hpp"

struct brings {
  template <class C, std::size_t From, std::size_t To>
  static constexpr bool holds() {
    return std::bool_constant<laws::brings<C::elements, C::mesh.size()>(C::mesh, way<C, From>, way<C, To>)>::value;
  }
};
static_assert(always<brings, nodes>);
static_assert(always<brings, uneven>);
static_assert(always<brings, indivisible>);
static_assert(always<brings, line>);
