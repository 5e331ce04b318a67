// The search for layouts finds what plain enumeration finds: every assignment of dimensions to axes is planned, and
// none is better than the best that was found.
// devices: none
// compilers: first
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/detail/plan/layout_bounds.hpp>
#include <mtf/detail/plan/layout_space.hpp>
#include <mtf/detail/plan/priced_plan.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/machines.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/plan/search.hpp>

#include "support/model_loss.hpp"

namespace {

using config = model_config<model_sizes{
    .batch = 16, .sequence = 32, .d_model = 64, .heads = 4, .d_ff = 512, .vocab = 640, .layers = 3}>;
using transformer_loss = model_loss<config>;
using halves_loss = model_loss<config, mtf::any_layout<1>>;

struct examples : mtf::dim<"examples", 64> {};
struct pixels : mtf::dim<"pixels", 96> {};
struct columns : mtf::dim<"columns", 96> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct classes : mtf::dim<"classes", 12> {};
template <template <class...> class Tensor>
struct mlp {
  Tensor<pixels, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, classes> w2;
  MTF_FIELDS(w1, b1, w2);
};
struct mlp_loss {
  constexpr auto operator()(auto const& p, auto const& x, auto const& labels) const {
    auto const h = mtf::relu(mtf::linear<examples, hidden>(x, p.w1, p.b1));
    return mtf::mean(mtf::cross_entropy<classes>(mtf::einsum<examples, classes>(h, p.w2), labels));
  }
};

/// A program, how many layouts it has, how it is planned and searched, and its dimensions: the first of these are
/// enumerated on several axes.
struct small_transformer {
  static constexpr std::size_t layouts = 1;
  static constexpr std::array dims{"batch", "sequence", "d_model", "heads", "d_ff", "vocab", "memory", "d_head"};
  using split = mtf::state_split_over<config::batch, config::sequence>;
  static auto apply(auto const& f) {
    using loss = transformer_loss;
    return f(loss{}, loss::parameters, loss::tokens, loss::tokens);
  }
};
struct two_halves : small_transformer {
  static constexpr std::size_t layouts = 2;
  static auto apply(auto const& f) {
    using loss = halves_loss;
    return f(loss{}, loss::parameters, loss::tokens, loss::tokens);
  }
};
struct small_mlp {
  static constexpr std::size_t layouts = 1;
  static constexpr std::array dims{"examples", "pixels", "hidden", "classes"};
  using split = mtf::state_split_over<examples>;
  static auto apply(auto const& f) {
    return f(mlp_loss{}, mtf::parameters<mlp>{}, mtf::input<float, examples, pixels>{},
             mtf::input<std::int32_t, examples>{});
  }
};

struct small_pass {
  static constexpr std::size_t layouts = 1;
  static constexpr std::array dims{"examples", "pixels", "hidden", "classes"};
  using split = mtf::state_split_over<>;
  /// The logits, whole on all ranks. What comes first is no parameter: nothing is differentiated.
  struct logits {
    constexpr auto operator()(auto const& x, auto const& p) const {
      auto const h = mtf::relu(mtf::linear<examples, hidden>(x, p.w1, p.b1));
      auto const z = mtf::einsum<examples, classes>(h, p.w2);
      return mtf::relayout<mtf::layout<typename std::remove_cvref_t<decltype(z)>::mesh_type>>(mtf::complete(z));
    }
  };
  static auto apply(auto const& f) {
    return f(logits{}, mtf::input<float, examples, pixels>{}, mtf::parameters<mlp>{});
  }
};

/// Nodes of two ranks, slow outside, that overlap half of what they can.
constexpr mtf::machine_description pairs() {
  mtf::machine_description m;
  m.name = mtf::short_name("pairs");
  m.ranks_per_node = 2;
  m.add({mtf::short_name(""), mtf::limit::matrix, 0, mtf::speed_table::roofline(1e12, 1e11, 4)});
  m.add({mtf::short_name(""), mtf::limit::memory, 0, mtf::speed_table(1e11)});
  m.in_node = mtf::machine_description::links(1e-6, 5e10);
  m.between_nodes = mtf::machine_description::links(2e-5, 1e9);
  m.overlap = 0.5;
  return m;
}
constexpr std::array machines{mtf::machines::h100_nodes(), mtf::machines::tpu_v2_pod(), pairs()};
constexpr std::array goals{mtf::least::seconds, mtf::least::bytes_sent, mtf::least::memory};

/// All that a layout can be priced by, for each machine: the least over the four ways of completing gradients.
struct enumerated {
  struct way {
    std::array<double, machines.size()> seconds{};
    double bytes_sent = 0, memory = 0;
  };
  std::vector<way> ways;
  [[nodiscard]] double least_of(mtf::least what, std::size_t machine, double limit) const {
    double best = -1;
    for (auto const& w : ways) {
      double const price = what == mtf::least::seconds  ? w.seconds[machine]
                           : what == mtf::least::memory ? w.memory
                                                        : w.bytes_sent;
      if (w.memory <= limit && (best < 0 || price < best)) best = price;
    }
    return best;
  }
};

template <class Program>
std::vector<enumerated> enumerate(mtf::mesh_value const& mesh, std::size_t dims) {
  using enum mtf::completed_gradients;
  using whole = mtf::state_split_over<>;
  std::vector<enumerated> all;
  auto const axes = static_cast<unsigned>(mesh.shape.ndim);
  std::size_t const sets = std::size_t{1} << axes;
  std::size_t count = 1;
  for (std::size_t d = 0; d < dims * Program::layouts; ++d) count *= sets;
  for (std::size_t n = 0; n < count; ++n) {
    std::vector<mtf::layout_value> layout(Program::layouts, mtf::layout_value{.mesh = mesh});
    for (std::size_t d = 0, rest = n; d < dims * Program::layouts; ++d, rest /= sets) {
      mtf::axis_list split;
      for (unsigned a = 0; a < axes; ++a)
        if (((rest % sets >> a) & 1U) != 0) split.push(static_cast<int>(a));
      if (split.size > 0) layout[d / dims].split(Program::dims[d % dims], split);
    }
    enumerated e;
    auto const add = [&](auto const& plan) {
      enumerated::way w;
      for (std::size_t m = 0; m < machines.size(); ++m) w.seconds[m] = plan.seconds(machines[m]);
      w.bytes_sent = static_cast<double>(plan.bytes_sent_per_rank());
      w.memory = static_cast<double>(plan.peak_bytes);
      e.ways.push_back(w);
    };
    try {
      Program::apply([&](auto const& f, auto... in) {
        add(mtf::plan_under<later, whole>(f, layout, in...));
        add(mtf::plan_under<overlapped, whole>(f, layout, in...));
        add(mtf::plan_under<later, typename Program::split>(f, layout, in...));
        add(mtf::plan_under<overlapped, typename Program::split>(f, layout, in...));
      });
    } catch (mtf::user_error const&) {
      continue;
    }
    all.push_back(e);
  }
  return all;
}

template <class Program>
mtf::searched_layouts search(mtf::machine_description const& machine, mtf::layouts_to_search const& among) {
  return Program::apply([&](auto const& f, auto... in) {
    return mtf::search_layouts<typename Program::split>(f, machine, among, in...);
  });
}

std::size_t spaces = 0;

/// For each machine, goal and limit of memory: the three best are those of the enumeration over some dimensions.
template <class Program>
void agree(std::string_view text, std::size_t dims = Program::dims.size()) {
  auto const mesh = mtf::mesh_from(text);
  auto const all = enumerate<Program>(mesh, dims);
  REQUIRE(!all.empty());
  double least_memory = -1, most_memory = 0;
  for (auto const& e : all)
    for (auto const& w : e.ways) {
      least_memory = least_memory < 0 ? w.memory : std::min(least_memory, w.memory);
      most_memory = std::max(most_memory, w.memory);
    }
  for (std::size_t m = 0; m < machines.size(); ++m)
    for (auto const goal : goals)
      for (double const limit : {1e18, (least_memory + most_memory) / 2, least_memory, least_memory - 1}) {
        std::vector<double> prices;
        for (auto const& e : all)
          if (double const p = e.least_of(goal, m, limit); p >= 0) prices.push_back(p);
        std::sort(prices.begin(), prices.end());
        prices.resize(std::min<std::size_t>(prices.size(), 3));
        mtf::layouts_to_search among;
        among.mesh = mesh;
        among.memory = static_cast<std::uint64_t>(limit);
        among.of = goal;
        among.layouts = Program::layouts;
        for (std::size_t d = dims; d < Program::dims.size(); ++d) among.whole.emplace_back(Program::dims[d]);
        auto const found = search<Program>(machines[m], among);
        CAPTURE(text);
        CAPTURE(machines[m].name.view());
        CAPTURE(static_cast<int>(goal));
        CAPTURE(limit);
        std::vector<double> best;
        for (auto const& f : found.best) best.push_back(f.of(goal));
        CHECK(best == prices);
        // Every layout that the rules take was listed, and nothing was lost on the way.
        CHECK(found.layouts >= all.size());
        ++spaces;
      }
}

}  // namespace

