// Plans: the collectives of whole programs as constants, against closed forms.
#include "names.hpp"

#include <support/model_config.hpp>

#include "../../models/gpt2/model.hpp"

using mtf::collective_kind;
using mtf::pass;

// --- a small program

template <template <class...> class Tensor>
struct mlp {
  Tensor<vocab, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, digit> w2;
  MTF_FIELDS(w1, b1, w2);
};
constexpr auto loss = [](auto const& p, auto x, auto label) {
  auto h = mtf::relu(mtf::einsum<batch, hidden>(x, p.w1) + p.b1);
  auto logits = mtf::einsum<batch, digit>(h, p.w2);
  return mtf::mean(mtf::cross_entropy<digit>(logits, label));
};
using where = mtf::layout<mtf::mesh<rows, cols>, mtf::split<batch, rows>, mtf::split<hidden, cols>>;
constexpr auto small = mtf::plan_of<where>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, vocab>{},
                                           mtf::input<std::int32_t, batch>{});
static_assert(small.count() == 4 && small.count(collective_kind::all_reduce) == 4);
// logits, over the split of hidden; the loss, over the split of the batch
static_assert(small.collectives[0].axes == 0b10 && small.collectives[0].payload == 64 / 2 * 10 * sizeof(float));
static_assert(small.collectives[1].axes == 0b01 && small.collectives[1].payload == sizeof(float));
static_assert(small.bytes_sent_per_rank(pass::backward) == 0);
// the gradients, in one message as they are small, over the split of the batch; then one number for the norm
static_assert(small.collectives[2].payload == (512 * 128 / 4 + 128 / 4 + 128 / 4 * 10) * sizeof(float) &&
              small.collectives[3].payload == sizeof(double));
static_assert(small.bytes_sent_per_rank([](auto const& c) { return c.axes == 0b01; }) == small.bytes_sent_over<rows>());
static_assert(small.bytes_sent_over<rows>() + small.bytes_sent_over<cols>() == small.bytes_sent_per_rank());

// A call without parameters is planned forward only.
constexpr auto forward =
    mtf::plan_of<where>([](auto const& x, auto const& w) { return mtf::relu(mtf::einsum<batch, digit>(x, w)); },
                        mtf::input<float, batch, hidden>{}, mtf::input<float, hidden, digit>{});
static_assert(forward.count() == 1 && forward.bytes_sent_per_rank() == 64 / 2 * 10 * sizeof(float) * 2 * 3 / 4);

// --- equal layers are a loop

template <int Layers>
using config = model_config<model_sizes{
    .batch = 8, .sequence = 16, .d_model = 32, .heads = 4, .d_ff = 64, .vocab = 48, .layers = Layers}>;
template <class C, mtf::fixed_string Mesh, mtf::fixed_string Rules>
using layout_of =
    mtf::layout_of<Mesh, Rules, typename C::batch, typename C::sequence, typename C::memory, typename C::d_model,
                   typename C::heads, typename C::d_head, typename C::d_ff, typename C::vocab>;
template <class C>
struct loss_of {
  constexpr auto operator()(auto const& p, auto const& ids, auto const& labels) const {
    return mtf::gpt2::model<C>::loss(p, ids, labels);
  }
};
template <int Layers, mtf::fixed_string Mesh, mtf::fixed_string Rules>
constexpr auto plan_with() {
  using C = config<Layers>;
  using tokens = mtf::input<std::int32_t, typename C::batch, typename C::sequence>;
  return mtf::plan_of<layout_of<C, Mesh, Rules>>(
      loss_of<C>{}, mtf::parameters<mtf::gpt2::model<C>::template parameters>{}, tokens{}, tokens{});
}

