#pragma once
// The backend of mtf for one rank's shard: Kokkos computes it, `ranks` moves data. All pointers are pointers of the
// execution space's memory. Work is asynchronous, in the order of one execution space instance. T: float, double or
// bfloat16; A: the type in which T is computed; sums are taken in A or wider. (docs/design.md, 6 and 7)
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include <mtf/backend/object_pool.hpp>

#include <mtf/kokkos/kernels/attention.hpp>
#include <mtf/kokkos/gemm/contract.hpp>
#include <mtf/kokkos/kernels/copy.hpp>
#include <mtf/kokkos/kernels/cross_entropy.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/kernels/embedding.hpp>
#include <mtf/kokkos/kernels/log_softmax.hpp>
#include <mtf/kokkos/kernels/map.hpp>
#include <mtf/kokkos/kernels/norm.hpp>
#include <mtf/kokkos/kernels/optimizer.hpp>
#include <mtf/kokkos/kernels/random.hpp>
#include <mtf/kokkos/runtime/rank.hpp>
#include <mtf/kokkos/kernels/reduce.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/kokkos/launch/row_view.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>

namespace mtf {

template <class Exec = Kokkos::DefaultExecutionSpace>
class kokkos_backend : public kokkos::kokkos_rank<Exec> {
  using rank = kokkos::kokkos_rank<Exec>;
  using rank::on_, rank::moving, rank::pass_, rank::profile_;
  template <class T>
  using compute = std::type_identity_t<compute_t<T>>;

 public:
  using index = backend::index;
  using rows = backend::rows;
  using causal_rule = backend::causal_rule;
  using placement = backend::placement;
  using execution_space = Exec;

  explicit kokkos_backend(mtf::collectives& ranks, Exec exec = Exec{}) : rank(ranks, std::move(exec)) {}
#if defined(KOKKOS_ENABLE_SERIAL)
  /// The backend of a rank that is one of many threads of a process, made by that thread: with an execution space
  /// instance of its own. For Kokkos::Serial, whatever the default execution space is.
  static kokkos_backend one_of_many(mtf::collectives& ranks)
    requires std::is_constructible_v<Exec, Kokkos::NewInstance>
  {
    return kokkos_backend(ranks, Exec(Kokkos::NewInstance{}));
  }
#endif

  /// Kokkos from construction to destruction: the first object of main(). Silent about what it would have otherwise, unless
  /// KOKKOS_DISABLE_WARNINGS=0 or --kokkos-disable-warnings=0 asks: errors are for the user to see, each rank's advice to
  /// set OMP_PROC_BIND is not. Nor can it be followed here, as OpenMP has read its environment when main() begins; mpirun
  /// binds ranks to cores, and their threads stay there.
  class session {
   public:
    session(int& argc, char** argv) {
      ::setenv("KOKKOS_DISABLE_WARNINGS", "1", 0);
      Kokkos::initialize(argc, argv);
    }
    ~session() { Kokkos::finalize(); }
    session(session const&) = delete;
    session& operator=(session const&) = delete;
  };

  /// Tensors on it have elements; mtf::trace is the backend of which that is not true.
  static constexpr bool holds_data = true;

  // Memory ------------------------------------------------------------------------------------------------------------

  using memory_use = mtf::memory_use;
  /// A block of at least `bytes`, aligned to 64 bytes.
  void* allocate(std::size_t bytes) { return on_.memory.allocate(bytes); }
  /// The block may be handed out again at once; work already launched still finds it intact.
  void release(void* p, std::size_t bytes) noexcept { on_.memory.release(p, bytes); }
  /// Memory for the library's own objects on the host.
  backend::object_pool& objects() { return objects_; }
  [[nodiscard]] memory_use memory() const { return on_.memory.use(); }
  /// From now on `peak` counts anew.
  void reset_peak() { on_.memory.reset_peak(); }

  /// Both return when the data has arrived.
  void to_host(void* host, void const* from, std::size_t bytes) { kokkos::to_host(on_.exec, host, from, bytes); }
  void from_host(void* to, void const* host, std::size_t bytes) { kokkos::from_host(on_.exec, to, host, bytes); }

