// The code in headers' comments, in the order of the headers (cmake/check_samples.cmake): compiling is the test.
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/ops/nn.hpp>
#include <mtf/ops/sorting.hpp>
#include <mtf/plan/best_layout.hpp>
#include <mtf/plan/machines.hpp>
#include <mtf/threads.hpp>
#include <mtf/train/scan_time.hpp>

namespace samples {

namespace first {  // dim.hpp
struct batch : mtf::dim<"batch", 64> {};
struct length : mtf::dim<"length"> {};  // known when the program runs
struct data : mtf::axis<"data", 2> {};
}  // namespace first

// dim.hpp, notation.hpp
struct batch : mtf::dim<"batch", 64> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};
struct hidden : mtf::dim<"hidden", 32> {};
struct pixels : mtf::dim<"pixels", 16> {};
struct digit : mtf::dim<"digit", 10> {};
using my_mesh = mtf::mesh<data, model>;
using where = mtf::layout<my_mesh, mtf::split<batch, data>, mtf::split<hidden, model>>;
using upper = mtf::layout<my_mesh, mtf::split<batch, data>>;
using from_text = mtf::layout_of<"data:2;model:2", "batch:data;hidden:model", batch, hidden>;

// tensor.hpp
template <template <class...> class Tensor>
struct block {
  Tensor<pixels, hidden> w;
  MTF_FIELDS(w);
};
template <template <class...> class Tensor>
struct mlp {
  block<Tensor> lower;
  block<mtf::relaid<Tensor, upper>::template tensor> higher;
  MTF_FIELDS(lower, higher);
};
using backend = mtf::kokkos_backend<>;
using parameters = mlp<mtf::place<float, where, backend>::tensor>;

// precision.hpp
using in_mixed_precision = mlp<mtf::place<mtf::mixed_bfloat16, where, backend>::tensor>;

// best_layout.hpp
constexpr auto h100 = mtf::machines::h100_nodes();
constexpr auto doubled = [](auto const& x) { return x + x; };
constexpr auto best = mtf::best_layout_of<mtf::mesh<data, model>, h100>(doubled, mtf::input<float, batch, pixels>{});
static_assert(best.layouts > 0);
using function = decltype(doubled);
using fastest = mtf::best_layout<mtf::mesh<data, model>, h100, function, mtf::input<float, batch, pixels>>;

// plan.hpp
auto loss = [](auto const& p, auto const& x, auto const& label) {
  auto const h = mtf::relu(mtf::einsum<batch, hidden>(x, p.lower.w)) +
                 mtf::relayout<where>(mtf::einsum<batch, hidden>(x, p.higher.w));
  return mtf::mean(mtf::cross_entropy<hidden>(h, label));
};
constexpr auto plan = mtf::plan_of<where>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, pixels>{},
                                          mtf::input<std::int32_t, batch>{});

// as_computed.hpp
auto evaluated(in_mixed_precision const& p, auto const& x, auto const& y) { return loss(mtf::as_computed(p), x, y); }

using namespace mtf::literals;
static_assert(mtf::within_budget<plan, mtf::budget{.bytes_sent = 64_KiB}>());

// accumulated.hpp
[[maybe_unused]] auto const step = mtf::value_and_grad(mtf::accumulated(loss, 8));
constexpr auto of_eight = mtf::plan_of<where>(mtf::accumulated<8>(loss), mtf::parameters<mlp>{},
                                              mtf::input<float, batch, pixels>{}, mtf::input<std::int32_t, batch>{});
static_assert(of_eight.flops() == 8 * plan.flops());

// indexing/slice.hpp
struct length : mtf::dim<"length", 128> {};
struct token : mtf::dim<"token", 1> {};
auto grown(auto cache, auto const& keys, auto const& at) {
  cache = mtf::update<length, token>(std::move(cache), keys, at);
  return cache;
}

// movement/stacked.hpp
struct three : mtf::dim<"three", 3> {};
auto scores_of(auto const& x) {
  auto const [q, k, v] = mtf::unstacked<three>(x);
  return q * k + v;
}

// nn/batch_norm.hpp
auto normal(auto const& x, auto const& gamma, auto const& beta) {
  auto const [y, mean, variance] = mtf::batch_norm<batch, length>(x, gamma, beta);
  return y * variance + mean;
}

// sorting/top_k.hpp
struct vocabulary : mtf::dim<"vocabulary", 512> {};
struct k : mtf::dim<"k", 5> {};
auto likeliest(auto const& logits) {
  auto const [largest, places] = mtf::top_k<vocabulary, k>(logits);
  return mtf::embedding<vocabulary>(logits, places);
}
// train/scan_time.hpp
struct time : mtf::dim<"time", 8> {};
constexpr auto cell = [](auto const& s, auto const& x, std::size_t) { return mtf::scanned{s + x, s}; };
auto after_all(auto const& state, auto const& xs) {
  auto const [last, ys] = mtf::scan<time>(state, xs, cell);
  return last + mtf::sum<time>(ys);
}
template <class... D>
using cached = mtf::place<float, from_text, mtf::trace>::tensor<D...>;
template <class... D>
using numbered = mtf::place<std::int32_t, from_text, mtf::trace>::tensor<D...>;
static_assert(mtf::tensor_type<decltype(grown(cached<length>{}, cached<token>{}, numbered<>{}))>);
static_assert(mtf::tensor_type<decltype(scores_of(cached<three, token>{}))>);
static_assert(mtf::tensor_type<decltype(likeliest(cached<vocabulary>{}))>);

static_assert(mtf::tensor_type<decltype(normal(cached<batch, length, token>{}, cached<token>{}, cached<token>{}))>);
static_assert(mtf::tensor_type<decltype(after_all(cached<token>{}, cached<time, token>{}))>);

void train(auto& machine) { static_cast<void>(machine); }

// mpi/run.hpp
namespace processes {
int main(int argc, char** argv) {
  return mtf::run<my_mesh, mtf::kokkos_backend<>>(argc, argv, [](auto& machine) { train(machine); });
}
}  // namespace processes

#if defined(KOKKOS_ENABLE_SERIAL)
// threads/pool.hpp, threads/run.hpp
namespace threads {
void in_a_pool() {
  mtf::rank_threads pool(8);
  pool.run(my_mesh::shape(), [](mtf::collectives& ranks) { train(ranks); });
}
int main(int argc, char** argv) {
  return mtf::run_threads<my_mesh, mtf::kokkos_backend<Kokkos::Serial>>(argc, argv,
                                                                        [](auto& machine) { train(machine); });
}
}  // namespace threads
#endif

}  // namespace samples