// Tensor parallelism: two all-reduces of the activations a block, each way (Shoeybi et al. 2019).
constexpr std::uint64_t activations = 8 * 16 * 32 * sizeof(float);
template <int Layers>
constexpr bool megatron() {
  constexpr auto p = plan_with<Layers, "model:2", "heads:model;d_ff:model;vocab:model">();
  auto const whole = [](pass when) {
    return [when](auto const& c) {
      return c.when == when && c.payload == activations && c.kind == collective_kind::all_reduce;
    };
  };
  return p.count(whole(pass::forward)) == 2 * Layers + 1 && p.count(whole(pass::backward)) == 2 * Layers + 1 &&
         p.count() == 4 * Layers + 2 + 2 + 1 && p.collectives.size() <= 9;
}
static_assert(megatron<1>() && megatron<2>() && megatron<3>() && megatron<4>() && megatron<5>() && megatron<48>());

// A plan says what the user wrote: the sum of a contraction's terms is taken where it is needed, and named by the
// contraction and its parameter; backward, by the operation whose result's gradient it is.
constexpr bool is_named() {
  constexpr auto p = plan_with<2, "model:2", "heads:model;d_ff:model;vocab:model">();
  auto const of = [](pass when, std::string_view operation, std::string_view parameter, std::string_view other) {
    return [=](auto const& c) {
      return c.when == when && c.operation == operation && c.payload == activations && c.parameter[0] == parameter &&
             c.parameter[1] == std::string_view("blocks") &&
             (other.empty() ? c.other[0] == nullptr : c.other[0] == other);
    };
  };
  return p.count(of(pass::forward, "linear", "wo", "")) == 2 && p.count(of(pass::forward, "linear", "w2", "")) == 2 &&
         p.count(of(pass::backward, "layer_norm", "gamma1", "beta1")) == 2 &&
         p.count(of(pass::backward, "layer_norm", "gamma2", "beta2")) == 2;
}
static_assert(is_named());

// Two axes: a plan of 48 layers is one of 6 with another count in its loops.
constexpr auto six = plan_with<6, "data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">();
constexpr auto seven = plan_with<7, "data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">();
constexpr auto many = plan_with<48, "data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">();
static_assert(six.collectives.size() == many.collectives.size() && six.loops.size() == many.loops.size());
static_assert([] {
  for (std::size_t i = 0; i < six.collectives.size(); ++i) {
    auto const &a = six.collectives[i], &b = many.collectives[i];
    if (a.kind != b.kind || a.axes != b.axes || a.when != b.when) return false;
    // All small gradients are one message; what a layer adds to it is the same for each.
    if (b.payload - a.payload != 42 * (seven.collectives[i].payload - a.payload)) return false;
    if (a.payload != b.payload && std::string_view(a.operation) != "small gradients") return false;
    if (six.times(i) != many.times(i) && !(six.times(i) == 6 && many.times(i) == 48)) return false;
  }
  return true;
}());
// Memory: what a layer keeps is the same for each.
static_assert((many.peak_bytes - six.peak_bytes) % 42 == 0);
static_assert(seven.peak_bytes - six.peak_bytes == (many.peak_bytes - six.peak_bytes) / 42);

// A loop's peak is in its last round if each leaves something behind, else in its first.
constexpr std::uint64_t peak_of_rounds(std::size_t before, std::size_t made, std::size_t freed, int times = 1) {
  mtf::trace b(mtf::mesh_shape{});
  b.allocate(before);
  for (int i = 0; i < times; ++i) {
    b.begin_loop(2);
    b.begin_loop(3);
    b.allocate(made);
    b.allocate(100);
    b.release(nullptr, 100 + freed);
    b.end_loop();
    b.release(nullptr, 3 * (made - freed));
    b.end_loop();
  }
  return b.peak_bytes();
}
static_assert(peak_of_rounds(40, 10, 0) == 40 + 3 * 10 + 100);
static_assert(peak_of_rounds(90, 0, 30) == 90 + 100);
static_assert(peak_of_rounds(40, 10, 0, 5) == 40 + 3 * 10 + 100);

// Copies for contractions: the Transformer needs none; two contracted dimensions that lie in another order, with one
// between them, cannot be one loop.
static_assert(six.reordered == 0 && many.reordered == 0);
constexpr auto turned = mtf::plan_of<mtf::layout<machine>>(
    [](auto const& x, auto const& w) { return mtf::einsum<batch, digit>(x, w); },
    mtf::input<float, batch, hidden, heads>{}, mtf::input<float, heads, digit, hidden>{});
