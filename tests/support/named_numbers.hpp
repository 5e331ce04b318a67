#pragma once
// Tensors' elements by name, to compare two runs of one program.
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/ops/create.hpp>

#include "support/pads_are_zero.hpp"

using named_numbers = std::map<std::string, std::vector<double>>;

/// All elements of a tensor, whose pads are zeros.
template <class X>
std::vector<double> numbers_of(X const& x) {
  CHECK(pads_are_zero(x));
  std::vector<double> all;
  for (auto const v : mtf::to_global(x)) all.push_back(static_cast<double>(v));
  return all;
}

/// The same to rounding in double.
inline void check_equal(named_numbers const& found, named_numbers const& expected) {
  CHECK(found.size() == expected.size());
  for (auto const& [name, numbers] : expected) {
    CAPTURE(name);
    auto const& mine = found.at(name);
    REQUIRE(mine.size() == numbers.size());
    std::size_t wrong = numbers.size();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (!(std::abs(mine[i] - numbers[i]) <= 1e-11 * (1 + std::abs(numbers[i])))) wrong = i;
    if (wrong < numbers.size()) FAIL_CHECK(wrong << ": " << mine[wrong] << " " << numbers[wrong]);
  }
}
