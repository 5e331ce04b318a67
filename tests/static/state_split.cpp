// How an optimizer's state is split further, and the plans of steps that end with such an optimizer.
#include "names.hpp"

using mtf::collective_kind;
using mtf::pass;

// --- the rule --------------------------------------------------------------------------------------------------------

struct table_rows : mtf::dim<"table_rows", 1536> {};
struct three_rows : mtf::dim<"three_rows", 3> {};
struct three_rows_more : mtf::dim<"three_rows_more", 3> {};

template <class Layout, class... D>
using parameter = typename mtf::place<float, Layout>::template tensor<D...>;
template <class X, class Split>
using part = mtf::state_part_t<X, Split>;
template <class X, class Split>
constexpr auto parts = X::local_size / part<X, Split>::local_size;

using over_rows = mtf::state_split_over<rows>;
using over_both = mtf::state_split_over<rows, cols>;
using table = parameter<where, table_rows, hidden>;  // hidden is split over cols
using layout_of_part = part<table, over_rows>::layout_type;
static_assert(layout_of_part::split_of(table_rows::id).mask() == 0b01 &&
              layout_of_part::split_of(hidden::id).mask() == 0b10);
static_assert(same<part<table, over_rows>::shape_type, table::shape_type> && parts<table, over_rows> == 2);
// What splits the parameter already splits no more; a dimension stands for the axes that split it; none: nothing
// happens.
static_assert(same<part<table, over_both>, part<table, over_rows>>);
static_assert(same<part<table, mtf::state_split_over<batch>>, part<table, over_rows>>);
static_assert(same<part<table, mtf::state_split_over<hidden>>, table> &&
              same<part<table, mtf::state_split_over<digit>>, table> &&
              same<part<table, mtf::state_split_over<>>, table>);
// Further splits are the inner ones, in the order of the mesh.
using whole = parameter<mtf::layout<machine>, table_rows, hidden>;
static_assert(parts<whole, over_both> == 8 && parts<whole, mtf::state_split_over<cols, rows>> == 8);
using outer = parameter<mtf::layout<machine, mtf::split<table_rows, cols>>, table_rows, hidden>;
static_assert(part<outer, over_rows>::spec[0].split[0] == 1 && part<outer, over_rows>::spec[0].split[1] == 0);
// Split is the first dimension that they divide together, or the first that each of them divides: over_both are 2 and 4
// ranks. What they do not divide stays, and what is small.
template <class... D>
using alone = parameter<mtf::layout<machine>, D...>;
struct six_rows : mtf::dim<"six_rows", 6> {};
struct odd_rows : mtf::dim<"odd_rows", 4095> {};
struct twelve_rows : mtf::dim<"twelve_rows", 12> {};
static_assert(part<alone<three_rows, table_rows, hidden>, over_both>::spec[1].split.size == 2 &&
              parts<alone<three_rows, table_rows, hidden>, over_both> == 8);
static_assert(part<alone<odd_rows, six_rows, twelve_rows>, over_both>::spec[1].split.mask() == 0b01 &&
              part<alone<odd_rows, six_rows, twelve_rows>, over_both>::spec[2].split.mask() == 0b10);
static_assert(
    same<part<alone<odd_rows, three_rows, three_rows_more>, over_both>, alone<odd_rows, three_rows, three_rows_more>>);
static_assert(same<part<parameter<where, hidden, digit>, over_rows>, parameter<where, hidden, digit>>);
// An axis that divides none of them splits several: of GPT-2 XL's projection of queries, 64 parts and 2.
struct many_hosts : mtf::axis<"many_hosts", 128> {};
struct d_model_1600 : mtf::dim<"d_model_1600", 1600> {};
struct heads_25 : mtf::dim<"heads_25", 25> {};
struct d_head_64 : mtf::dim<"d_head_64", 64> {};
using wq = part<parameter<mtf::layout<mtf::mesh<many_hosts>>, d_model_1600, heads_25, d_head_64>,
                mtf::state_split_over<many_hosts>>;
static_assert(wq::local_size == 1600 * 25 * 64 / 128 && wq::spec.local_extent(0, wq::mesh) == 25 &&
              wq::spec.local_extent(1, wq::mesh) == 25 && wq::spec.local_extent(2, wq::mesh) == 32);
static_assert(wq::spec.share(0, 0, wq::mesh).inner == 2 && wq::spec.share(2, 0, wq::mesh).inner == 1);
// The example's output projection of 8 heads on a rank, on a mesh of 16 x 32, is split along d_head.
struct hosts : mtf::axis<"hosts", 16> {};
struct cores : mtf::axis<"cores", 32> {};
struct all_heads : mtf::dim<"all_heads", 256> {};
struct d_head : mtf::dim<"d_head", 128> {};
using wo = parameter<mtf::layout<mtf::mesh<hosts, cores>, mtf::split<all_heads, cores>>, all_heads, d_head, hidden>;
static_assert(parts<wo, mtf::state_split_over<hosts>> == 16 &&
              part<wo, mtf::state_split_over<hosts>>::spec[1].split.mask() == 0b01);
static_assert(parts<parameter<where, table_rows, three_rows, hidden>, over_rows> == 2);
// 64 KiB are small, more is not.
template <int Rows>
struct line : mtf::dim<"line", Rows> {};
static_assert(parts<parameter<mtf::layout<machine>, line<128>, hidden>, over_rows> == 1);
static_assert(parts<parameter<mtf::layout<machine>, line<130>, hidden>, over_rows> == 2);

