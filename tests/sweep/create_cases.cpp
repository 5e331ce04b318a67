// Tensors from nothing: numbers, positions, random numbers; to and from the host.
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
