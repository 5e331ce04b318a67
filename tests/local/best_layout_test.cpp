// The layout that the compiler finds: what the search finds when the program runs, and its price is that of its plan.
// devices: none
#include <cstdint>
#include <type_traits>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>
#include <mtf/plan/best_layout.hpp>
#include <mtf/plan/search.hpp>

namespace {

struct examples : mtf::dim<"examples", 64> {};
struct pixels : mtf::dim<"pixels", 96> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct classes : mtf::dim<"classes", 12> {};
template <template <class...> class Tensor>
struct layer {
  Tensor<pixels, hidden> w;
  Tensor<hidden> b;
  MTF_FIELDS(w, b);
};
template <template <class...> class Tensor>
struct mlp {
  layer<Tensor> first;
  Tensor<hidden, classes> w;
  MTF_FIELDS(first, w);
};
struct loss {
  constexpr auto operator()(auto const& p, auto const& x, auto const& labels) const {
    auto const h = mtf::relu(mtf::linear<examples, hidden>(x, p.first.w, p.first.b));
    return mtf::mean(mtf::cross_entropy<classes>(mtf::einsum<examples, classes>(h, p.w), labels));
  }
};
constexpr mtf::parameters<mlp> parameters;
constexpr mtf::input<float, examples, pixels> x;
constexpr mtf::input<std::int32_t, examples> labels;

struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 4> {};
using grid = mtf::mesh<data, model>;

/// Slow enough to compute that splitting pays.
constexpr mtf::machine_description slow(double bytes_per_second) {
  mtf::machine_description m;
  m.name = mtf::short_name("slow");
  m.add({mtf::short_name(""), mtf::limit::matrix, 0, mtf::speed_table::roofline(1e10, 1e10, 4)});
  m.add({mtf::short_name(""), mtf::limit::memory, 0, mtf::speed_table(1e10)});
  m.in_node = m.between_nodes = mtf::machine_description::links(1e-6, bytes_per_second);
  return m;
}
constexpr auto fast_links = slow(1e12), slow_links = slow(1e8);

template <auto const& Best, mtf::machine_description const& Machine>
void check(mtf::least of, mtf::layouts_to_search among) {
  using chosen = typename std::remove_cvref_t<decltype(Best)>::layout;
  constexpr auto plan = mtf::plan_of<chosen>(loss{}, parameters, x, labels);
  static_assert(plan.seconds(Machine) == Best.seconds && plan.bytes_sent_per_rank() == Best.bytes_sent &&
                plan.peak_bytes == Best.memory);
  among.of = of;
  among.wanted = 1;
  among.completed = mtf::completed_gradients::later;
  auto const found = mtf::search_layouts(loss{}, Machine, among, parameters, x, labels);
  REQUIRE(found.best.size() == 1);
  auto const& value = found.best.front().layouts.front();
  CHECK(value.size == mtf::value_of<chosen>.size);
  for (int i = 0; i < value.size; ++i) {
    auto const& rule = value.rules[static_cast<std::size_t>(i)];
    CHECK(rule.axes == mtf::value_of<chosen>.split_of(rule.dim));
  }
  CHECK(found.best.front().of(of) == (of == mtf::least::seconds  ? Best.seconds
                                      : of == mtf::least::memory ? static_cast<double>(Best.memory)
                                                                 : static_cast<double>(Best.bytes_sent)));
  CHECK(found.layouts == Best.layouts);
  CHECK(found.tried == Best.tried);
  std::uint64_t refused = 0;
  for (auto const& why : found.refused) refused += why.second;
  CHECK(refused == Best.refused);
}

constexpr auto on_fast_links = mtf::best_layout_of<grid, fast_links>(loss{}, parameters, x, labels);
constexpr auto on_slow_links = mtf::best_layout_of<grid, slow_links>(loss{}, parameters, x, labels);
using by_examples = mtf::layout<grid, mtf::split<examples, data>>;
constexpr auto pinned = mtf::best_layout_of<by_examples, fast_links, mtf::least::memory>(loss{}, parameters, x, labels);

static_assert(std::is_same_v<mtf::best_layout<mtf::mesh<model>, fast_links, loss, mtf::parameters<mlp>,
                                              mtf::input<float, examples, pixels>, mtf::input<std::int32_t, examples>>,
                             mtf::layout<mtf::mesh<model>, mtf::split<hidden, model>>>);

// A pinned rule for a dimension that no argument has.
struct columns : mtf::dim<"columns", 96> {};
constexpr auto renamed = [](auto const& a) { return mtf::relu(mtf::rename<pixels, columns>(a)); };
constexpr auto in_columns = mtf::best_layout_of<mtf::layout<grid, mtf::split<columns, model>>, fast_links>(renamed, x);
static_assert(mtf::value_of<decltype(in_columns)::layout>.split_of(columns::id).size == 1);

}  // namespace

TEST_CASE("the compiler's choice is the search's") {
  mtf::layouts_to_search among;
  among.mesh = mtf::value_of<mtf::layout<grid>>.mesh;
  check<on_fast_links, fast_links>(mtf::least::seconds, among);
  check<on_slow_links, slow_links>(mtf::least::seconds, among);
  among.pinned = {mtf::value_of<by_examples>};
  check<pinned, fast_links>(mtf::least::memory, among);
}
