// Attention, rotary positions, norms, the loss, embeddings, dropout; and tensors from nothing.
#include "../definitions/indexing.hpp"
#include "../definitions/movement.hpp"
#include "../definitions/nn.hpp"
#include "table.hpp"
#include "through_host.hpp"

#include <mtf/ops/indexing.hpp>
#include <mtf/ops/nn.hpp>
#include <mtf/ops/sorting.hpp>

namespace fuzz {

template <class T>
void add_nn(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  using abc = arg<T, a, b, c>;
  FUZZ_OF_THREE((ab, arg<T, k, b>, arg<T, k, b>),
                define::attention(
                    0, 4, 1, [](int i, int j) { return j <= i; }, 0.6),
                mtf::attention<a, k, b>(x, y, z, mtf::visible::causal(), 0.6));
  FUZZ_OF_THREE((ab, arg<T, k, b>, arg<T, k, b>),
                define::attention(
                    0, 4, 1, [](int i, int j) { return (j <= i - 1 && j > i - 3) || j < 1; }, 0.6),
                mtf::attention<a, k, b>(x, y, z, mtf::visible::window(2, -1) | mtf::visible::prefix(1), 0.6));
  FUZZ_OF_THREE((abc, arg<T, k, b>, arg<T, b, k>),
                define::attention(
                    0, 4, 1, [](int i, int j) { return j <= i; }, 0.6),
                mtf::attention<a, k, b>(x, y, z, mtf::visible::causal(), 0.6));
  FUZZ_OF_THREE((abc, ab, arg<T, b>), define::rotary(1, false), mtf::rotary<b>(x, y, z));
  FUZZ_OF_THREE((ab, ab, arg<T, a>), define::rotary(0, true), (mtf::rotary<a, mtf::rotary_pairs::neighbours>(x, y, z)));
  FUZZ_OF_THREE((ab, arg<T, b>, arg<T, b>), define::layer_norm(1, 0.1), mtf::layer_norm<b>(x, y, z, 0.1));
  FUZZ_OF_THREE((abc, arg<T, a>, arg<T, a>), define::layer_norm(0, 0.1), mtf::layer_norm<a>(x, y, z, 0.1));
  FUZZ_OF_TWO((bc, arg<T, c>), define::rms_norm(2, 0.1), mtf::rms_norm<c>(x, y, 0.1));
  FUZZ_OF_TWO((ab, arg<T, a>), define::rms_norm(0, 0.1), mtf::rms_norm<a>(x, y, 0.1));
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>), define::cross_entropy(1), mtf::cross_entropy<b>(x, y));
  FUZZ_OF_TWO((bc, arg<std::int32_t, a>), define::embedding(1), mtf::embedding<b>(x, y));
  using ac = arg<T, a, c>;
  using starts = arg<std::int32_t, a>;
  FUZZ_OF_TWO((ac, starts), define::slice(0, 1), mtf::slice<a, b>(x, mtf::reduce_max<a>(y)));
  FUZZ_OF_THREE((ac, bc, starts), define::update(0, 1), mtf::update<a, b>(x, y, mtf::reduce_max<a>(z)));
  FUZZ_OF_ONE((ac), define::top_k(0, 1), std::get<0>(mtf::top_k<a, b>(x)));
  FUZZ_OF_ONE((ab), define::dropout(0.4, mtf::random_key(5).bits()), mtf::dropout(x, 0.4, mtf::random_key(5)));
  FUZZ_OF_ONE((abc), define::dropout(0.25, mtf::random_key(6).bits()), mtf::dropout(x, 0.25, mtf::random_key(6)));
  if constexpr (std::is_same_v<T, double>) {  // of what is large
    using aw = arg<T, a, wide>;
    FUZZ_OF_TWO((aw, arg<T, wide>), define::rms_norm(5, 0.1), mtf::rms_norm<wide>(x, y, 0.1));
    FUZZ_OF_ONE((aw), define::dropout(0.5, mtf::random_key(7).bits()), mtf::dropout(x, 0.5, mtf::random_key(7)));
  }
}
template void add_nn<double>(table&);
template void add_nn<float>(table&);
template void add_nn<mtf::bfloat16>(table&);

template <class T>
void add_created(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  FUZZ_OF_ONE((ab), define::constant([](std::size_t, define::position const&) { return 0.5; }),
              mtf::full<first_layout<std::remove_cvref_t<decltype(x)>>>(x.backend(), 0.5));
  FUZZ_OF_ONE((arg<T, b>), define::constant([](std::size_t, define::position const&) { return 1; }),
              mtf::ones<first_layout<std::remove_cvref_t<decltype(x)>>>(x.backend()));
  FUZZ_OF_ONE((ab), define::constant([](std::size_t, define::position const& p) { return p[0]; }),
              mtf::iota<a, first_layout<std::remove_cvref_t<decltype(x)>>>(x.backend()));
  FUZZ_OF_ONE((arg<T, a, k>),
              define::constant([](std::size_t, define::position const& p) { return p[4] <= p[0] ? 1 : 0; }),
              mtf::attention_mask<a, k, mtf::any_layout<0>>(x.backend(), mtf::visible::causal()));
  FUZZ_OF_ONE(
      (arg<T, a, k>), define::constant([](std::size_t, define::position const& p) {
        return (p[4] <= p[0] + 1 && p[4] > p[0] - 1) || p[4] < 1 ? 1 : 0;
      }),
      mtf::attention_mask<a, k, mtf::any_layout<0>>(x.backend(), mtf::visible::window(2, 1) | mtf::visible::prefix(1)));
  FUZZ_OF_ONE((bc), define::constant([](std::size_t, define::position const&) { return 0; }),
              mtf::zeros<first_layout<std::remove_cvref_t<decltype(x)>>>(x.backend()));
  FUZZ_OF_ONE((arg<T, a, c>), define::uniform(mtf::random_key(8).bits()),
              mtf::random_uniform<first_layout<std::remove_cvref_t<decltype(x)>>>(x.backend(), mtf::random_key(8)));
  FUZZ_OF_ONE(
      (ab), define::normal(mtf::random_key(9).bits(), 0.5, 0.25),
      mtf::random_normal<first_layout<std::remove_cvref_t<decltype(x)>>>(x.backend(), mtf::random_key(9), 0.5, 0.25));
  FUZZ_OF_ONE(
      (bc), define::truncated_normal(mtf::random_key(10).bits()),
      mtf::random_truncated_normal<first_layout<std::remove_cvref_t<decltype(x)>>>(x.backend(), mtf::random_key(10)));
  // To the host and back, under another layout; alike on all ranks.
  FUZZ_OF_ONE((ab), define::stopped(), through_host<0>(x));
  FUZZ_OF_ONE((bc), define::stopped(), through_host<1>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, a, b, c>), define::stopped(), through_host<2>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T>), define::stopped(), through_host<0>(x));
}
template void add_created<double>(table&);
template void add_created<float>(table&);
template void add_created<mtf::bfloat16>(table&);

}  // namespace fuzz
