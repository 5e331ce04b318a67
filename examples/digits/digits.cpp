// A two-layer classifier learns handwritten digits on two ranks, each of which has half of the rows: data parallelism.
// Launch it with: mpirun -n 2 digits [file]
// ranks: 2
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "read.hpp"

struct batch : mtf::dim<"batch", 1438> {};       // the rows to learn from, all in each step
struct held_out : mtf::dim<"held_out", 358> {};  // the rows to be tested on
struct pixels : mtf::dim<"pixels", 64> {};
struct hidden : mtf::dim<"hidden", 128> {};
struct digit : mtf::dim<"digit", 10> {};
struct data : mtf::axis<"data", 2> {};

using where = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>, mtf::split<held_out, data>>;
using backend = mtf::kokkos_backend<>;
using real = mtf::place<float, where, backend>;
using whole = mtf::place<std::int32_t, where, backend>;

template <template <class...> class Tensor>
struct mlp {
  Tensor<pixels, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, digit> w2;
  Tensor<digit> b2;
  MTF_FIELDS(w1, b1, w2, b2);
};

template <class Rows>
auto logits(auto const& p, auto const& x) {
  return mtf::linear<Rows, digit>(mtf::relu(mtf::linear<Rows, hidden>(x, p.w1, p.b1)), p.w2, p.b2);
}
auto loss = [](auto const& answer, auto const& label) { return mtf::mean(mtf::cross_entropy<digit>(answer, label)); };

// The digit with the largest logit, the first if there are several.
auto predicted(auto const& answer) {
  auto const place = mtf::iota<digit, whole::tensor<digit>>(answer.backend());
  auto const none = mtf::full<whole::tensor<>>(answer.backend(), digit::extent);
  return mtf::reduce_min<digit>(mtf::where(answer == mtf::reduce_max<digit>(answer), place, none));
}

template <class Rows>
auto tensors(backend& machine, std::string const& file, digits::rows const& some) {
  if (some.label.size() < Rows::extent)
    throw mtf::user_error(file + ": too few rows: expected " + std::to_string(Rows::extent) + " for " +
                          std::string(Rows::name) + ", found " + std::to_string(some.label.size()));
  auto const x = std::span(some.pixels).first(Rows::extent * pixels::extent);
  return std::pair(mtf::from_global<real::tensor<Rows, pixels>>(machine, x),
                   mtf::from_global<whole::tensor<Rows>>(machine, std::span(some.label).first(Rows::extent)));
}

int train(backend& machine, std::string const& file) {
  auto const all = digits::read(file);
  auto const [x, label] = tensors<batch>(machine, file, all.train);
  auto const [new_x, new_label] = tensors<held_out>(machine, file, all.held_out);
  mlp<real::tensor> p;
  mtf::for_each_tensor(
      [&](auto name, auto& w) {
        w = mtf::random_normal<std::remove_reference_t<decltype(w)>>(machine, mtf::random_key(1).of(name), 0, 0.1);
      },
      p);

  mtf::adamw<mlp<real::tensor>> optimizer(machine, {});
  auto const step = mtf::value_and_grad(
      [](auto const& q, auto const& rows, auto const& right) { return loss(logits<batch>(q, rows), right); });
  double accuracy = 0;
  for (int epoch = 1; epoch <= 100; ++epoch) {
    auto const [value, gradients] = step(p, x, label);
    optimizer.update(machine, p, gradients, 1e-2);
    if (epoch % 20 != 0) continue;
    auto const answer = logits<held_out>(p, new_x);
    double const now = mtf::item(value), then = mtf::item(loss(answer, new_label));
    accuracy = mtf::item(mtf::mean(predicted(answer) == new_label));
    if (machine.ranks().rank() == 0)
      std::printf("epoch %3d  loss %.4f  held out: loss %.4f, accuracy %.1f %%\n", epoch, now, then, 100 * accuracy);
  }
  return accuracy < 0.9 ? 1 : 0;  // so that a test sees whether anything was learned
}

int main(int argc, char** argv) {
  std::string const file = argc > 1 ? argv[1] : MTF_EXAMPLE_DIGITS;
  return mtf::run<where::mesh_type, backend>(argc, argv, [&](backend& machine) { return train(machine, file); });
}
