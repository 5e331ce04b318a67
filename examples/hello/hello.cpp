// A two-layer classifier on a 2 x 2 mesh: the whole program. Launch it with: mpirun -n 4 hello
// ranks: 4
#include <mtf/kokkos.hpp>  // local compute
#include <mtf/mpi.hpp>     // collectives
#include <mtf/mtf.hpp>     // dims, meshes, layouts, operations, derivatives: needs Boost.Hana, nothing else

#include <cstdio>

struct batch : mtf::dim<"batch", 64> {};
struct pixels : mtf::dim<"pixels", 784> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct digit : mtf::dim<"digit", 10> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};

using where = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<hidden, model>>;

// One description: parameters, gradients, optimizer state are instances of it.
template <template <class...> class Tensor>
struct mlp {
  Tensor<pixels, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, digit> w2;
  MTF_FIELDS(w1, b1, w2);
};

auto loss = [](auto const& p, auto const& x, auto const& label) {
  auto h = mtf::relu(mtf::einsum<batch, hidden>(x, p.w1) + p.b1);  // no communication
  auto logits = mtf::einsum<batch, digit>(h, p.w2);                // partial over model
  return mtf::mean(mtf::cross_entropy<digit>(logits, label));      // one all-reduce of [batch/2, digit] over model
};

using namespace mtf::literals;
constexpr auto plan =
    mtf::plan_of<where>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, pixels>{}, mtf::input<int, batch>{});
static_assert(plan.bytes_sent_per_rank(mtf::pass::forward) < 2_KiB);
static_assert(plan.bytes_sent_per_rank(mtf::pass::forward) == 1280 + 4);  // as README says

struct last_digit {
  MTF_FUNCTION int operator()(int i) const { return i % 10; }
};

int main(int argc, char** argv) {
  using backend = mtf::kokkos_backend<>;
  return mtf::run<where::mesh_type, backend>(argc, argv, [](backend& machine) {
    using real = mtf::place<float, where, backend>;
    using parameters = mlp<real::tensor>;
    mtf::random_key const seed(1);
    if (machine.ranks().rank() == 0) std::fputs(mtf::describe(plan).c_str(), stdout);

    parameters p;
    mtf::for_each_tensor(
        [&](auto name, auto& x) {
          x = mtf::random_normal<std::remove_reference_t<decltype(x)>>(machine, seed.of(name), 0, 0.05);
        },
        p);
    auto const x = mtf::random_normal<real::tensor<batch, pixels>>(machine, seed.of("x"));
    auto const label =
        mtf::map(last_digit{}, mtf::iota<batch, mtf::place<int, where, backend>::tensor<batch>>(machine));

    mtf::adamw<parameters> optimizer(machine, {});
    for (int step = 0; step < 20; ++step) {
      auto const [value, gradients] = mtf::value_and_grad(loss)(p, x, label);
      optimizer.update(machine, p, gradients, 1e-3);
      double const now = mtf::item(value);
      if (machine.ranks().rank() == 0) std::printf("step %2d  loss %.4f\n", step, now);
    }
  });
}
