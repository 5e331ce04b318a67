#pragma once
// Differentiable operations, nearly all of them, each as a function of a small structure of tensors. The local tests
// check their gradients against central differences. (tests/sweep checks that no layout changes a result or a
// gradient.)
#include <mtf/mtf.hpp>

#include <cstdint>
#include <vector>

namespace cases {

struct a : mtf::dim<"a", 4> {};
struct b : mtf::dim<"b", 6> {};
struct c : mtf::dim<"c", 8> {};
struct d : mtf::dim<"d", 2> {};
struct e : mtf::dim<"e", 6> {};  // b under another name
struct v : mtf::dim<"v", 12> {};

template <template <class...> class Tensor>
struct one {
  Tensor<a, b, c> x;
  MTF_FIELDS(x);
};
template <template <class...> class Tensor>
struct two {
  Tensor<a, b, c> x, y;
  MTF_FIELDS(x, y);
};
template <template <class...> class Tensor>
struct broadcasts {
  Tensor<a, b, c> x;
  Tensor<c> row;
  Tensor<b, a> swapped;
  Tensor<> scalar;
  MTF_FIELDS(x, row, swapped, scalar);
};
template <template <class...> class Tensor>
struct products {
  Tensor<a, b, c> x;
  Tensor<c, d> w;
  Tensor<c, d, b> u;
  Tensor<d, v> z;
  MTF_FIELDS(x, w, u, z);
};
template <template <class...> class Tensor>
struct projected {
  Tensor<a, b, c> x;
  Tensor<c, d> w;
  Tensor<d> bias;
  Tensor<b, d> later;
  MTF_FIELDS(x, w, bias, later);
};
template <template <class...> class Tensor>
struct normed {
  Tensor<a, b, c> x;
  Tensor<c> gamma, beta;
  Tensor<b> gamma_b, beta_b;
  MTF_FIELDS(x, gamma, beta, gamma_b, beta_b);
};
template <template <class...> class Tensor>
struct classes {
  Tensor<a, b, v> logits;
  Tensor<a, v, b> inner;
  MTF_FIELDS(logits, inner);
};
template <template <class...> class Tensor>
struct lookup {
  Tensor<v, c> table;
  Tensor<c, v> swapped;
  MTF_FIELDS(table, swapped);
};
template <template <class...> class Tensor>
struct scores {
  Tensor<a, d, b, e> x;
  Tensor<a, e, d, b> turned;
  MTF_FIELDS(x, turned);
};

template <template <class...> class Tensor>
struct sequences {
  Tensor<a, b, d, c> q;
  Tensor<a, e, d, c> k;
  Tensor<d, e, a, c> v;
  MTF_FIELDS(q, k, v);
};
template <template <class...> class Tensor>
struct turned_sequences {
  Tensor<c, b, a> q;
  Tensor<a, c, e> k;
  Tensor<e, c, a> v;
  MTF_FIELDS(q, k, v);
};

/// A function of one's own, fused and differentiated by dual numbers.
struct fused {
  template <class X, class Y, class Z>
  MTF_FUNCTION auto operator()(X x, Y y, Z z) const {
    return mtf::math::silu(x * y) + mtf::math::tanh(z) * x;
  }
};

/// What a case may need besides its tensors: integers, under the layout that is tested.
template <class Place, class Backend>
struct surroundings {
  Backend& machine;

