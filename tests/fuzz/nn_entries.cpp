// Attention, rotary positions, norms, the loss, embeddings, dropout; and tensors from nothing.
#include "../definitions/elementwise.hpp"
#include "../definitions/indexing.hpp"
#include "../definitions/movement.hpp"
#include "../definitions/nn.hpp"
#include "table.hpp"
#include "through_host.hpp"

#include <mtf/ops/create.hpp>
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
  // Keys are values here; the third operand is a bias, or numbers of segments.
  auto const of_keys = [](define::attention_terms const& terms) -> define::definition {
    auto const means = define::attention(0, 4, 1, [](int i, int j) { return j <= i + 1; }, terms);
    return [means](define::tape& t, define::operands const& in, define::array& y) {
      means(t, {in[0], in[1], in[1], in[2]}, y);
    };
  };
  FUZZ_OF_THREE((abc, arg<T, k, b>, arg<T, a, k>), of_keys({.scale = 0.6, .soft_cap = 2, .bias = 3}),
                mtf::attention<a, k, b>(x, y, y, mtf::visible::causal(1),
                                        mtf::attention_options{.scale = 0.6, .soft_cap = 2}, mtf::attention_bias(z)));
  FUZZ_OF_THREE((abc, arg<T, k, b>, arg<std::int32_t, c>),
                of_keys({.scale = 0.6, .dropped = 0.5, .drop_key = mtf::random_key(3).bits(), .lengths = 3}),
                mtf::attention<a, k, b>(x, y, y, mtf::visible::causal(1),
                                        mtf::attention_options{.scale = 0.6, .dropout = 0.5, .key = mtf::random_key(3)},
                                        mtf::attention_lengths(z)));
  FUZZ_OF_THREE((abc, ab, arg<T, b>), define::rotary(1, false), mtf::rotary<b>(x, y, z));
  FUZZ_OF_THREE((ab, ab, arg<T, a>), define::rotary(0, true), (mtf::rotary<a, mtf::rotary_pairs::neighbours>(x, y, z)));
  FUZZ_OF_THREE((ab, arg<T, b>, arg<T, b>), define::layer_norm(1, 0.1), mtf::layer_norm<b>(x, y, z, 0.1));
  FUZZ_OF_THREE((abc, arg<T, a>, arg<T, a>), define::layer_norm(0, 0.1), mtf::layer_norm<a>(x, y, z, 0.1));
  FUZZ_OF_THREE((abc, arg<T, b>, arg<T, b>), define::batch_norm({0, 2}, 0.1),
                std::get<0>(mtf::batch_norm<a, c>(x, y, z, 0.1)));
  FUZZ_OF_THREE((arg<T, k, b>, arg<T, k>, arg<T, k>), define::group_norm(4, 1, {1}, 0.1),
                (mtf::group_norm<k, a, one, b>(x, y, z, 0.1)));
  FUZZ_OF_THREE((ab, arg<T, b>, arg<T, b>), define::batch_norm({0}, 0.1),
                std::get<0>(mtf::batch_norm<a>(x, y, z, 0.1)));
  FUZZ_OF_TWO((bc, arg<T, c>), define::rms_norm(2, 0.1), mtf::rms_norm<c>(x, y, 0.1));
  FUZZ_OF_TWO((ab, arg<T, a>), define::rms_norm(0, 0.1), mtf::rms_norm<a>(x, y, 0.1));
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>), define::cross_entropy(1), mtf::cross_entropy<b>(x, y));
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>), define::cross_entropy(1, 0.1, 0.3),
              mtf::cross_entropy<b>(x, y, {.label_smoothing = 0.1, .z_loss = 0.3}));
  FUZZ_OF_TWO((ab, arg<T, b>), define::pointwise(define::sigmoid_cross_entropy), mtf::sigmoid_cross_entropy(x, y));
  FUZZ_OF_TWO((ab, arg<bool, a, b>), define::pointwise(define::sigmoid_cross_entropy),
              mtf::sigmoid_cross_entropy(x, y));
  FUZZ_OF_TWO((ab, ab), define::gated([](tape& t, number x) { return t.sigmoid(x); }), mtf::glu(x, y));
  FUZZ_OF_TWO((bc, bc), define::gated(define::relu), mtf::reglu(x, y));
  FUZZ_OF_TWO((ab, arg<T, b>), define::gated(define::gelu), mtf::geglu(x, y));
  FUZZ_OF_TWO((abc, bc), define::gated(define::silu), mtf::swiglu(x, y));
  FUZZ_OF_TWO((bc, arg<std::int32_t, a>), define::embedding(1), mtf::embedding<b>(x, y));
  using ac = arg<T, a, c>;
  FUZZ_OF_THREE((ac, bc, arg<std::int32_t, a>), define::linear_cross_entropy(1), mtf::linear_cross_entropy<b>(x, y, z));
  using starts = arg<std::int32_t, a>;
  FUZZ_OF_TWO((ac, starts), define::slice(0, 1), mtf::slice<a, b>(x, mtf::reduce_max<a>(y)));
  FUZZ_OF_THREE((ac, bc, starts), define::update(0, 1), mtf::update<a, b>(x, y, mtf::reduce_max<a>(z)));
  using each_a = starts;
  using ca = arg<T, c, a>;
  using each = arg<std::int32_t, c>;
  FUZZ_OF_TWO((ca, each), define::slice(0, 1, {2}), mtf::slice<a, b>(x, y));
  FUZZ_OF_THREE((ca, bc, each), define::update(0, 1, {2}), mtf::update<a, b>(x, y, z));
  FUZZ_OF_ONE((ac), define::top_k(0, 1), std::get<0>(mtf::top_k<a, b>(x)));
  FUZZ_OF_ONE((ab), define::argmax(), mtf::argmax<b>(x));
  FUZZ_OF_ONE((ab), define::argmin(), mtf::argmin<b>(x));
  FUZZ_OF_ONE((ab), define::sort(1), mtf::sort<b>(x));
  FUZZ_OF_ONE((abc), define::sort(0), mtf::sort<a>(x));
  FUZZ_OF_ONE((ab), define::argsort(0), mtf::argsort<a>(x));
  FUZZ_OF_ONE((ab), define::categorical(mtf::random_key(13).bits(), 0.8),
              mtf::categorical<b>(x, mtf::random_key(13), 0.8));
  FUZZ_OF_TWO((ab, arg<T, a>), define::sample({.temperature = 0.9, .min_p = 0.17, .top_k = 3, .top_p = 0.83}),
              mtf::sample<b>(x, y, {.temperature = 0.9F, .min_p = 0.17F, .top_k = 3, .top_p = 0.83F}));
  FUZZ_OF_TWO((ab, each_a), define::gather(1), mtf::gather<b>(x, y));
  FUZZ_OF_TWO((bc, each_a), define::gather(1), mtf::gather<b>(x, y));
  FUZZ_OF_TWO((ac, each_a), define::scatter_add(1), mtf::scatter_add<b>(y, x));
  FUZZ_OF_TWO((ab, each_a), define::scatter_add(4), (mtf::segment_sum<a, k>(x, y)));
  FUZZ_OF_ONE((each_a), define::one_hot(1), (mtf::one_hot<b, T>(x)));
  FUZZ_OF_ONE((ab), define::dropout(0.4, mtf::random_key(5).bits()), mtf::dropout(x, 0.4, mtf::random_key(5)));
  FUZZ_OF_ONE((abc), define::dropout(0.25, mtf::random_key(6).bits()), mtf::dropout(x, 0.25, mtf::random_key(6)));
  FUZZ_OF_ONE((abc), define::shared_dropout(0.25, mtf::random_key(6).bits(), {1}),
              mtf::dropout<b>(x, 0.25, mtf::random_key(6)));
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
  FUZZ_OF_ONE((bc), define::constant([](std::size_t, define::position const& p) { return p[2]; }), mtf::iota<c>(x));
  FUZZ_OF_ONE((ab), define::constant([](std::size_t, define::position const&) { return 0.5; }), mtf::full_like(x, 0.5));
  FUZZ_OF_ONE((arg<T, b>), define::constant([](std::size_t, define::position const&) { return 0; }),
              mtf::zeros_like(x));
  FUZZ_OF_ONE((bc), define::constant([](std::size_t, define::position const&) { return 1; }), mtf::ones_like(x));
  FUZZ_OF_ONE((ab), define::uniform(mtf::random_key(7).bits(), -1, 1),
              mtf::random_uniform_like(x, mtf::random_key(7), -1, 1));
  FUZZ_OF_ONE((arg<T, a, k>),
              define::constant([](std::size_t, define::position const& p) { return p[4] <= p[0] ? 1 : 0; }),
              mtf::attention_mask<a, k, mtf::any_layout<0>>(x.backend(), mtf::visible::causal()));
  FUZZ_OF_ONE(
      (arg<T, a, k>), define::constant([](std::size_t, define::position const& p) {
        return (p[4] <= p[0] + 1 && p[4] > p[0] - 1) || p[4] < 1 ? 1 : 0;
      }),
      mtf::attention_mask<a, k, mtf::any_layout<0>>(x.backend(), mtf::visible::window(2, 1) | mtf::visible::prefix(1)));
  FUZZ_OF_ONE((arg<T, a, k>), define::relative_position_bucket(0, 4, true, 8, 5, 0),
              mtf::relative_position_bucket<a, k, mtf::any_layout<0>>(x.backend(), {true, 8, 5}));
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
