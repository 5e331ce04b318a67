#pragma once
// The training step of hand_written.cpp as an expert writes it without the library: oneDNN multiplies (bias and relu in
// the product's epilogue), OpenMP loops do the rest, and MPI adds the gradients up, all of them in one message.
#include <mpi.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <cmath>
#include <vector>

namespace by_hand {

using dim = dnnl::memory::dim;

/// c = a b (+ bias) (then relu), row-major; an operand may be stored transposed.
class product {
 public:
  struct options {
    bool a_transposed = false, b_transposed = false, bias = false, relu = false;
  };
  product(dnnl::engine const& engine, dim m, dim n, dim k, options o) : stream_(engine), bias_(o.bias) {
    using memory = dnnl::memory;
    auto const matrix = [](dim rows, dim columns, bool transposed) {
      return memory::desc({rows, columns}, memory::data_type::f32,
                          transposed ? memory::dims{1, rows} : memory::dims{columns, 1});
    };
    auto const a = matrix(m, k, o.a_transposed), b = matrix(k, n, o.b_transposed), c = matrix(m, n, false);
    auto const v = o.bias ? matrix(1, n, false) : memory::desc();
    dnnl::primitive_attr attributes;
    if (o.relu) {
      dnnl::post_ops then;
#if DNNL_VERSION_MAJOR >= 3
      then.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
      then.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
      attributes.set_post_ops(then);
    }
#if DNNL_VERSION_MAJOR >= 3
    dnnl::matmul::primitive_desc const description(engine, a, b, v, c, attributes);
#else
    auto const what = o.bias ? dnnl::matmul::desc(a, b, v, c) : dnnl::matmul::desc(a, b, c);
    dnnl::matmul::primitive_desc const description(what, attributes, engine);
#endif
    multiply_ = dnnl::matmul(description);
    a_ = {a, engine, nullptr};
    b_ = {b, engine, nullptr};
    c_ = {c, engine, nullptr};
    if (o.bias) v_ = {v, engine, nullptr};
  }

  void operator()(float const* a, float const* b, float* c, float const* bias = nullptr) {
    a_.set_data_handle(const_cast<float*>(a));
    b_.set_data_handle(const_cast<float*>(b));
    c_.set_data_handle(c);
    std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}};
    if (bias_) {
      v_.set_data_handle(const_cast<float*>(bias));
      arguments[DNNL_ARG_BIAS] = v_;
    }
    multiply_.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  dnnl::matmul multiply_;
  dnnl::memory a_, b_, c_, v_;
  dnnl::stream stream_;
  bool bias_;
};

/// y = relu(x w1 + b1) w2 + b2, the mean of (y - t)^2 over all ranks' rows, and gradient descent with momentum.
class training {
 public:
  training(dim rows, dim in, dim hidden, dim out)
      : rows_(rows),
        in_(in),
        hidden_(hidden),
        out_(out),
        first_(engine_, rows, hidden, in, {.bias = true, .relu = true}),
        second_(engine_, rows, out, hidden, {.bias = true}),
        gradient_w2_(engine_, hidden, out, rows, {.a_transposed = true}),
        gradient_h_(engine_, rows, hidden, out, {.b_transposed = true}),
        gradient_w1_(engine_, in, hidden, rows, {.a_transposed = true}),
        h_(size(rows * hidden)),
        y_(size(rows * out)),
        dh_(size(rows * hidden)),
        p_(size(in * hidden + hidden + hidden * out + out)),
        g_(p_.size()),
        u_(p_.size()) {
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  // All parameters lie in one array, so that one message carries all gradients.
  float* w1() { return p_.data(); }
  float* b1() { return w1() + in_ * hidden_; }
  float* w2() { return b1() + hidden_; }
  float* b2() { return w2() + hidden_ * out_; }

  struct result {
    double loss, norm;
  };
  result step(float const* x, float const* t, float rate, float momentum) {
    first_(x, w1(), h_.data(), b1());
    second_(h_.data(), w2(), y_.data(), b2());
    float* const dw1 = g_.data();
    float* const db1 = dw1 + in_ * hidden_;
    float* const dw2 = db1 + hidden_;
    float* const db2 = dw2 + hidden_ * out_;

    double loss = 0;
    float const scale = 2.0F / static_cast<float>(rows_ * out_ * ranks_);
    float* const y = y_.data();
#pragma omp parallel for reduction(+ : loss)
    for (dim r = 0; r < rows_; ++r) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (dim j = r * out_; j < (r + 1) * out_; ++j) {
        float const d = y[j] - t[j];
        sum += d * d;
        y[j] = scale * d;
      }
      loss += static_cast<double>(sum);
    }
    gradient_w2_(h_.data(), y, dw2);
    sum_of_rows(y, out_, db2);
    gradient_h_(y, w2(), dh_.data());
    float* const dh = dh_.data();
    float const* const h = h_.data();
#pragma omp parallel for simd
    for (dim j = 0; j < rows_ * hidden_; ++j) dh[j] = h[j] > 0 ? dh[j] : 0;
    gradient_w1_(x, dh, dw1);
    sum_of_rows(dh, hidden_, db1);

    if (ranks_ > 1) {
      MPI_Allreduce(MPI_IN_PLACE, g_.data(), static_cast<int>(g_.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double squares = 0;
    auto const n = static_cast<dim>(p_.size());
    float *const p = p_.data(), *const u = u_.data();
    float const* const g = g_.data();
#pragma omp parallel for simd reduction(+ : squares)
    for (dim j = 0; j < n; ++j) {
      squares += static_cast<double>(g[j]) * static_cast<double>(g[j]);
      u[j] = momentum * u[j] + g[j];
      p[j] -= rate * u[j];
    }
    return {loss / static_cast<double>(rows_ * out_ * ranks_), std::sqrt(squares)};
  }

 private:
  static std::size_t size(dim n) { return static_cast<std::size_t>(n); }

  // Each thread sums a strip of columns.
  void sum_of_rows(float const* x, dim columns, float* out) const {
    constexpr dim strip = 256;
#pragma omp parallel for
    for (dim begin = 0; begin < columns; begin += strip) {
      dim const width = std::min(strip, columns - begin);
      float sums[strip] = {};
      for (dim r = 0; r < rows_; ++r) {
        float const* const row = x + r * columns + begin;
#pragma omp simd
        for (dim j = 0; j < width; ++j) sums[j] += row[j];
      }
      for (dim j = 0; j < width; ++j) out[begin + j] = sums[j];
    }
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dim rows_, in_, hidden_, out_;
  product first_, second_, gradient_w2_, gradient_h_, gradient_w1_;
  std::vector<float> h_, y_, dh_, p_, g_, u_;
  int ranks_ = 1;
};

}  // namespace by_hand
