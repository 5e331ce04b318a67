// Contractions: of one, two and three tensors, outer and inner products, with a bias.
#include "../definitions/contraction.hpp"
#include "table.hpp"

namespace fuzz {

template <class T>
void add_contractions(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  using abc = arg<T, a, b, c>;
  using ac = arg<T, a, c>;
  FUZZ_OF_TWO((ab, bc), define::contraction(), mtf::einsum<a, c>(x, y));
  FUZZ_OF_TWO((ac, bc), define::contraction(), mtf::einsum<a, b>(x, y));
  FUZZ_OF_TWO((ab, ac), define::contraction(), mtf::einsum<b, c>(x, y));
  FUZZ_OF_TWO((ab, arg<T, k, b>), define::contraction(), mtf::einsum<a, k>(x, y));
  if constexpr (more<T>) FUZZ_OF_TWO((arg<T, a, k>, arg<T, k, b>), define::contraction(), mtf::einsum<a, b>(x, y));
  FUZZ_OF_TWO((abc, bc), define::contraction(), mtf::einsum<a, b>(x, y));
  if constexpr (more<T>) FUZZ_OF_TWO((abc, ab), define::contraction(), mtf::einsum<c, a>(x, y));
  if constexpr (more<T>) FUZZ_OF_TWO((abc, bc), define::contraction(), mtf::einsum<a>(x, y));
  FUZZ_OF_TWO((arg<T, a>, arg<T, b>), define::contraction(), mtf::einsum<a, b>(x, y));
  if constexpr (more<T>) FUZZ_OF_TWO((ab, ab), define::contraction(), mtf::einsum<>(x, y));
  if constexpr (more<T>) FUZZ_OF_TWO((ab, arg<T, a>), define::contraction(), mtf::einsum<b>(x, y));
  if constexpr (more<T>) FUZZ_OF_TWO((ab, bc), define::contraction(), mtf::einsum<a, b, c>(x, y));
  FUZZ_OF_ONE((abc), define::contraction(), mtf::einsum<c, a>(x));
  FUZZ_OF_THREE((ab, bc, ac), define::contraction(), mtf::einsum<a, c>(x, y, z));
  if constexpr (more<T>) FUZZ_OF_THREE((ab, bc, arg<T, c>), define::contraction(), mtf::einsum<a>(x, y, z));
  FUZZ_OF_THREE((ab, bc, arg<T, c>), define::contraction(true), mtf::linear<a, c>(x, y, z));
  if constexpr (more<T>) FUZZ_OF_THREE((ac, bc, arg<T, b>), define::contraction(true), mtf::linear<a, b>(x, y, z));
  if constexpr (more<T>) FUZZ_OF_THREE((abc, bc, ab), define::contraction(true), mtf::linear<a, b>(x, y, z));
  if constexpr (std::is_same_v<T, double>) {  // of what is large
    using aw = arg<T, a, wide>;
    FUZZ_OF_TWO((ab, aw), define::contraction(), mtf::einsum<b, wide>(x, y));
    FUZZ_OF_TWO((ab, arg<T, b, wide>), define::contraction(), mtf::einsum<a, wide>(x, y));
    FUZZ_OF_TWO((aw, arg<T, b, wide>), define::contraction(), mtf::einsum<a, b>(x, y));
    FUZZ_OF_TWO((aw, arg<T, wide>), define::contraction(), mtf::einsum<a>(x, y));
    FUZZ_OF_TWO((aw, aw), define::contraction(), mtf::einsum<a>(x, y));
  }
}
template void add_contractions<double>(table&);
template void add_contractions<float>(table&);
template void add_contractions<mtf::bfloat16>(table&);

}  // namespace fuzz