static_assert(turned.reordered == 1);

// Gradients that are completed during the backward pass: the same messages, in another order.
struct wide : mtf::dim<"wide", 4096> {};
template <template <class...> class Tensor>
struct three {
  Tensor<hidden, wide> first;
  std::array<Tensor<wide>, 5> scales;
  Tensor<wide, hidden> last;
  MTF_FIELDS(first, scales, last);
};
constexpr auto chain = [](auto const& p, auto const& x) {
  auto const h = mtf::scan(p.scales, mtf::einsum<batch, wide>(x, p.first),
                           [](auto const& s, auto const& y, std::size_t) { return y * s; });
  return mtf::mean(mtf::einsum<batch, hidden>(h, p.last));
};
using data_parallel = mtf::layout<mtf::mesh<rows>, mtf::split<batch, rows>>;
constexpr auto later = mtf::plan_of<data_parallel>(chain, mtf::parameters<three>{}, mtf::input<float, batch, hidden>{});
constexpr auto overlapped = mtf::plan_of<data_parallel, mtf::completed_gradients::overlapped>(
    chain, mtf::parameters<three>{}, mtf::input<float, batch, hidden>{});
constexpr std::uint64_t matrix_bytes = 128 * 4096 * sizeof(float);
static_assert(later.bytes_sent_per_rank(pass::backward) == 0 && overlapped.bytes_sent_per_rank(pass::update) == 0);
static_assert(later.bytes_sent_per_rank() == overlapped.bytes_sent_per_rank());
// the loss, first, last, the scales together; and with the backward pass last, first, the scales
static_assert(later.count() == 4 && later.collectives[1].parameter[0] == std::string_view("first"));
static_assert(overlapped.count() == 4 && overlapped.collectives[1].parameter[0] == std::string_view("last") &&
              overlapped.collectives[1].payload == matrix_bytes && overlapped.collectives[2].payload == matrix_bytes &&
              overlapped.collectives[3].payload == 5 * 4096 * sizeof(float));

// Attention over whole sequences sends nothing and stores nothing of the size of their square: q, k and v, the result,
// two numbers a row, and the gradients.
struct long_sequence : mtf::dim<"long_sequence", 4096> {};
struct long_memory : mtf::dim<"long_memory", 4096> {};
template <template <class...> class Tensor>
struct long_sequences {
  Tensor<batch, long_sequence, heads, digit> q;
  Tensor<batch, long_memory, heads, digit> k, v;
  MTF_FIELDS(q, k, v);
};
constexpr auto attention = mtf::plan_of<mtf::layout<machine, mtf::split<batch, rows>, mtf::split<heads, cols>>>(
    [](auto const& p) {
      return mtf::sum(mtf::attention<long_sequence, long_memory, digit>(p.q, p.k, p.v, mtf::visible::causal(), 0.3));
    },
    mtf::parameters<long_sequences>{});
static_assert(attention.count([](auto const& c) { return c.payload > sizeof(double); }) == 0);
static_assert(attention.peak_bytes < 12 * (64 / 2) * (16 / 4) * 4096 * 10 * sizeof(float));

// Loops in loops: four groups of three rows each.
template <template <class...> class Tensor>
struct group_of_rows {
  std::array<Tensor<vocab>, 3> rows;
  MTF_FIELDS(rows);
};
template <template <class...> class Tensor>
struct groups_of_rows {
  std::array<group_of_rows<Tensor>, 4> groups;
  MTF_FIELDS(groups);
};
constexpr auto nested = mtf::plan_of<mtf::layout<mtf::mesh<rows>, mtf::split<batch, rows>>>(
    [](auto const& p, auto const& x) {
      return mtf::mean(mtf::scan(p.groups, x, [](auto const& g, auto const& before, std::size_t) {
        return mtf::scan(g.rows, before, [](auto const& r, auto const& y, std::size_t) { return y * r; });
      }));
    },
    mtf::parameters<groups_of_rows>{}, mtf::input<float, batch, vocab>{});