TEST_CASE("one axis: every layout of a transformer") {
  agree<small_transformer>("a:2");
  agree<small_transformer>("a:4");
}
TEST_CASE("two and three axes: every layout of a perceptron") {
  agree<small_mlp>("a:2;b:2");
  agree<small_mlp>("a:4;b:2");
  agree<small_mlp>("a:2;b:3;c:2");
}
TEST_CASE("every layout of a pass without gradients") {
  agree<small_pass>("a:4");
  agree<small_pass>("a:4;b:2");
  agree<small_pass>("a:2;b:3;c:2");
}
TEST_CASE("two axes: every layout of a transformer that splits six dimensions") {
  agree<small_transformer>("a:2;b:4", 6);
}
TEST_CASE("two layouts of one program: every pair that splits five dimensions") {
  agree<two_halves>("a:2", 5);
  agree<two_halves>("a:4", 5);
}
/// For every set of dimensions that one axis may split.
template <class Program>
int agree_between_extents(std::array<int, 3> const& extents) {
  int agreed = 0;
  for (unsigned set = 1; set < 1U << Program::dims.size(); ++set) {
    auto const sent_on = [&](int extent) -> std::optional<mtf::detail::layout_bounds::collectives_sent> {
      std::vector<mtf::layout_value> layout(1, {.mesh = mtf::detail::named_mesh({1, {extent, 1, 1, 1, 1, 1}})});
      mtf::axis_list a;
      a.push(0);
      for (std::size_t d = 0; d < Program::dims.size(); ++d)
        if ((set >> d & 1U) != 0) layout.front().split(Program::dims[d], a);
      try {
        return Program::apply([&](auto const& f, auto... in) {
          using enum mtf::completed_gradients;
          using whole = mtf::state_split_over<>;
          auto const plan = mtf::plan_under<later, whole, mtf::detail::backward_alone>(f, layout, in...);
          return mtf::detail::priced(plan, machines[0]).others;
        });
      } catch (mtf::user_error const&) {
        return std::nullopt;
      }
    };
    CAPTURE(set);
    for (int const from : extents)
      for (int const to : extents) {
        auto const one = sent_on(from), other = sent_on(to);
        if (!one || !other) continue;
        CHECK(one->tells_of_others() == other->tells_of_others());
        if (from != to && !one->tells_of_others()) continue;
        auto const told = one->on_another(from, to);
        CHECK(told.count == other->count);
        CHECK(told.payload == other->payload);
        CHECK(told.bytes_sent <= other->bytes_sent);
        double calls = 0;
        for (double const n : other->count) calls += n;
        CHECK(told.bytes_sent >= other->bytes_sent - 4 * calls);
        ++agreed;
      }
  }
  return agreed;
}
TEST_CASE("what is sent along an axis of one extent tells what is along another") {
  CHECK(agree_between_extents<small_transformer>({2, 4, 16}) > 0);
  CHECK(agree_between_extents<small_mlp>({2, 3, 4}) > 0);
}

