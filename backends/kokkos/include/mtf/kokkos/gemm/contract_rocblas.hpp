#pragma once
// Matrix products on HIP: rocBLAS. The only file that knows it.
#include <rocblas/rocblas.h>

#include <stdexcept>
#include <string>

#include <mtf/kokkos/gemm/contract_columns.hpp>

namespace mtf::kokkos {

template <class T>
inline constexpr rocblas_datatype rocblas_type = std::is_same_v<T, double>  ? rocblas_datatype_f64_r
                                                 : std::is_same_v<T, float> ? rocblas_datatype_f32_r
                                                                            : rocblas_datatype_bf16_r;

template <class Exec>
class contractor {
 public:
  static constexpr bool adds_bias = false;
  contractor() { check(rocblas_create_handle(&handle_), "rocblas_create_handle"); }
  ~contractor() { rocblas_destroy_handle(handle_); }
  contractor(contractor const&) = delete;
  contractor& operator=(contractor const&) = delete;

  template <class T>
  void contract(device<Exec>& on, contraction const& what, T const* a, T const* b, T* c, bool accumulate) {
    if (what.batch.size() * what.m * what.n == 0) return;
    check(rocblas_set_stream(handle_, on.exec.hip_stream()), "rocblas_set_stream");
    batch_split const batch(what.batch);
    column_operand const first = first_operand(what), second = second_operand(what);
    using scalar = compute_t<T>;
    scalar const alpha = 1, beta = accumulate ? 1 : 0;
    auto const narrow = [](index x) { return static_cast<rocblas_int>(x); };
    auto const transposed = [](column_operand const& x) {
      return x.plain ? rocblas_operation_none : rocblas_operation_transpose;
    };
    auto const c_leading = narrow(std::max(what.n, what.c_m));
    for (index i = 0; i < batch.calls; ++i) {
      index at[3];
      batch.outer.locate(i, at);
      check(rocblas_gemm_strided_batched_ex(
                handle_, transposed(first), transposed(second), narrow(what.n), narrow(what.m), narrow(what.k), &alpha,
                b + at[1], rocblas_type<T>, narrow(first.leading), batch.stride[1], a + at[0], rocblas_type<T>,
                narrow(second.leading), batch.stride[0], &beta, c + at[2], rocblas_type<T>, c_leading, batch.stride[2],
                c + at[2], rocblas_type<T>, c_leading, batch.stride[2], narrow(batch.count), rocblas_type<scalar>,
                rocblas_gemm_algo_standard, 0, 0),
            "rocblas_gemm_strided_batched_ex");
    }
  }

 private:
  static void check(rocblas_status status, char const* what) {
    if (status != rocblas_status_success)
      throw std::runtime_error(std::string("mtf: rocBLAS failed in ") + what + ": " + rocblas_status_to_string(status));
  }

  rocblas_handle handle_{};
};

}  // namespace mtf::kokkos