static_assert(nested.collectives.size() == 2);  // the loss, and the gradients of the rows, in one message
static_assert(nested.collectives[1].payload == 12 * 512 * sizeof(float));
// With large rows the loops stay.
template <template <class...> class Tensor>
struct group_of_tables {
  std::array<Tensor<vocab, hidden, digit>, 3> tables;
  MTF_FIELDS(tables);
};
template <template <class...> class Tensor>
struct groups_of_tables {
  std::array<group_of_tables<Tensor>, 4> groups;
  MTF_FIELDS(groups);
};
constexpr auto nested_tables = mtf::plan_of<mtf::layout<mtf::mesh<rows>, mtf::split<batch, rows>>>(
    [](auto const& p, auto const& x) {
      return mtf::mean(mtf::scan(p.groups, x, [](auto const& g, auto const& before, std::size_t) {
        return mtf::scan(g.tables, before,
                         [](auto const& t, auto const& y, std::size_t) { return y + mtf::sum<hidden, digit>(t); });
      }));
    },
    mtf::parameters<groups_of_tables>{}, mtf::input<float, batch, vocab>{});
static_assert(nested_tables.collectives.size() == 2);
static_assert(nested_tables.loops.size() == 2 && nested_tables.times(0) == 1 && nested_tables.times(1) == 12);

// --- scopes without communication

constexpr auto contraction = [](auto const& x, auto const& w) { return mtf::einsum<batch, digit>(x, w); };
using x_type = mtf::place<float, where>::tensor<batch, hidden>;
using w_type = mtf::place<float, where>::tensor<hidden, digit>;
static_assert(
    std::is_same_v<decltype(mtf::without_communication(contraction)(std::declval<x_type>(), std::declval<w_type>())),
                   decltype(contraction(std::declval<x_type>(), std::declval<w_type>()))>);

// --- a parameter used twice

// Its gradient is whole in one use and partial in the other: completed once, in the message of the small ones, and no
// collective is without a name.
template <template <class...> class Tensor>
struct one_row {
  Tensor<hidden> w;
  MTF_FIELDS(w);
};
constexpr auto decayed = [](auto const& p, auto const& x) { return mtf::mean(x * p.w) + mtf::sum(p.w * p.w); };
constexpr auto twice = mtf::plan_of<mtf::layout<mtf::mesh<rows>, mtf::split<batch, rows>>>(
    decayed, mtf::parameters<one_row>{}, mtf::input<float, batch, hidden>{});
static_assert(twice.count() == 2);  // the loss and the gradient
static_assert(twice.collectives[1].operation == std::string_view("gradient") &&
              twice.collectives[1].parameter[0] == std::string_view("w") &&
              twice.collectives[1].payload == 128 * sizeof(float));
static_assert(mtf::plan_of<mtf::layout<mtf::mesh<rows>, mtf::split<batch, rows>>, mtf::completed_gradients::overlapped>(
                  decayed, mtf::parameters<one_row>{}, mtf::input<float, batch, hidden>{})
                  .count() == 2);

// --- axes of one rank

// Nothing is sent over them, so nothing is planned; over two axes, of which one has one rank, it is.
struct only : mtf::axis<"only", 1> {};
struct alone : mtf::axis<"alone", 1> {};
constexpr auto nothing =
    mtf::plan_of<mtf::layout<mtf::mesh<only, alone>, mtf::split<batch, only>, mtf::split<hidden, alone>>>(
        loss, mtf::parameters<mlp>{}, mtf::input<float, batch, vocab>{}, mtf::input<std::int32_t, batch>{});
static_assert(nothing.count() == 0 && nothing.bytes_sent_per_rank() == 0);
constexpr auto some =
    mtf::plan_of<mtf::layout<mtf::mesh<rows, alone>, mtf::split<batch, rows>, mtf::split<hidden, alone>>>(
        loss, mtf::parameters<mlp>{}, mtf::input<float, batch, vocab>{}, mtf::input<std::int32_t, batch>{});
static_assert(some.count() == 3);  // the loss, the large gradient, the small ones
