#pragma once
// Names that other libraries have and mtf has not: each says what to write instead, and nothing after it. A function of
// the user's own that bears such a name comes first: whatever is passed here is converted.
#include <type_traits>

#include <mtf/core/verdict.hpp>

namespace mtf {

namespace detail {

/// What is passed to a function that does not exist.
struct anything {
  template <class... Given>
  constexpr anything(Given const&...) {}  // NOLINT: implicit by purpose
};

}  // namespace detail

// With dimensions, with numbers, and with a dimension and numbers for template arguments.
#define MTF_NO_SUCH_NAME(NAME, SENTENCE)                                                                     \
  template <class... Named>                                                                                  \
  constexpr auto NAME(detail::anything const&, detail::anything const& = {}, detail::anything const& = {},   \
                      detail::anything const& = {}) {                                                        \
    static_assert(detail::never<Named...>, "mtf: there is no " #NAME ": " SENTENCE);                         \
    return refused{};                                                                                        \
  }                                                                                                          \
  template <auto First, auto... Numbers>                                                                     \
  constexpr auto NAME(detail::anything const& x, detail::anything const& = {}, detail::anything const& = {}, \
                      detail::anything const& = {}) {                                                        \
    return NAME<void, std::integral_constant<decltype(First), First>>(x);                                    \
  }                                                                                                          \
  template <class Named, auto First, auto... Numbers>                                                        \
  constexpr auto NAME(detail::anything const& x, detail::anything const& = {}, detail::anything const& = {}, \
                      detail::anything const& = {}) {                                                        \
    return NAME<Named>(x);                                                                                   \
  }
/// Is no function of mtf: refused, in a sentence that says what to write.
MTF_NO_SUCH_NAME(matmul, "write mtf::einsum<rows, columns>(a, b), whose result's dimensions say what is summed")
/// Is no function of mtf: refused, in a sentence that says what to write.
MTF_NO_SUCH_NAME(dot, "write mtf::einsum<>(a, b), which sums over all dimensions, or name those that are to stay")
/// Is no function of mtf: refused, in a sentence that says what to write.
MTF_NO_SUCH_NAME(scaled_dot_product_attention,
                 "write mtf::attention<query, key, head>(q, k, v, seen, scale), where seen is "
                 "mtf::visible::everything(), mtf::visible::causal() or another mtf::visible (mtf/ops/nn.hpp)")
/// Is no function of mtf: refused, in a sentence that says what to write.
MTF_NO_SUCH_NAME(
    reshape,
    "mtf::split_dim<hidden, heads, d_head>(x) makes two dimensions of one, "
    "mtf::merge_dims<heads, d_head, hidden>(x) one of two (mtf/ops/movement.hpp); mtf::rename<from, to>(x) "
    "gives one another name, mtf::transpose<dims...>(x) another order")
#undef MTF_NO_SUCH_NAME

}  // namespace mtf