  /// Pseudo-random numbers in [0, below), the same for every layout.
  template <class... D>
  auto integers(std::int32_t below) const {
    using X = typename Place::template rebound<std::int32_t>::template tensor<D...>;
    std::vector<std::int32_t> all(static_cast<std::size_t>(X::shape_type::size));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::int32_t>(mtf::random_key(i).bits() % static_cast<std::uint64_t>(below));
    return mtf::from_global<X>(machine, all);
  }
};

/// Calls check.template operator()<Structure>(name, f) for every case; f(p, surroundings) returns a tensor.
template <class Check>
void elementwise(Check&& check) {
#define CASE(STRUCTURE, NAME, ...)                                                \
  check.template operator()<STRUCTURE>(NAME, [](auto const& p, auto const& env) { \
    (void)env;                                                                    \
    return __VA_ARGS__;                                                           \
  })
  CASE(two, "add", p.x + p.y);
  CASE(two, "subtract", p.x - p.y);
  CASE(two, "multiply", p.x * p.y);
  CASE(two, "divide", p.x / (mtf::square(p.y) + 1));
  CASE(one, "negate", -p.x);
  CASE(one, "numbers", (2 * p.x + 1) * 3 - 4 / (5 - p.x) + (p.x - 0.5) / 2);
  CASE(broadcasts, "broadcast row", p.x * p.row + p.row);
  CASE(broadcasts, "broadcast swapped", p.swapped * p.x);
  CASE(broadcasts, "broadcast scalar", p.x * p.scalar + p.scalar);
  CASE(broadcasts, "broadcast by name", mtf::broadcast<c, a>(p.row) * mtf::sum<b>(p.x));
  CASE(one, "exp", mtf::exp(p.x));
  CASE(one, "log", mtf::log(mtf::square(p.x) + 1));
  CASE(one, "sqrt", mtf::sqrt(mtf::square(p.x) + 1));
  CASE(one, "rsqrt", mtf::rsqrt(mtf::square(p.x) + 1));
  CASE(one, "tanh", mtf::tanh(p.x));
  CASE(one, "relu", mtf::relu(p.x));
  CASE(one, "gelu", mtf::gelu(p.x));
  CASE(one, "silu", mtf::silu(p.x));
  CASE(one, "sigmoid", mtf::sigmoid(p.x));
  CASE(one, "square", mtf::square(p.x));
  CASE(one, "abs", mtf::abs(p.x));
  CASE(two, "max", mtf::max(p.x, p.y));
  CASE(two, "min", mtf::min(p.x, p.y));
  CASE(two, "pow", mtf::pow(mtf::square(p.x) + 1, p.y));
  CASE(one, "pow number", mtf::pow(mtf::square(p.x) + 1, 1.5));
  CASE(one, "clip", mtf::clip(p.x, -0.5, 0.5));
  CASE(two, "where less", mtf::where(p.x < p.y, p.x * p.y, p.y));
  CASE(two, "where greater", mtf::where(p.x > 0.25, mtf::exp(p.x), p.y));
  CASE(two, "where equal", mtf::where(p.x == p.y, p.x, p.y) + mtf::where(p.x != p.y, p.x, p.y));
  CASE(two, "where at least", mtf::where(p.x >= p.y, p.x, 2 * p.y) + mtf::where(p.x <= p.y, p.x, 2 * p.y));
  CASE(broadcasts, "fused", mtf::map(fused{}, p.x, p.row, p.swapped));
  CASE(two, "stop_gradient", p.x * mtf::stop_gradient(p.y + p.x) + p.y);
  CASE(one, "used twice", mtf::exp(p.x) * p.x + mtf::sum<c>(p.x) * p.x);
}

template <class Check>
void contractions(Check&& check) {
  CASE(products, "einsum", mtf::einsum<a, b, d>(p.x, p.w));
  CASE(products, "einsum, output order", mtf::einsum<d, b, a>(p.x, p.w));
  CASE(products, "einsum, two contracted", mtf::einsum<a, d>(p.x, p.u));
  CASE(products, "einsum, batched", mtf::einsum<b, a, d>(p.x, p.u));
  CASE(products, "einsum of three", mtf::einsum<a, v>(p.x, p.u, p.z));
  CASE(products, "einsum of four", mtf::einsum<b, v>(p.x, p.w, p.z, p.u));
  CASE(products, "einsum, elementwise", mtf::einsum<c, d, b>(p.w, p.u));
  CASE(products, "einsum, outer", mtf::einsum<a, v, b>(mtf::einsum<a, b>(p.x), mtf::einsum<v>(p.z)));
  CASE(products, "einsum of one", mtf::einsum<b, a>(p.x));
  CASE(projected, "linear", mtf::linear<a, b, d>(p.x, p.w, p.bias));
  CASE(projected, "linear, bias not of its rows", mtf::linear<a, b, d>(p.x, p.w, p.later));
  CASE(products, "einsum to a scalar", mtf::einsum<>(p.x, p.u));
  CASE(products, "einsum, partial operand", mtf::einsum<a, v>(mtf::einsum<a, d>(p.x, p.u), p.z));
  CASE(products, "partial sums", mtf::einsum<a, b, d>(p.x, p.w) * 2 + mtf::einsum<a, b, d>(p.x, p.w));
  CASE(products, "partial times tensor", mtf::einsum<a, b, d>(p.x, p.w) * mtf::sum<v>(p.z));
  CASE(products, "partial over complete", mtf::einsum<a, b, d>(p.x, p.w) / (mtf::square(mtf::sum<v>(p.z)) + 1));
}

template <class Check>
void reductions(Check&& check) {
  CASE(one, "sum", mtf::sum<b>(p.x));
  CASE(one, "sum of two", mtf::sum<a, c>(p.x));
  CASE(one, "sum of all", mtf::sum(p.x));
  CASE(one, "mean", mtf::mean<c>(p.x));
  CASE(one, "mean of all", mtf::mean(mtf::square(p.x)));
  CASE(one, "reduce_max", mtf::reduce_max<b>(p.x));
  CASE(one, "reduce_max of two", mtf::reduce_max<a, c>(p.x));
  CASE(one, "reduce_min", mtf::reduce_min<c>(p.x));
  CASE(one, "logsumexp", mtf::logsumexp<c>(3 * p.x));
  CASE(one, "logsumexp, outer", mtf::logsumexp<a>(p.x));
  CASE(one, "softmax", mtf::softmax<c>(p.x, 2.0));
  CASE(one, "softmax, inner stride", mtf::softmax<b>(p.x));
  CASE(one, "log_softmax", mtf::log_softmax<c>(p.x));
  CASE(one, "log_softmax, inner stride", mtf::log_softmax<a>(p.x));
  CASE(scores, "masked_softmax", mtf::masked_softmax<b, e>(p.x, mtf::visible::causal(), 1.5));
  CASE(scores, "masked_softmax, turned", mtf::masked_softmax<b, e>(p.turned, mtf::visible::causal()));
  CASE(sequences, "attention", mtf::attention<b, e, c>(p.q, p.k, p.v, mtf::visible::causal(), 0.7));
  CASE(turned_sequences, "attention, turned", mtf::attention<b, e, c>(p.q, p.k, p.v, mtf::visible::causal(), -1.3));
  CASE(sequences, "attention to itself",
       mtf::attention<b, e, c>(p.q, mtf::rename<b, e>(p.q), mtf::rename<b, e>(p.q), mtf::visible::causal(), 0.7));
  CASE(normed, "layer_norm", mtf::layer_norm<c>(p.x, p.gamma, p.beta));
  CASE(normed, "layer_norm, inner stride", mtf::layer_norm<b>(p.x, p.gamma_b, p.beta_b));
  CASE(normed, "rms_norm", mtf::rms_norm<c>(p.x, p.gamma));
  CASE(normed, "rms_norm, inner stride", mtf::rms_norm<b>(p.x, p.gamma_b));
  // The sum's gradient lies in x's slot before the norm's comes, in memory that it shares, or not.
  CASE(normed, "layer_norm beside a residual", p.x + mtf::layer_norm<c>(p.x, p.gamma, p.beta));
  CASE(normed, "layer_norm, inner stride, beside a product", 2.0 * p.x * mtf::layer_norm<b>(p.x, p.gamma_b, p.beta_b));
  CASE(normed, "rms_norm beside a product", 2.0 * p.x * mtf::rms_norm<c>(p.x, p.gamma));
  CASE(classes, "cross_entropy", mtf::cross_entropy<v>(3 * p.logits, env.template integers<a, b>(v::extent)));
  CASE(classes, "cross_entropy, inner stride", mtf::cross_entropy<v>(p.inner, env.template integers<b, a>(v::extent)));
}

template <class Check>
void movements(Check&& check) {
  CASE(lookup, "embedding", mtf::embedding<v>(p.table, env.template integers<a, b>(v::extent)));
  CASE(lookup, "embedding, table turned", mtf::embedding<v>(p.swapped, env.template integers<b>(v::extent)));
  CASE(one, "rename", mtf::rename<b, e>(p.x) * 2);
  CASE(one, "rename to meet itself", mtf::einsum<a, b, e>(p.x, mtf::rename<b, e>(p.x)));
  CASE(one, "transpose", mtf::exp(mtf::transpose<c, a, b>(p.x)));
  CASE(one, "cast", mtf::cast<double>(mtf::cast<double>(p.x)) * 2);
  CASE(one, "dropout", mtf::dropout(p.x, 0.4, mtf::random_key(3)));
  CASE(products, "dropout of a partial tensor", mtf::dropout(mtf::einsum<a, b, d>(p.x, p.w), 0.4, mtf::random_key(4)));
  CASE(scores, "masked by hand",
       mtf::softmax<e>(mtf::where(mtf::attention_mask<b, e, typename std::remove_cvref_t<decltype(p.x)>::layout_type>(
                                      env.machine, mtf::visible::causal()),
                                  p.x, -20 + 0 * p.x)));
#undef CASE
}

template <class Check>
void all(Check&& check) {
  elementwise(check);
  contractions(check);
  reductions(check);
  movements(check);
}

/// One number that depends on every element of x, each with a weight of its own.
template <class X>
auto weighted_sum(X const& x) {
  using whole = std::remove_cvref_t<decltype(mtf::complete(x))>;
  return mtf::sum(x * mtf::random_uniform<whole>(x.backend(), mtf::random_key(99), 0.5, 1.5));
}

template <class Parameters, class Backend>
Parameters inputs(Backend& machine) {
  Parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_uniform<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(7).of(name), -1, 1);
      },
      p);
  return p;
}

}  // namespace cases