TEST_CASE("as many small spaces as were asked for") { CHECK(spaces >= 20); }

TEST_CASE("all meshes of some ranks: the best of each mesh") {
  for (auto const& machine : machines)
    for (auto const goal : goals) {
      mtf::layouts_to_search among;
      among.ranks = 12;
      among.of = goal;
      among.wanted = 1;
      auto const free = search<small_mlp>(machine, among);
      REQUIRE(free.best.size() == 1);
      double best = -1;
      for (auto const* text :
           {"a:12", "a:6;b:2", "a:2;b:6", "a:3;b:4", "a:4;b:3", "a:2;b:2;c:3", "a:2;b:3;c:2", "a:3;b:2;c:2"}) {
        among.mesh = mtf::mesh_from(text);
        auto const on = search<small_mlp>(machine, among);
        if (on.best.empty()) continue;
        double const price = on.best.front().of(goal);
        best = best < 0 ? price : std::min(best, price);
      }
      CHECK(free.best.front().of(goal) == doctest::Approx(best).epsilon(1e-12));
    }
}

TEST_CASE("pinned rules are part of every layout, and whole dimensions of none") {
  mtf::layouts_to_search among;
  among.mesh = mtf::mesh_from("data:2;model:2");
  among.wanted = 1000;
  among.pinned = {mtf::layout_from(*among.mesh, "hidden:model")};
  among.whole = {"examples"};
  auto const found = search<small_mlp>(pairs(), among);
  REQUIRE(!found.best.empty());
  for (auto const& f : found.best) {
    CHECK(f.layouts.front().text().find("hidden:model") != std::string::npos);
    CHECK(f.layouts.front().text().find("examples") == std::string::npos);
  }
  CHECK(found.bounded == 0);
  CHECK(found.tried == found.layouts);
  std::uint64_t refused = 0;
  for (auto const& why : found.refused) refused += why.second;
  CHECK(found.best.size() + refused == found.tried);
}

