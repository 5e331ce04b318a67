#pragma once
// The dimensions of a test's tensors by number: where one stands in a list of types.
#include <type_traits>

namespace tests {

template <class D, class List>
inline constexpr int number_of = -1;
template <class D, template <class...> class List, class... All>
inline constexpr int number_of<D, List<All...>> = [] {
  int before = 0;
  bool const found = ((std::is_same_v<D, All> || (++before, false)) || ...);
  return found ? before : -1;
}();

}  // namespace tests
