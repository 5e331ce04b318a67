// The layout that the compiler finds: what the search finds when the program runs, and its price is that of its plan.
// devices: none
#include <algorithm>
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

/// What the search finds when the program runs is the layout of `Best`, with its price, and so found.
template <auto const& Best, mtf::machine_description const& Machine>
void check(mtf::least of, mtf::layouts_to_search among, auto const& f, auto const&... in) {
  using chosen = typename std::remove_cvref_t<decltype(Best)>::layout;
  among.of = of;
  among.wanted = 1;
  among.completed = mtf::completed_gradients::later;
  auto const found = mtf::search_layouts(f, Machine, among, in...);
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
/// Its price is that of the plan of its type.
template <auto const& Best, mtf::machine_description const& Machine, mtf::completed_gradients When, class Split,
          class Update>
constexpr bool is_planned() {
  constexpr auto plan = mtf::plan_of<typename std::remove_cvref_t<decltype(Best)>::layout, When, Split, Update>(
      loss{}, parameters, x, labels);
  return plan.seconds(Machine) == Best.seconds && plan.bytes_sent_per_rank() == Best.bytes_sent &&
         plan.peak_bytes == Best.memory;
}
template <auto const& Best, mtf::machine_description const& Machine>
constexpr bool is_planned_plainly =
    is_planned<Best, Machine, mtf::completed_gradients::later, mtf::state_split_over<>, mtf::without_update>();

constexpr auto on_fast_links = mtf::best_layout_of<grid, fast_links>(loss{}, parameters, x, labels);
constexpr auto on_slow_links = mtf::best_layout_of<grid, slow_links>(loss{}, parameters, x, labels);
using by_examples = mtf::layout<grid, mtf::split<examples, data>>;
constexpr auto pinned = mtf::best_layout_of<by_examples, fast_links, mtf::least::memory>(loss{}, parameters, x, labels);

static_assert(is_planned_plainly<on_fast_links, fast_links> && is_planned_plainly<on_slow_links, slow_links> &&
              is_planned_plainly<pinned, fast_links>);

// Another step: gradients completed beside the backward pass, the optimizer in it, its state split.
using split_state = mtf::state_split_over<examples>;
using update = mtf::updated_by<mtf::adamw>;
constexpr auto overlapped = mtf::completed_gradients::overlapped;
constexpr auto of_whole_step =
    mtf::best_layout_of<mtf::mesh<model>, slow_links, mtf::least::seconds, overlapped, split_state, update>(
        loss{}, parameters, x, labels);
static_assert(is_planned<of_whole_step, slow_links, overlapped, split_state, update>());

static_assert(std::is_same_v<mtf::best_layout<mtf::mesh<model>, fast_links, loss, mtf::parameters<mlp>,
                                              mtf::input<float, examples, pixels>, mtf::input<std::int32_t, examples>>,
                             mtf::layout<mtf::mesh<model>, mtf::split<hidden, model>>>);

// A pinned rule for a dimension that no argument has.
struct columns : mtf::dim<"columns", 96> {};
constexpr auto renamed = [](auto const& a) { return mtf::relu(mtf::rename<pixels, columns>(a)); };
constexpr auto in_columns = mtf::best_layout_of<mtf::layout<grid, mtf::split<columns, model>>, fast_links>(renamed, x);
static_assert(mtf::value_of<decltype(in_columns)::layout>.split_of(columns::id).size == 1);

// A program that refuses what no rule does.
constexpr auto particular = [](auto const& a) {
  if constexpr (requires { a.where(); })
    if (a.where().spec[0].split.size > 0) throw mtf::user_error("examples are to stay whole");
  return mtf::relu(a);
};
constexpr auto of_particular = mtf::best_layout_of<grid, fast_links>(particular, x);
static_assert(of_particular.refused > 0);

}  // namespace

TEST_CASE("the compiler's choice is the search's") {
  mtf::layouts_to_search among;
  among.mesh = mtf::value_of<mtf::layout<grid>>.mesh;
  check<on_fast_links, fast_links>(mtf::least::seconds, among, loss{}, parameters, x, labels);
  check<on_slow_links, slow_links>(mtf::least::seconds, among, loss{}, parameters, x, labels);
  check<of_particular, fast_links>(mtf::least::seconds, among, particular, x);
  among.pinned = {mtf::value_of<by_examples>};
  check<pinned, fast_links>(mtf::least::memory, among, loss{}, parameters, x, labels);
}

TEST_CASE("the compiler's choice for a step with an optimizer is the search's, of those whose state is split") {
  mtf::layouts_to_search among;
  among.mesh = mtf::value_of<mtf::layout<mtf::mesh<model>>>.mesh;
  among.wanted = 1000;
  among.completed = overlapped;
  auto const found = mtf::search_layouts<split_state, update>(loss{}, slow_links, among, parameters, x, labels);
  auto const is_ours = [](auto const& f) {
    return f.layouts.front() == mtf::value_of<decltype(of_whole_step)::layout>;
  };
  CHECK(std::any_of(found.best.begin(), found.best.end(),
                    [&](auto const& f) { return is_ours(f) && f.seconds == of_whole_step.seconds; }));
  CHECK(std::all_of(found.best.begin(), found.best.end(),
                    [](auto const& f) { return !f.state_is_split || f.seconds >= of_whole_step.seconds; }));
}