  // Pointwise ---------------------------------------------------------------------------------------------------------

  /// out[0..n) = value.
  template <class T>
  void fill(T* out, index n, std::type_identity_t<T> value) {
    auto const noted = moving([&] { return kokkos::bytes<T>(n); });
    kokkos::for_elements("mtf::fill", on_.exec, n, kokkos::fill_body<T>{out, value});
  }
  /// out = in; operands (out, in), any strides; converts the element type.
  template <class To, class From>
  void copy(backend::loops<2> const& l, To* out, From const* in) {
    auto const noted = moving([&] { return kokkos::bytes<To>(l, 0) + kokkos::bytes<From>(l, 1); });
    kokkos::copy(on_, l, out, in);
  }
  /// out = f(in...); operands (out, in...). f sees compute types.
  template <class R, class F, class... T>
  void map(F f, backend::loops<1 + static_cast<int>(sizeof...(T))> const& l, R* out, T const*... in) {
    auto const noted = moving([&] { return kokkos::operand_bytes<R, T...>(l, std::index_sequence_for<R, T...>{}); });
    kokkos::map(on_, f, l, out, in...);
  }
  /// dx[i] = dy * (derivative of f in argument i), where it is wanted; dy has the strides of operand 0. dx[i] may be dy only
  /// if it is the last one wanted, and no row.
  template <class F, class T, class... Ts>
  void map_vjp(F f, backend::loops<1 + static_cast<int>(sizeof...(Ts))> const& l, std::array<backend::map_gradient, sizeof...(Ts)> dx,
               T const* dy, Ts const*... in) {
    auto const noted = moving([&] { return kokkos::bytes<T>(l, 0) + kokkos::vjp_bytes<Ts...>(l, dx, std::index_sequence_for<Ts...>{}); });
    kokkos::map_vjp(on_, f, l, dx, dy, in...);
  }
  /// inout += x.
  template <class T>
  void add(index n, T* inout, T const* x) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(n); });
    kokkos::for_elements("mtf::add", on_.exec, n, kokkos::add_body<T>{inout, x});
  }
  /// out[o, j, i] = j + offset, over r's [outer, n, inner]; T also an integer.
  template <class T>
  void iota(rows const& r, index offset, T* out) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    kokkos::for_elements("mtf::iota", on_.exec, r.outer * r.n * r.inner, kokkos::iota_body<T>{r, offset, out});
  }

  // Reductions and contractions ---------------------------------------------------------------------------------------

  /// out[kept] = op over the reduced loops of in, combined with out's value if `accumulate`.
  template <class T>
  void reduce(combine op, backend::reduction const& r, T* out, T const* in, bool accumulate = false) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r.kept, 0) + kokkos::bytes<T>(r.kept, 1) * static_cast<double>(r.reduced.size()); });
    kokkos::reduce(on_, op, r, out, in, accumulate);
  }
  /// *out += sum x^2.
  template <class T>
  void square_sum(index n, double* out, T const* x) {
    auto const noted = moving([&] { return kokkos::bytes<T>(n); });
    kokkos::square_sum(on_, n, out, x);
  }
  /// c[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n], added to c if `accumulate`. bias, one number for each
  /// column, is added to every row; not with batch loops, and not with `accumulate`.
  template <class T>
  void contract(backend::contraction const& what, T const* a, T const* b, T* c, bool accumulate = false,
                std::type_identity_t<T const*> bias = nullptr) {
    Kokkos::Profiling::ScopedRegion const region("mtf::contract");
    kokkos::timed<Exec> const noted(profile_, on_.exec, pass_, limit::matrix, what.flops(), 0);
    if constexpr (kokkos::contractor<Exec>::adds_bias) {
      contractor_.contract(on_, what, a, b, c, accumulate, bias);
    } else {
      if (bias != nullptr) kokkos::fill_rows(on_, what, c, bias);
      contractor_.contract(on_, what, a, b, c, accumulate || bias != nullptr);
    }
  }

  // Causal attention ---------------------------------------------------------------------------------------------------

  /// out = softmax(scale * q k^T) v over the keys that each query sees; lse, for the backward pass, has one A a query.
  template <class T>
  void attention(backend::attention_shape const& shape, compute<T> scale, T* out, compute<T>* lse, T const* q, T const* k,
                 T const* v) {
    kokkos::timed<Exec> const noted(profile_, on_.exec, pass_, limit::matrix, 2 * shape.flops(), 0);
    kokkos::attention(on_, contractor_, shape, scale, out, lse, q, k, v);
  }
  /// Gradients of attention, which are overwritten.
  template <class T>
  void attention_vjp(backend::attention_shape const& shape, compute<T> scale, T* dq, T* dk, T* dv, T const* q, T const* k,
                     T const* v, T const* out, compute<T> const* lse, T const* dout) {
    kokkos::timed<Exec> const noted(profile_, on_.exec, pass_, limit::matrix, 5 * shape.flops(), 0);
    kokkos::attention_vjp(on_, contractor_, shape, scale, dq, dk, dv, q, k, v, out, lse, dout);
  }

  // Softmax. Tensors [outer, n, inner]; statistics have one A a row ---------------------------------------------------

  /// y = softmax(scale * x) along n over the visible elements; hidden ones are 0, as are rows with nothing visible.
  template <class T>
  void softmax(rows r, compute<T> scale, causal_rule rule, T* y, T const* x) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::softmax", r, kokkos::softmax_row<T>{scale, rule}, y, x);
  }
  /// dx = scale * y * (dy - sum(y dy)).
  template <class T>
  void softmax_vjp(rows r, compute<T> scale, T* dx, T const* y, T const* dy) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(r); });
    write_rows("mtf::softmax_vjp", r, kokkos::softmax_vjp_row<T>{scale}, dx, y, dy);
  }
  /// The largest visible scale * x of each row; -infinity where nothing is.
  template <class T>
  void row_max(rows r, compute<T> scale, causal_rule rule, compute<T>* out, T const* x) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    number_rows("mtf::row_max", r, kokkos::max_row<T>{scale, rule}, out, x);
  }
  /// The sum of exp(scale * x - max) over the visible elements of each row.
  template <class T>
  void row_exp_sum(rows r, compute<T> scale, causal_rule rule, compute<T> const* max, compute<T>* sum, T const* x) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    number_rows("mtf::row_exp_sum", r, kokkos::exp_sum_row<T>{scale, rule, max}, sum, x);
  }
  /// y = exp(scale * x - max) / sum.
  template <class T>
  void softmax_apply(rows r, compute<T> scale, causal_rule rule, compute<T> const* max, compute<T> const* sum, T* y,
                     T const* x) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::softmax_apply", r, kokkos::softmax_row<T>{scale, rule, max, sum}, y, x);
  }
  /// out = sum(y dy) of each row.
  template <class T>
  void row_dot(rows r, compute<T>* out, T const* y, T const* dy) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    number_rows("mtf::row_dot", r, kokkos::dot_row{}, out, y, dy);
  }
  /// out = sum(x) of each row.
  template <class T>
  void row_sum(rows r, compute<T>* out, T const* x) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    number_rows("mtf::row_sum", r, kokkos::sum_row{}, out, x);
  }
  /// dx = scale * y * (dy - dot).
  template <class T>
  void softmax_vjp_apply(rows r, compute<T> scale, compute<T> const* dot, T* dx, T const* y, T const* dy) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(r); });
    write_rows("mtf::softmax_vjp_apply", r, kokkos::softmax_vjp_row<T>{scale, dot}, dx, y, dy);
  }

  /// y = x - logsumexp(x) along n.
  template <class T>
  void log_softmax(rows r, T* y, T const* x) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::log_softmax", r, kokkos::log_softmax_row<T>{}, y, x);
  }
  /// dx = dy - exp(y) * sum(dy).
  template <class T>
  void log_softmax_vjp(rows r, T* dx, T const* y, T const* dy) {
    log_softmax_vjp_apply(r, nullptr, dx, y, dy);
  }
  /// y = x - max - log(sum).
  template <class T>
  void log_softmax_apply(rows r, compute<T> const* max, compute<T> const* sum, T* y, T const* x) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::log_softmax_apply", r, kokkos::log_softmax_row<T>{max, sum}, y, x);
  }
  /// dx = dy - exp(y) * sum, with the global sum(dy) of each row.
  template <class T>
  void log_softmax_vjp_apply(rows r, compute<T> const* sum, T* dx, T const* y, T const* dy) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(r); });
    write_rows("mtf::log_softmax_vjp", r, kokkos::log_softmax_vjp_row<T>{sum}, dx, y, dy);
  }

  /// y = log(sum(exp(x))) of each row.
  template <class T>
  void logsumexp(rows r, T* y, T const* x) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    number_rows("mtf::logsumexp", r, kokkos::logsumexp_row{}, y, x);
  }
  /// dx = dy * exp(x - y); y is global, so this serves a dimension cut over ranks too.
  template <class T>
  void logsumexp_vjp(rows r, T* dx, T const* x, T const* y, T const* dy) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::logsumexp_vjp", r, kokkos::logsumexp_vjp_row<T>{y, dy}, dx, x);
  }
  /// y = max + log(sum).
  template <class T>
  void logsumexp_finish(index count, T* y, compute<T> const* max, compute<T> const* sum) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(count); });
    kokkos::for_elements("mtf::logsumexp_finish", on_.exec, count, kokkos::logsumexp_finish_body<T>{y, max, sum});
  }

  // Layer norm (Centered) and RMS norm (not; mean is then unused, beta null). gamma, beta: [n] ------------------------

  /// y = (x - mean) * rstd * gamma + beta along n; mean and rstd are kept for the backward pass.
  template <bool Centered, class T>
  void norm(rows r, compute<T> eps, T* y, compute<T>* mean, compute<T>* rstd, T const* x, T const* gamma,
            std::type_identity_t<T const*> beta) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::norm", r, kokkos::norm_row<Centered, T>{eps, mean, rstd, gamma, beta}, y, x);
  }
  /// Gradients of norm; dgamma and dbeta are overwritten, with the sums over this rank's rows. dx is added to what is
  /// there if `accumulate`, which only dense rows (r.inner = 1) may be.
  template <bool Centered, class T>
  void norm_vjp(rows r, T* dx, T* dgamma, std::type_identity_t<T*> dbeta, T const* dy, T const* x, T const* gamma,
                compute<T> const* mean, compute<T> const* rstd, bool accumulate = false) {
    norm_vjp_apply<Centered>(r, r.n, nullptr, nullptr, dx, dgamma, dbeta, dy, x, gamma, mean, rstd, accumulate);
  }
  /// out = sum of (x - mean)^2 of each row; mean null: 0.
  template <class T>
  void row_square_sum(rows r, compute<T> const* mean, compute<T>* out, T const* x) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    number_rows("mtf::row_square_sum", r, kokkos::square_sum_row<T>{mean}, out, x);
  }
  /// Global square sums to rstd = 1 / sqrt(square sum / n_global + eps), in place.
  template <class A>
  void rows_statistics(index count, std::type_identity_t<A> eps, index n_global, A* inout) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<A>(count); });
    kokkos::for_elements("mtf::rows_statistics", on_.exec, count,
                         kokkos::rows_statistics_body<A>{eps, n_global, inout});
  }
  /// norm() from global statistics.
  template <bool Centered, class T>
  void norm_apply(rows r, compute<T> const* mean, compute<T> const* rstd, T* y, T const* x, T const* gamma,
                  std::type_identity_t<T const*> beta) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::norm_apply", r, kokkos::norm_apply_row<Centered, T>{mean, rstd, gamma, beta}, y, x);
  }
  /// s1 = sum dy gamma, s2 = sum dy gamma xhat of each row.
  template <bool Centered, class T>
  void norm_vjp_sums(rows r, compute<T>* s1, compute<T>* s2, T const* dy, T const* x, T const* gamma,
                     compute<T> const* mean, compute<T> const* rstd) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    kokkos::row_operand<T, Exec> const g(on_, r, dy), in(on_, r, x);
    run("mtf::norm_vjp_sums", r,
        kokkos::norm_vjp_sums_body<Centered, T>{{g.get(), in.get(), gamma, mean, rstd}, r.n, s1, s2});
  }
  /// norm_vjp() from global s1 and s2.
  template <bool Centered, class T>
  void norm_vjp_apply(rows r, index n_global, compute<T> const* s1, compute<T> const* s2, T* dx, T* dgamma,
                      std::type_identity_t<T*> dbeta, T const* dy, T const* x, T const* gamma, compute<T> const* mean,
                      compute<T> const* rstd, bool accumulate = false) {
    auto const noted = moving([&] { return (accumulate ? 4 : 3) * kokkos::bytes<T>(r); });
    kokkos::row_result<T, Exec> out(on_, r, dx);
    kokkos::row_operand<T, Exec> const g(on_, r, dy), in(on_, r, x);
    kokkos::norm_backward(on_,
                          kokkos::norm_vjp_body<Centered, T>{{g.get(), in.get(), gamma, mean, rstd},
                                                             r.n, n_global, r.count(), s1, s2, out.get(), accumulate},
                          dgamma, dbeta);
  }

  // Cross entropy of logits [outer, n, inner] with a global class number for each row: none where it is negative, NaN
  // where it is not below `classes`, their global number ----------------------------------------------------------------

  /// loss = lse - logits[label], lse = logsumexp(logits) of each row.
  template <class T>
  void cross_entropy(rows r, T* loss, compute<T>* lse, T const* logits, std::int32_t const* labels) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    kokkos::row_operand<T, Exec> const in(on_, r, logits);
    run("mtf::cross_entropy", r, kokkos::cross_entropy_body<T>{r.n, loss, lse, in.get(), labels});
  }
  /// dlogits = dloss * (exp(logits - lse) - [class == label]); class j here is class_offset + j.
  template <class T>
  void cross_entropy_vjp(rows r, index class_offset, index classes, T* dlogits, T const* logits,
                         std::int32_t const* labels, compute<T> const* lse, T const* dloss) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(r); });
    write_rows("mtf::cross_entropy_vjp", r, kokkos::cross_entropy_vjp_row<T>{class_offset, classes, labels, lse, dloss},
               dlogits, logits);
  }
  /// With global maxima: the sums of exponentials of the classes here, then the labels' logits (0 where not here);
  /// both are summed over ranks.
  template <class T>
  void cross_entropy_local(rows r, index class_offset, compute<T> const* max, compute<T>* sum_and_picked,
                           T const* logits, std::int32_t const* labels) {
    auto const noted = moving([&] { return kokkos::bytes<T>(r); });
    kokkos::row_operand<T, Exec> const in(on_, r, logits);
    run("mtf::cross_entropy_local", r,
        kokkos::cross_entropy_local_body<T>{r.n, r.count(), class_offset, max, sum_and_picked, in.get(), labels});
  }
  template <class T>
  void cross_entropy_finish(index count, index classes, T* loss, compute<T>* lse, compute<T> const* max,
                            compute<T> const* sum_and_picked, std::int32_t const* labels) {
    auto const noted = moving([&] { return 4 * kokkos::bytes<T>(count); });
    kokkos::for_elements("mtf::cross_entropy_finish", on_.exec, count,
                         kokkos::cross_entropy_finish_body<T>{count, classes, loss, lse, max, sum_and_picked, labels});
  }

  // Embedding: table [vocab, width] holds global rows from vocab_offset on; ids are global ----------------------------

  /// out[c] = table[ids[c]]; zeros where that row is not here, NaN where the table of all ranks, of vocab_global rows, ends
  /// before it.
  template <class T>
  void take_rows(index count, index width, index vocab, index vocab_offset, index vocab_global, T* out, T const* table,
                 std::int32_t const* ids) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(count * width); });
    kokkos::for_rows("mtf::take_rows", on_.exec, count, width,
                     kokkos::take_rows_body<T>{{width, vocab, vocab_offset, ids}, vocab_global, out, table});
  }
  /// table_gradient[ids[c]] += dy[c] for the rows that are here.
  template <class T>
  void add_rows(index count, index width, index vocab, index vocab_offset, T* table_gradient, T const* dy,
                std::int32_t const* ids) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(count * width); });
    kokkos::add_rows(on_, {width, vocab, vocab_offset, ids}, count, table_gradient, dy);
  }

  // Random numbers by global element ----------------------------------------------------------------------------------

  /// Uniform in [low, high).
  template <class T>
  void random_uniform(placement const& p, std::uint64_t key, T* out, double low, double high) {
    auto const noted = moving([&] { return kokkos::bytes<T>(p.local); });
    kokkos::generate(on_, p, key, out, kokkos::uniform_numbers{low, high - low});
  }
  template <class T>
  void random_normal(placement const& p, std::uint64_t key, T* out, double mean, double stddev) {
    auto const noted = moving([&] { return kokkos::bytes<T>(p.local); });
    kokkos::generate(on_, p, key, out, kokkos::normal_numbers{mean, stddev});
  }
  /// Normal, redrawn beyond two standard deviations.
  template <class T>
  void random_truncated_normal(placement const& p, std::uint64_t key, T* out, double mean, double stddev) {
    auto const noted = moving([&] { return kokkos::bytes<T>(p.local); });
    kokkos::generate(on_, p, key, out, kokkos::truncated_normal_numbers{mean, stddev});
  }
  /// y = x / (1 - rate) with probability 1 - rate, 0 otherwise. Its own vjp.
  template <class T>
  void dropout(placement const& p, std::uint64_t key, double rate, T* y, T const* x) {
    auto const noted = moving([&] { return 2 * kokkos::bytes<T>(p.local); });
    kokkos::dropout(on_, p, key, rate, y, x);
  }

  // Optimizers. corrections: 1 / (1 - beta^step); gradients are multiplied by grad_scale first ------------------------

  /// Adam with decoupled weight decay.
  template <class T>
  void adamw(index n, T* p, compute<T>* m, compute<T>* v, T const* g, compute<T> lr, compute<T> beta1,
             compute<T> beta2, compute<T> eps, compute<T> weight_decay, compute<T> correction1, compute<T> correction2,
             compute<T> grad_scale) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(n) + 4 * kokkos::bytes<compute<T>>(n); });
    kokkos::for_elements(
        "mtf::adamw", on_.exec, n,
        kokkos::adamw_body<T>{p, m, v, g, lr, beta1, beta2, eps, weight_decay, correction1, correction2, grad_scale});
  }
  /// momentum may be null.
  template <class T>
  void sgd(index n, T* p, compute<T>* momentum, T const* g, compute<T> lr, compute<T> momentum_factor,
           compute<T> weight_decay, compute<T> grad_scale) {
    auto const noted = moving([&] { return 3 * kokkos::bytes<T>(n) + (momentum == nullptr ? 0 : 2) * kokkos::bytes<compute<T>>(n); });
    kokkos::for_elements("mtf::sgd", on_.exec, n,
                         kokkos::sgd_body<T>{p, momentum, g, lr, momentum_factor, weight_decay, grad_scale});
  }

 private:
  template <class Body>
  void run(char const* label, rows const& r, Body const& body) {
    kokkos::for_rows(label, on_.exec, r.count(), r.n, body);
  }

  /// Rows, or one number for each row, as a policy makes them of the same rows of the operands (row_kernels.hpp).
  template <class Row, class T, class... Operands>
  void write_rows(char const* label, rows const& r, Row const& row, T* out, Operands const*... in) {
    using body = kokkos::rows_body<Row, T, sizeof...(in)>;
    using operand = kokkos::row_operand<T, Exec>;
    kokkos::row_result<T, Exec> dense(on_, r, out);
    run(label, r, body{row, dense.get(), {r.n, {operand(on_, r, in).get()...}}});
  }
  template <class Row, class Number, class T, class... Operands>
  void number_rows(char const* label, rows const& r, Row const& row, Number* out, T const* x, Operands const*... more) {
    using body = kokkos::row_numbers_body<Row, Number, T, 1 + sizeof...(more)>;
    using operand = kokkos::row_operand<T, Exec>;
    run(label, r, body{row, out, {r.n, {operand(on_, r, x).get(), operand(on_, r, more).get()...}}});
  }

  backend::object_pool objects_;
  kokkos::contractor<Exec> contractor_;
};

}  // namespace mtf
