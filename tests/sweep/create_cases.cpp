// Tensors from nothing: numbers, positions, random numbers; to and from the host.
#include <mtf/ops/create.hpp>
#include <mtf/ops/nn/positions.hpp>
#include "../definitions/movement.hpp"
#include "../definitions/nn.hpp"
#include "entry.hpp"

namespace sweep {

namespace {

/// A tensor over a, b, c (or b, e) that the operation creates; under a layout that does not fit it is refused before.
#define SWEEP_CREATES(NAME, DIMS, MORE, ...)                                                     \
  struct NAME {                                                                                  \
    SWEEP_HEAD(NAME, ())                                                                         \
    static constexpr set more_dims = MORE;                                                       \
    template <class Case>                                                                        \
    static auto call(backend& on) {                                                              \
      using shape = mtf::shape<SWEEP_DIMS DIMS>;                                                 \
      using layout = typename Case::layout;                                                      \
      if constexpr (!mtf::tensor_verdict_t<shape, layout>::value) {                              \
        return mtf::refused{};                                                                   \
      } else {                                                                                   \
        using X [[maybe_unused]] = mtf::tensor<element, shape, layout, mtf::partial<>, backend>; \
        return __VA_ARGS__;                                                                      \
      }                                                                                          \
    }                                                                                            \
  };
#define SWEEP_DIMS(...) __VA_ARGS__
constexpr set abc = bit(0) | bit(1) | bit(2);

/// What from_global is given.
std::span<element const> given() {
  static std::vector<element> const all = [] {
    std::vector<element> y;
    for (std::size_t i = 0; i < A * B * C; ++i) y.push_back(from_double<element>(static_cast<double>(i * i % 1009)));
    return y;
  }();
  return all;
}

SWEEP_CREATES(full, (a, b, c), abc, mtf::full<X>(on, 2.5))
SWEEP_CREATES(zeros, (a, b, c), abc, mtf::zeros<X>(on))
SWEEP_CREATES(ones, (a, b, c), abc, mtf::ones<X>(on))
SWEEP_CREATES(iota, (a, b, c), abc, mtf::iota<b, X>(on))
SWEEP_CREATES(mask, (b, e), bit(1) | bit(4), mtf::attention_mask<b, e, layout>(on, mtf::visible::causal()))
SWEEP_CREATES(band, (b, e), bit(1) | bit(4),
              mtf::attention_mask<b, e, layout>(on, mtf::visible::window(5, 2) | mtf::visible::prefix(3)))
SWEEP_CREATES(from_global, (a, b, c), abc, mtf::from_global<X>(on, given()))
SWEEP_CREATES(from_rows, (a, b, c), abc,
              mtf::from_rows<X>(on, [](std::int64_t row, std::int64_t column, std::span<element> to) {
                auto const at = static_cast<std::size_t>(row) * C + static_cast<std::size_t>(column);
                std::copy_n(given().begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.begin());
              }))
SWEEP_CREATES(uniform, (a, b, c), abc, mtf::random_uniform<X>(on, mtf::random_key(3), -1, 3))
SWEEP_CREATES(normal, (a, b, c), abc, mtf::random_normal<X>(on, mtf::random_key(4), 1, 2))
SWEEP_CREATES(truncated, (a, b, c), abc, mtf::random_truncated_normal<X>(on, mtf::random_key(6), 1, 2))

SWEEP_CREATES(slopes, (b), bit(1), mtf::alibi_slopes<b, layout, element>(on))
SWEEP_CREATES(slopes_bias, (c, b, e), bit(1) | bit(2) | bit(4), mtf::alibi_bias<c, b, e, layout, element>(on, 2))
SWEEP_CREATES(buckets, (b, e), bit(1) | bit(4), mtf::relative_position_bucket<b, e, layout>(on, {true, 8, 7}, 1))
SWEEP_CREATES(buckets_before, (a, b), bit(0) | bit(1), mtf::relative_position_bucket<a, b, layout>(on, {false, 6, 20}))
SWEEP_CREATES(waves, (b, d), bit(1) | bit(3), mtf::sinusoids<b, d, layout, element>(on))
SWEEP_CREATES(waves_in_halves, (a, d), bit(0) | bit(3),
              mtf::sinusoids<a, d, layout, element>(on, mtf::rotary_pairs::halves))

SWEEP_OF_ONE(full_like, (real<a, b, c>), mtf::full_like(x, 2.5))
SWEEP_OF_ONE(zeros_like, (real<b, a>), mtf::zeros_like(x))
SWEEP_OF_ONE(ones_like, (real<c>), mtf::ones_like(x))
SWEEP_OF_ONE(uniform_like, (real<a, b, c>), mtf::random_uniform_like(x, mtf::random_key(3), -1, 3))
SWEEP_OF_ONE(iota_like, (real<a, b, c>), mtf::iota<b>(x))

#ifndef MTF_SWEEP_VALUES
/// What arrives on the host of every rank, as a tensor again.
struct to_global {
  SWEEP_HEAD(to_global, (real<a, b, c>))
  template <class Case, class X>
  static auto call(backend& on, X const& x) {
    using whole_tensor =
        mtf::tensor<element, typename X::shape_type, mtf::layout<typename X::mesh_type>, mtf::partial<>, backend>;
    return mtf::from_global<whole_tensor>(on, mtf::to_global(x));
  }
};
struct item {
  SWEEP_HEAD(item, (real<>))
  template <class Case, class X>
  static auto call(backend& on, X const& x) {
    using whole_tensor =
        mtf::tensor<element, mtf::shape<>, mtf::layout<typename X::mesh_type>, mtf::partial<>, backend>;
    return mtf::full<whole_tensor>(on, to_double(mtf::item(x)));
  }
};
#endif

/// As the operand lies, but that it is not partial.
closed_form like() {
  return [](situation const& s) {
    answer a;
    a.out = s.in[0];
    a.out.partial = 0;
    a.gradients = {0};
    return a;
  };
}

template <class Op>
operation created(std::string name, documentation text, std::vector<int> out, define::definition definition) {
  return entry<Op>(std::move(name), std::move(text), std::move(definition), forms::created(std::move(out)));
}
define::definition filled(double n) {
  return define::constant([n](std::size_t, define::position const&) { return n; });
}

documentation text_of(std::vector<std::string> names, std::string call, std::string meaning) {
  return {.names = std::move(names),
          .call = std::move(call),
          .meaning = std::move(meaning),
          .forward = "nothing",
          .backward = "is a constant",
          .partial = "has no operands"};
}

}  // namespace

std::vector<operation> create_operations() {
  auto const numbers_text =
      text_of({"full", "zeros", "ones"}, "full<X>(backend, n), zeros<X>(backend), ones<X>(backend)",
              "Every element is the number.");
  auto const random_text =
      text_of({"random_uniform", "random_normal", "random_truncated_normal"},
              "random_uniform<X>(backend, key, low, high), random_normal<X>(backend, key, mean, stddev), "
              "random_truncated_normal<X>(...)",
              "Random numbers of the key and the element's position: the same for every layout.");
  auto const mask_text = text_of({"attention_mask"}, "attention_mask<query, key, layout>(backend, seen)",
                                 "Whether a query sees a key, of their positions: a tensor of bool.");
  auto const slopes_text = text_of({"alibi_slopes"}, "alibi_slopes<heads, layout>(backend)",
                                   "The slope of each head's bias (ALiBi), of any number of heads.");
  auto const bias_text =
      text_of({"alibi_bias"}, "alibi_bias<heads, query, key, layout>(backend, offset)",
              "Minus each head's slope times the distance of query and key: what ALiBi adds to scores.");
  auto const buckets_text = text_of(
      {"relative_position_bucket"},
      "relative_position_bucket<query, key, layout>(backend, {.bidirectional, .count, .max_distance}, offset)",
      "The bucket of the distance of query and key (T5), int32: `embedding` of it is the bias that is learned.");
  auto const waves_text = text_of({"sinusoids"}, "sinusoids<length, model, layout>(backend, pairs, offset)",
                                  "Sines and cosines of positions; a wavelength's two are neighbours, or in halves.");
  documentation const like_text{.names = {"full_like", "zeros_like", "ones_like", "random_uniform_like", "iota"},
                                .call =
                                    "full_like(x, n), zeros_like(x), ones_like(x), random_uniform_like(x, key, "
                                    "low, high), iota<dim>(x)",
                                .meaning = "The same of a tensor like x, which is not partial.",
                                .forward = "nothing",
                                .backward = "is a constant",
                                .partial = "only say how it lies"};
  std::vector<int> const dims{0, 1, 2};
  using define::constant, define::position;
  auto const given_at = [](std::size_t i, position const&) { return to_double(given()[i]); };
  auto const key = [](std::uint64_t seed) { return mtf::random_key(seed).bits(); };
  std::vector<operation> ops{
      created<full>("full<X>(2.5)", numbers_text, dims, filled(2.5)),
      created<zeros>("zeros<X>()", numbers_text, dims, filled(0)),
      created<ones>("ones<X>()", numbers_text, dims, filled(1)),
      created<iota>("iota<b, X>()", text_of({"iota"}, "iota<dim, X>(backend)", "The position along the dimension."),
                    dims, constant([](std::size_t, position const& p) { return p[1]; })),
      created<mask>("attention_mask<b, e, layout>(causal)", mask_text, {1, 4},
                    constant([](std::size_t, position const& p) { return p[4] <= p[1] ? 1 : 0; })),
      created<band>("attention_mask<b, e, layout>(window, prefix)", mask_text, {1, 4},
                    constant([](std::size_t, position const& p) {
                      return (p[4] <= p[1] + 2 && p[4] + 3 > p[1]) || p[4] < 3 ? 1 : 0;
                    })),
      created<from_global>("from_global<X>(numbers)",
                           text_of({"from_global"}, "from_global<X>(backend, numbers)",
                                   "The global tensor whose elements, row-major, are given alike on every rank."),
                           dims, constant(given_at)),
      created<from_rows>(
          "from_rows<X>(fill)",
          text_of({"from_rows"}, "from_rows<X>(backend, fill)",
                  "The tensor whose rows a function fills; each rank calls it for its own shard's alone."),
          dims, constant(given_at)),
      created<uniform>("random_uniform<X>(key, -1, 3)", random_text, dims, define::uniform(key(3), -1, 3)),
      created<normal>("random_normal<X>(key, 1, 2)", random_text, dims, define::normal(key(4), 1, 2)),
      created<truncated>("random_truncated_normal<X>(key, 1, 2)", random_text, dims,
                         define::truncated_normal(key(6), 1, 2)),
      created<slopes>("alibi_slopes<b, layout>()", slopes_text, {1}, define::alibi_slopes(1, static_cast<int>(B))),
      created<slopes_bias>("alibi_bias<c, b, e, layout>(offset)", bias_text, {2, 1, 4},
                           define::alibi_bias(2, static_cast<int>(C), 1, 4, 2)),
      created<buckets>("relative_position_bucket<b, e, layout>(both)", buckets_text, {1, 4},
                       define::relative_position_bucket(1, 4, true, 8, 7, 1)),
      created<buckets_before>("relative_position_bucket<a, b, layout>(before)", buckets_text, {0, 1},
                              define::relative_position_bucket(0, 1, false, 6, 20, 0)),
      created<waves>("sinusoids<b, d, layout>()", waves_text, {1, 3},
                     define::sinusoids(1, 3, static_cast<int>(D), false)),
      created<waves_in_halves>("sinusoids<a, d, layout>(halves)", waves_text, {0, 3},
                               define::sinusoids(0, 3, static_cast<int>(D), true)),
      entry<full_like>("full_like(x, 2.5)", like_text, filled(2.5), like()),
      entry<zeros_like>("zeros_like(x[b, a])", like_text, filled(0), like()),
      entry<ones_like>("ones_like(x[c])", like_text, filled(1), like()),
      entry<uniform_like>("random_uniform_like(x, key, -1, 3)", like_text, define::uniform(key(3), -1, 3), like()),
      entry<iota_like>("iota<b>(x)", like_text, constant([](std::size_t, position const& p) { return p[1]; }), like()),
#ifndef MTF_SWEEP_VALUES  // their results' layout is a type
      entry<to_global>("to_global(x)",
                       {.names = {"to_global"},
                        .call = "to_global(x)",
                        .meaning = "All elements on the host of every rank.",
                        .forward = "one all-gather over all axes that split a dimension",
                        .backward = "has no gradient",
                        .partial = "reduced"},
                       define::same(), forms::gathered()),
      entry<item>("item(x)",
                  {.names = {"item"},
                   .call = "item(x)",
                   .meaning = "The number in a tensor without dimensions.",
                   .forward = "nothing",
                   .backward = "has no gradient",
                   .partial = "reduced"},
                  define::same(), forms::complete()),
#endif
  };
  for (auto& op : ops) op.differentiable = false;
  return ops;
}

}  // namespace sweep