TEST_CASE("layouts that are not planned are counted by why not") {
  mtf::layouts_to_search among;
  among.ranks = 12;
  among.wanted = 100000;  // so all are planned, and none may be below its bound
  for (auto const& machine : machines)
    for (auto const goal : goals) {
      among.of = goal;
      CHECK(search<small_mlp>(machine, among).bounded == 0);
    }
  among.of = mtf::least::seconds;
  auto const all = search<small_mlp>(pairs(), among);
  CHECK(all.elsewhere > 0);
  CHECK(all.parameters_too_large == 0);
  CHECK(all.bounded == 0);
  among.memory = 1;
  auto const none = search<small_mlp>(pairs(), among);
  CHECK(none.best.empty());
  CHECK(none.elsewhere == all.elsewhere);
  CHECK(none.parameters_too_large == all.tried);
}

TEST_CASE("a dimension that only a rename makes is one of the program") {
  mtf::layouts_to_search among;
  among.mesh = mtf::mesh_from("a:2");
  among.pinned = {mtf::layout_from(*among.mesh, "columns:a")};
  auto const by_columns = [](auto const& x) { return mtf::rename<pixels, columns>(x); };
  auto const found = mtf::search_layouts(by_columns, pairs(), among, mtf::input<float, examples, pixels>{});
  REQUIRE(!found.best.empty());
  CHECK(found.best.front().layouts.front().text().find("columns:a") != std::string::npos);
}

TEST_CASE("what a search cannot do is said") {
  mtf::layouts_to_search among;
  auto const says = [&](std::string_view what) {
    try {
      search<small_mlp>(pairs(), among);
    } catch (mtf::user_error const& e) {
      return std::string_view(e.what()).find(what) != std::string_view::npos;
    }
    return false;
  };
  among.whole = {"hiden"};
  CHECK(says("no tensor of the program has the dimension hiden; it has examples, pixels, hidden, classes"));
  among.whole.clear();
  among.pinned = {mtf::layout_from(mtf::mesh_from("a:2"), "hidden:a")};
  CHECK(says("pinned rules name axes"));
  among.pinned.clear();
  among.ranks = 0;
  CHECK(says("1 or more ranks"));
}
