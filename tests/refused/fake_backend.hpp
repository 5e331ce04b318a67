#pragma once
// A backend that offers every call of the kernels and defines none: enough to instantiate operations, not to run them.
#include <cstddef>

#include <mtf/collectives.hpp>

struct fake_backend {
  mtf::collectives& ranks() const;
  void* allocate(std::size_t bytes);
  void release(void* memory, std::size_t bytes);

#define FAKE_CALL(NAME)    \
  template <class... Args> \
  void NAME(Args const&...);
  FAKE_CALL(to_host)
  FAKE_CALL(from_host)
  FAKE_CALL(all_reduce)
  FAKE_CALL(reduce_scatter)
  FAKE_CALL(all_gather)
  FAKE_CALL(all_to_all)
  FAKE_CALL(permute)
  FAKE_CALL(copy)
  FAKE_CALL(fill)
  FAKE_CALL(iota)
  FAKE_CALL(add)
  FAKE_CALL(map)
  FAKE_CALL(map_vjp)
  FAKE_CALL(reduce)
  FAKE_CALL(contract)
  FAKE_CALL(take_rows)
  FAKE_CALL(add_rows)
  FAKE_CALL(row_max)
  FAKE_CALL(row_sum)
  FAKE_CALL(row_dot)
  FAKE_CALL(row_exp_sum)
  FAKE_CALL(row_square_sum)
  FAKE_CALL(rows_statistics)
  FAKE_CALL(softmax)
  FAKE_CALL(softmax_apply)
  FAKE_CALL(softmax_vjp)
  FAKE_CALL(softmax_vjp_apply)
  FAKE_CALL(log_softmax)
  FAKE_CALL(log_softmax_apply)
  FAKE_CALL(log_softmax_vjp)
  FAKE_CALL(log_softmax_vjp_apply)
  FAKE_CALL(logsumexp)
  FAKE_CALL(logsumexp_finish)
  FAKE_CALL(logsumexp_vjp)
  FAKE_CALL(cross_entropy)
  FAKE_CALL(cross_entropy_local)
  FAKE_CALL(cross_entropy_finish)
  FAKE_CALL(cross_entropy_vjp)
  FAKE_CALL(dropout)
  FAKE_CALL(random_uniform)
  FAKE_CALL(random_normal)
  FAKE_CALL(random_truncated_normal)
  FAKE_CALL(square_sum)
  FAKE_CALL(adamw)
  FAKE_CALL(sgd)
#undef FAKE_CALL

#define FAKE_NORM(NAME)                   \
  template <bool Centered, class... Args> \
  void NAME(Args const&...);
  FAKE_NORM(norm)
  FAKE_NORM(norm_apply)
  FAKE_NORM(norm_vjp)
  FAKE_NORM(norm_vjp_sums)
  FAKE_NORM(norm_vjp_apply)
#undef FAKE_NORM
};
