// What a plan costs on a machine, against closed forms.
#include <mtf/mtf.hpp>

namespace {

using mtf::collective_kind;

constexpr bool near(double a, double b) { return (a > b ? a - b : b - a) <= 1e-12 * (a > b ? a : b); }

// Work that takes a constant and a time for each unit: three speeds tell it at every size from the first on.
constexpr bool affine_work_is_exact() {
  constexpr double constant = 3e-6, unit = 2e-9;
  auto const taken = [&](double size) { return constant + unit * size; };
  mtf::speed_table t;
  for (double const size : {64.0, 1024.0, 1e6}) t.add({size, size / taken(size)});
  for (double size = 64; size < 1e6; size *= 1.7)
    if (!near(t.seconds(5 * size, size), 5 * taken(size))) return false;
  // Below, a run takes as long as the smallest; above, the speed is the largest's.
  return near(t.seconds(8, 8), taken(64)) && near(t.seconds(3e6, 3e6), 3 * taken(1e6));
}
static_assert(affine_work_is_exact());
static_assert(mtf::speed_table(4.0).seconds(8, 1) == 2 && mtf::speed_table(4.0).seconds(8, 1e9) == 2);

// A roofline: what a product reads bounds thin ones, the peak the others.
constexpr auto roofline = mtf::speed_table::roofline(100, 2, 4);
static_assert(near(roofline.seconds(1, 1), 1.0) && near(roofline.seconds(1, 7), 1.0 / 7) &&
              near(roofline.seconds(1, 100), 0.01) && near(roofline.seconds(1, 1e4), 0.01));

// Eight ranks a node.
constexpr mtf::machine_description nodes = [] {
  mtf::machine_description m;
  m.ranks_per_node = 8;
  m.add({mtf::short_name(""), mtf::limit::matrix, 0, mtf::speed_table(1e12)});
  m.add({mtf::short_name("mtf::contract"), mtf::limit::matrix, 8, mtf::speed_table(1e11)});
  m.add({mtf::short_name(""), mtf::limit::memory, 0, mtf::speed_table(1e10)});
  m.in_node = mtf::machine_description::links(1e-6, 1e11);
  m.between_nodes = mtf::machine_description::links(1e-5, 1e9);
  return m;
}();
constexpr mtf::mesh_shape mesh{3, {4, 2, 8}};
static_assert(nodes.ranks_in_node(mesh, 0b100) == 8 && nodes.ranks_in_node(mesh, 0b011) == 1 &&
              nodes.ranks_in_node(mesh, 0b111) == 8 && nodes.ranks_in_node({2, {4, 4}}, 0b01) == 2 &&
              nodes.ranks_in_node({2, {4, 4}}, 0b10) == 4 && nodes.ranks_in_node({2, {2, 3}}, 0b11) == 6);

// In a node and between nodes, by hand; both: through the node first.
static_assert(near(nodes.seconds(collective_kind::all_reduce, 8000, mesh, 0b100), 3 * 1e-6 + 14000 / 1e11));
static_assert(near(nodes.seconds(collective_kind::all_gather, 1000, mesh, 0b001), 2 * 1e-5 + 3000 / 1e9));
static_assert(near(nodes.seconds(collective_kind::all_reduce, 8000, mesh, 0b101),
                   3 * 1e-6 + 7000 / 1e11 + 2 * 1e-5 + 1500 / 1e9 + 3 * 1e-6 + 7000 / 1e11));
static_assert(near(nodes.seconds(collective_kind::reduce_scatter, 8000, mesh, 0b110),
                   3 * 1e-6 + 7000 / 1e11 + 1e-5 + 500 / 1e9));
static_assert(near(nodes.seconds(collective_kind::all_gather, 1000, mesh, 0b110),
                   1e-5 + 1000 / 1e9 + 3 * 1e-6 + 14000 / 1e11));
static_assert(near(nodes.seconds(collective_kind::permute, 1000, mesh, 0b010), 1e-5 + 1000 / 1e9));
// By doubling: three permutes for 8 ranks, and for 5.
static_assert(near(nodes.seconds(collective_kind::exclusive_sum, 1000, mesh, 0b100), 3 * (1e-6 + 1000 / 1e11)) &&
              near(nodes.seconds(collective_kind::exclusive_sum, 1000, mesh, 0b011), 3 * (1e-5 + 1000 / 1e9)) &&
              nodes.seconds(collective_kind::exclusive_sum, 1000, {1, {1}}, 1) == 0);

// A plan has what is made and started, of any kind, by its payload; nothing over axes of one rank.
constexpr bool is_planned() {
  mtf::trace b({3, {4, 1, 8}});
  b.communicate(mtf::collective::exclusive_sum(0b101, mtf::element::f64, 5), nullptr, nullptr);
  b.start(mtf::collective::all_to_all(0b001, mtf::element::bf16, 3), nullptr, nullptr);
  b.communicate(mtf::collective::permute(0b010, mtf::element::f32, 3, 0, 0), nullptr, nullptr);
  auto const& all = b.planned();
  return all.size() == 2 && all[0].kind == collective_kind::exclusive_sum && all[0].axes == 0b101 &&
         all[0].payload == 40 && !all[0].started && all[1].kind == collective_kind::all_to_all &&
         all[1].payload == 24 && all[1].started;
}
static_assert(is_planned());

// A plan: its products, its kernels, its collectives.
struct examples : mtf::dim<"examples", 8> {};
struct in : mtf::dim<"in", 512> {};
struct hidden : mtf::dim<"hidden", 256> {};
struct data : mtf::axis<"data", 2> {};
template <template <class...> class Tensor>
struct weights {
  Tensor<in, hidden> w;
  MTF_FIELDS(w);
};
constexpr auto loss = [](auto const& p, auto const& x) {
  return mtf::mean(mtf::relu(mtf::einsum<examples, hidden>(x, p.w)));
};
template <class T, mtf::completed_gradients When, class Update>
constexpr auto plan_for =
    mtf::plan_of<mtf::layout<mtf::mesh<data>, mtf::split<examples, data>>, When, mtf::state_split_over<>, Update>(
        loss, mtf::parameters<weights, T>{}, mtf::input<T, examples, in>{});
constexpr auto const& plan = plan_for<float, mtf::completed_gradients::later, mtf::without_update>;
constexpr auto price = plan.price(nodes);
static_assert(near(price.products, plan.flops() / 1e12) && plan.flops() == 2 * 2 * 4 * 512 * 256);
constexpr bool of_kernels(mtf::planned_work const& w) { return w.bound == mtf::limit::memory; }
static_assert(near(price.kernels, plan.bytes_moved(of_kernels) / 1e10) && plan.bytes_moved(of_kernels) > 0);
static_assert(near(price.collectives,
                   static_cast<double>(plan.count()) * 1e-6 + static_cast<double>(plan.bytes_sent_per_rank()) / 1e11));
static_assert(price.hidden == 0 && near(plan.seconds(nodes), price.products + price.kernels + price.collectives));

// The entry that says most of a product is taken.
static_assert(near(plan_for<double, mtf::completed_gradients::later, mtf::without_update>.price(nodes).products,
                   plan.flops() / 1e11));

// Started collectives hide as far as the machine can.
constexpr mtf::machine_description overlapping = [] {
  auto m = nodes;
  m.overlap = 0.5;
  m.in_node = mtf::machine_description::links(0, 1e12);
  return m;
}();
constexpr auto const& overlapped = plan_for<float, mtf::completed_gradients::overlapped, mtf::without_update>;
static_assert(plan.price(overlapping).hidden == 0);
static_assert(overlapped.price(overlapping).hidden > 0 &&
              near(overlapped.price(overlapping).hidden, 0.5 * 4 * 512 * 256 / 1e12));

// An optimizer's state is two numbers a parameter, its work seven reads and writes.
constexpr auto const& updated = plan_for<float, mtf::completed_gradients::later, mtf::updated_by<mtf::adamw>>;
static_assert(updated.peak_bytes == plan.peak_bytes + 2 * 4 * 512 * 256);
static_assert(updated.bytes_moved("adamw") == 7 * 4 * 512 * 256);
static_assert(updated.bytes_sent_per_rank() == plan.bytes_sent_per_rank());

// What is described prices any plan.
static_assert(plan.seconds(mtf::machines::h100_nodes()) > 0 && plan.seconds(mtf::machines::tpu_v2_pod()) > 0);
static_assert(mtf::machines::h100_nodes().seconds(collective_kind::all_reduce, 8 << 20, mesh, 0b100) <
              mtf::machines::h100_nodes().seconds(collective_kind::all_reduce, 8 << 20, mesh, 0b001));

}  // namespace
