#pragma once
// What operations do at run time, forward and backward, depends on the backend and the element types alone, not on dims
// and layouts: a backend's compiled library has the commonest ones (see mtf/tensor/compiled.hpp). An operation that is
// not listed works as well; programs then compile it.
// IWYU pragma: begin_exports: the macros use them
#include <cstdint>

#include <mtf/detail/ops/operation.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/contraction/linear.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>
#include <mtf/ops/indexing/embedding.hpp>
#include <mtf/ops/movement/broadcast.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/nn/cross_entropy.hpp>
#include <mtf/ops/nn/dropout.hpp>
#include <mtf/ops/nn/norm.hpp>
#include <mtf/ops/nn/ring_attention.hpp>
#include <mtf/ops/nn/whole_attention.hpp>
#include <mtf/ops/reduction/reduce.hpp>
#include <mtf/ops/reduction/softmax.hpp>
// IWYU pragma: end_exports

// One operation, with a result and operands of these element types.
#define MTF_COMPILED_OPERATION_1(EACH, BACKEND, R, X, ...)                            \
  EACH mtf::detail::value<BACKEND, R> mtf::detail::run_on_data<R>(__VA_ARGS__ const&, \
                                                                  mtf::detail::value<BACKEND, X> const&);
#define MTF_COMPILED_OPERATION_2(EACH, BACKEND, R, X, Y, ...)      \
  EACH mtf::detail::value<BACKEND, R> mtf::detail::run_on_data<R>( \
      __VA_ARGS__ const&, mtf::detail::value<BACKEND, X> const&, mtf::detail::value<BACKEND, Y> const&);
#define MTF_COMPILED_OPERATION_3(EACH, BACKEND, R, X, Y, Z, ...)                                        \
  EACH mtf::detail::value<BACKEND, R> mtf::detail::run_on_data<R>(                                      \
      __VA_ARGS__ const&, mtf::detail::value<BACKEND, X> const&, mtf::detail::value<BACKEND, Y> const&, \
      mtf::detail::value<BACKEND, Z> const&);

// At global scope, where BACKEND is complete. EACH: `extern template` in programs, `template` in the library.
#define MTF_COMPILED_OPERATIONS(EACH, BACKEND, T)                                                                      \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::broadcast_operation<T>)                                   \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::dropout_operation<T>)                                     \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::extreme_operation<mtf::detail::reduce_by::max, T>)        \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::relayout_operation<T>)                                    \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::softmax_operation<T>)                                     \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::sum_operation<T>)                                         \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::transpose_operation<T>)                                   \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T,                                                                        \
                           mtf::detail::map_operation<mtf::functions::scale<mtf::compute_t<T>>, T, T>)                 \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::map_operation<mtf::functions::relu, T, T>)                \
  MTF_COMPILED_OPERATION_1(EACH, BACKEND, T, T, mtf::detail::map_operation<mtf::functions::gelu, T, T>)                \
  MTF_COMPILED_OPERATION_2(EACH, BACKEND, T, T, T, mtf::detail::map_operation<mtf::functions::add, T, T, T>)           \
  MTF_COMPILED_OPERATION_2(EACH, BACKEND, T, T, T, mtf::detail::map_operation<mtf::functions::subtract, T, T, T>)      \
  MTF_COMPILED_OPERATION_2(EACH, BACKEND, T, T, T, mtf::detail::map_operation<mtf::functions::multiply, T, T, T>)      \
  MTF_COMPILED_OPERATION_2(EACH, BACKEND, T, T, T, mtf::detail::einsum_operation<T>)                                   \
  MTF_COMPILED_OPERATION_2(EACH, BACKEND, T, T, T, mtf::detail::norm_operation<false, T>)                              \
  MTF_COMPILED_OPERATION_2(EACH, BACKEND, T, T, std::int32_t, mtf::detail::embedding_operation<T>)                     \
  MTF_COMPILED_OPERATION_2(EACH, BACKEND, mtf::compute_t<T>, T, std::int32_t, mtf::detail::cross_entropy_operation<T>) \
  MTF_COMPILED_OPERATION_3(EACH, BACKEND, T, T, T, T, mtf::detail::linear_operation<T>)                                \
  MTF_COMPILED_OPERATION_3(EACH, BACKEND, T, T, T, T, mtf::detail::norm_operation<true, T>)                            \
  MTF_COMPILED_OPERATION_3(EACH, BACKEND, T, T, T, T, mtf::detail::attention_operation<T>)                             \
  MTF_COMPILED_OPERATION_3(EACH, BACKEND, T, T, T, T, mtf::detail::ring_operation<T>)