// State is split like that part, in the type that is computed in.
template <template <class...> class Tensor>
struct table_alone {
  Tensor<table_rows, hidden> table;
  MTF_FIELDS(table);
};
static_assert(same<decltype(mtf::detail::state_t<mtf::detail::kept_like_it<"m">,
                                                 table_alone<mtf::place<mtf::bfloat16, where>::tensor>, over_rows>{}
                                .table),
                   mtf::tensor<float, mtf::shape<table_rows, hidden>, layout_of_part>>);

// --- plans -----------------------------------------------------------------------------------------------------------

struct wide : mtf::dim<"wide", 4096> {};
template <int Layers>
struct network {
  template <template <class...> class Tensor>
  struct layer {
    Tensor<hidden, wide> up;
    Tensor<wide> bias;
    Tensor<wide, hidden> down;
    MTF_FIELDS(up, bias, down);
  };
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<hidden, wide> first;
    std::array<layer<Tensor>, Layers> layers;
    Tensor<wide, hidden> last;
    MTF_FIELDS(first, layers, last);
  };
};
constexpr auto loss = [](auto const& p, auto const& x) {
  auto const h = mtf::scan(p.layers, x, [](auto const& l, auto const& before, std::size_t) {
    return before + mtf::einsum<batch, hidden>(mtf::einsum<batch, wide>(before, l.up) + l.bias, l.down);
  });
  return mtf::mean(mtf::einsum<batch, hidden>(mtf::einsum<batch, wide>(h, p.first), p.last));
};
using data_parallel = mtf::layout<mtf::mesh<cols>, mtf::split<batch, cols>>;
template <int Layers, mtf::completed_gradients When, class Split>
constexpr auto plan = mtf::plan_of<data_parallel, When, Split>(
    loss, mtf::parameters<network<Layers>::template parameters>{}, mtf::input<float, batch, hidden>{});
constexpr auto later = mtf::completed_gradients::later, overlapped = mtf::completed_gradients::overlapped;
using over_batch = mtf::state_split_over<batch>;

constexpr std::uint64_t matrix = 128 * 4096 * sizeof(float), number = sizeof(double);
template <mtf::completed_gradients When, class Split>
constexpr auto six = plan<6, When, Split>;
// A reduce-scatter and an all-gather for each matrix, the biases in one all-reduce; as many bytes as without, and the
// norm's.
static_assert(six<overlapped, over_batch>.count(collective_kind::reduce_scatter) == 14 &&
              six<overlapped, over_batch>.count(collective_kind::all_gather) == 14 &&
              six<overlapped, over_batch>.count(collective_kind::all_reduce) == 3);
static_assert(six<overlapped, over_batch>.bytes_sent_per_rank() ==
              six<overlapped, mtf::state_split_over<>>.bytes_sent_per_rank() +
                  mtf::bytes_sent(collective_kind::all_reduce, number, 4));
static_assert(six<overlapped, over_batch>.bytes_sent_per_rank(pass::update) ==
              14 * mtf::bytes_sent(collective_kind::all_gather, matrix / 4, 4) +
                  mtf::bytes_sent(collective_kind::all_reduce, number, 4));
static_assert(six<later, over_batch>.bytes_sent_per_rank(pass::backward) == 0 &&
              six<later, over_batch>.bytes_sent_per_rank() == six<overlapped, over_batch>.bytes_sent_per_rank());
// Whose parameter it is.
static_assert([] {
  auto const& last = six<overlapped, over_batch>.collectives.back();
  return last.kind == collective_kind::all_gather && last.operation == std::string_view("parameter") &&
         last.parameter[0] == std::string_view("last") && last.payload == matrix / 4;
}());
// Equal layers are loops in all passes; of a layer's gradients a quarter stays.
constexpr auto &a = six<overlapped, over_batch>, &b = plan<7, overlapped, over_batch>,
               &c = plan<48, overlapped, over_batch>;
static_assert(a.collectives.size() == c.collectives.size() && a.loops.size() == c.loops.size());
static_assert(b.count() - a.count() == 4 && c.count() - a.count() == 4 * 42);
static_assert(c.peak_bytes < plan<48, overlapped, mtf::state_split_over<>>.peak_bytes - 48 * matrix);

// Where the parts are not contiguous: the same messages, packed.
template <template <class...> class Tensor>
struct one_of_three {
  Tensor<three_rows, wide, hidden> w;
  MTF_FIELDS(w);
};
constexpr auto weighted = [](auto const& p, auto const& x) {
  return mtf::mean(mtf::einsum<batch, three_rows, wide>(p.w, x));
};
template <class Split>
constexpr auto packed = mtf::plan_of<data_parallel, later, Split, mtf::updated_by<mtf::adamw>>(
    weighted, mtf::parameters<one_of_three>{}, mtf::input<float, batch, hidden>{});
static_assert(packed<over_batch>.count(collective_kind::reduce_scatter) == 1 &&
              packed<over_batch>.count(collective_kind::all_gather) == 1);
static_assert(packed<over_batch>.bytes_sent_per_rank() == packed<mtf::state_split_over<>>.bytes_sent_per_rank() +
                                                              mtf::bytes_sent(collective_kind::all_reduce, number, 4));
static_assert(packed<over_batch>.peak_bytes < packed<mtf::state_split_over<>>.peak_bytes);
