// What programs of several parts do: micro-batches, layers that are computed again, several structures, a loss with
// something beside it. All equal the plain program, and send what was planned.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/threads.hpp>

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;

struct batch : mtf::dim<"batch", 8> {};  // a micro-batch
struct many : mtf::dim<"many", 64> {};   // eight of them
struct in : mtf::dim<"in", 128> {};
struct hidden : mtf::dim<"hidden", 256> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<in, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, in> w2;
  MTF_FIELDS(w1, b1, w2);
};
// `scale` is used inside of every layer and outside of them.
template <template <class...> class Tensor>
struct network {
  std::array<layer<Tensor>, 6> layers;
  Tensor<in> scale;
  MTF_FIELDS(layers, scale);
};

template <class Batch>
struct one_layer {
  constexpr auto operator()(auto const& p, auto const& scale, auto const& x, mtf::random_key key) const {
    auto const h = mtf::tanh(mtf::linear<Batch, hidden>(mtf::dropout(x, 0.25, key), p.w1, p.b1));
    return x + mtf::complete(mtf::einsum<Batch, in>(h, p.w2)) * scale;
  }
};
enum class how { kept, recomputed, nested };

template <class Batch, how How>
struct loss {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const through = mtf::scan(p.layers, x, [&](auto const& each, auto const& y, std::size_t i) {
      auto const key = mtf::random_key(5).of(i);
      using f = one_layer<Batch>;
      if constexpr (How == how::kept)
        return f{}(each, p.scale, y, key);
      else if constexpr (How == how::recomputed)
        return mtf::recompute(f{}, each, p.scale, y, key);
      else
        return mtf::recompute([](auto const& q, auto const& s, auto const& z,
                                 mtf::random_key k) { return mtf::recompute(f{}, q, s, z, k); },
                              each, p.scale, y, key);
    });
    return mtf::mean(mtf::square(through * p.scale));
  }
};

template <class T, class Layout>
using place = mtf::place<T, Layout, backend>;
template <class T, class Layout>
using parameters = network<place<T, Layout>::template tensor>;

template <class T, class Layout>
parameters<T, Layout> initial(backend& machine) {
  parameters<T, Layout> p;
  mtf::for_each_tensor(
      [&](std::string_view name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(1).of(name), 0, 0.1);
      },
      p);
  return p;
}

/// All elements of a structure's gradients, as this rank holds them.
template <class Gradients>
std::vector<double> elements(Gradients const& gradients) {
  std::vector<double> all;
  mtf::for_each_tensor(
      [&](auto, auto const& g) {
        for (auto const e : g.complete().local()) all.push_back(static_cast<double>(e));
      },
      gradients);
  return all;
}
double apart(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  REQUIRE(largest > 0);
  return worst / largest;
}

constexpr auto later = mtf::completed_gradients::later;
constexpr auto overlapped = mtf::completed_gradients::overlapped;
using split = mtf::state_split_over<batch>;

constexpr mtf::parameters<network, double> planned_parameters;
template <class Batch>
inline constexpr mtf::input<double, Batch, in> planned_input;

/// Every mesh of these: the layouts are values, so that each program is compiled once.
constexpr std::array<std::array<std::string_view, 2>, 3> meshes{
    {{"one:1", ""}, {"data:2;model:2", "batch:data;hidden:model"}, {"data:4", "batch:data"}}};
template <class F>
void on_each_mesh(F const& f) {
  for (auto const& [mesh, rules_of] : meshes) {
    std::string_view const rules = rules_of;
    CAPTURE(mesh);
    auto const layout = mtf::layout_from(mtf::mesh_from(mesh), rules);
    mtf::rank_threads pool(layout.mesh.shape.size());
    pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
      backend machine = backend::one_of_many(ranks);
      machine.layouts().add(mtf::layout_from(layout.mesh, std::string(rules) + (rules.empty() ? "" : ";many:data")));
      f(machine, layout);
    });
  }
}
using by_value = mtf::any_layout<0>;

/// Rows [first, first + n) of one array, whatever the batch is called.
template <class T, class Batch, class Layout = by_value>
auto rows(backend& machine, std::size_t first) {
  using X = typename place<T, Layout>::template tensor<Batch, in>;
  std::vector<T> all(static_cast<std::size_t>(X::shape_type::size));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] =
        static_cast<T>(static_cast<double>(mtf::random_key(9).of(first * in::extent + i).bits() % 2001) / 1000 - 1);
  return mtf::from_global<X>(machine, all);
}

template <how How>
using of_batch = loss<batch, How>;

template <mtf::completed_gradients When, class Split, how How>
void recomputes(backend& machine) {
  auto const p = initial<double, by_value>(machine);
  auto const x = rows<double, batch>(machine, 0);
  auto const [value, gradients] = mtf::value_and_grad<Split>(of_batch<how::kept>{}, When)(p, x);
  auto const [again, found] = mtf::value_and_grad<Split>(of_batch<How>{}, When)(p, x);
  CHECK(mtf::item(again) == mtf::item(value));
  CHECK(elements(found) == elements(gradients));
}

TEST_CASE("what is computed again gives the same bits") {
  on_each_mesh([](auto& machine, auto const&) {
    recomputes<later, mtf::state_split_over<>, how::recomputed>(machine);
    recomputes<overlapped, split, how::recomputed>(machine);
    recomputes<overlapped, mtf::state_split_over<>, how::nested>(machine);
  });
}

template <class T, mtf::completed_gradients When, class Split>
void accumulates(backend& machine, double tolerance) {
  auto const p = initial<T, by_value>(machine);
  auto const step = mtf::value_and_grad<Split>(mtf::accumulated(of_batch<how::kept>{}, 8), When);
  auto const at = [&](std::size_t i) { return rows<T, batch>(machine, i * batch::extent); };
  auto const [value, gradients] = step(p, at);
  // Called by itself it evaluates.
  CHECK(mtf::item(mtf::accumulated(of_batch<how::kept>{}, 8)(p, at)) == mtf::item(value));
  // By sums of gradients that are not reduced.
  auto const each = mtf::value_and_grad(of_batch<how::kept>{});
  auto [first, sum] = each(p, at(0));
  double total = mtf::item(first);
  for (std::size_t i = 1; i < 8; ++i) {
    auto const [v, g] = each(p, at(i));
    mtf::add_gradients(sum, g);
    total += mtf::item(v);
  }
  mtf::scale_gradients(sum, 0.125);
  CHECK(mtf::item(value) == doctest::Approx(total / 8).epsilon(tolerance));
  CHECK(apart(elements(gradients), elements(sum)) <= tolerance);
}

TEST_CASE("sums of gradients, by hand and accumulated") {
  on_each_mesh([](auto& machine, auto const&) {
    accumulates<double, later, mtf::state_split_over<>>(machine, 1e-14);
    accumulates<double, overlapped, split>(machine, 1e-14);
    accumulates<float, overlapped, mtf::state_split_over<>>(machine, 1e-6);
  });
}

/// Without dropout eight micro-batches are one batch.
template <class Batch>
struct plain_loss {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const y = mtf::scan(p.layers, x, [](auto const& q, auto const& z, std::size_t) {
      return z + mtf::complete(mtf::einsum<Batch, in>(mtf::tanh(mtf::linear<Batch, hidden>(z, q.w1, q.b1)), q.w2));
    });
    return mtf::mean(mtf::square(y * p.scale));
  }
};
template <class T>
void equals_the_large_batch(backend& machine, double tolerance) {
  auto const p = initial<T, by_value>(machine);
  auto const [value, gradients] = mtf::value_and_grad(plain_loss<many>{})(p, rows<T, many>(machine, 0));
  auto const [found, sums] = mtf::value_and_grad(mtf::accumulated(plain_loss<batch>{}, 8), overlapped)(
      p, [&](std::size_t i) { return rows<T, batch>(machine, i * batch::extent); });
  CHECK(mtf::item(found) == doctest::Approx(mtf::item(value)).epsilon(tolerance));
  CHECK(apart(elements(sums), elements(gradients)) <= tolerance);
}
TEST_CASE("eight micro-batches are one large batch") {
  on_each_mesh([](auto& machine, auto const&) {
    equals_the_large_batch<double>(machine, 1e-14);
    equals_the_large_batch<float>(machine, 1e-6);
  });
}

/// What runs sends what was planned.
template <mtf::completed_gradients When, class Split, class F, class... Args>
void sends_as_planned(backend& machine, mtf::layout_value const& layout, F const& f, Args const&... args) {
  auto p = initial<double, by_value>(machine);
  mtf::sgd<parameters<double, by_value>, mtf::decay_weights, Split> optimizer(machine, {});
  auto const plan = mtf::plan_under<When, Split>(f, layout, planned_parameters, planned_input<batch>);
  std::vector<mtf::collectives::event> sent;
  machine.ranks().record(&sent);
  auto const result = mtf::value_and_grad<Split>(f, When)(p, args...);
  optimizer.update(machine, p, result.gradients, 0);
  machine.ranks().record(nullptr);
  CHECK(sent == plan.unrolled());
}
TEST_CASE("what is accumulated and computed again sends what was planned") {
  on_each_mesh([](auto& machine, auto const& layout) {
    auto const x = rows<double, batch>(machine, 0);
    auto const at = [&](std::size_t) { return x; };
    using whole = mtf::state_split_over<>;
    sends_as_planned<later, whole>(machine, layout, of_batch<how::recomputed>{}, x);
    sends_as_planned<overlapped, split>(machine, layout, of_batch<how::nested>{}, x);
    for (std::size_t const n : {1U, 2U, 3U, 8U}) {
      CAPTURE(n);
      sends_as_planned<later, whole>(machine, layout, mtf::accumulated(of_batch<how::kept>{}, n), at);
      sends_as_planned<overlapped, split>(machine, layout, mtf::accumulated(of_batch<how::recomputed>{}, n), at);
    }
  });
}

TEST_CASE("gradients of eight micro-batches are completed as often as of one") {
  auto const check = [](auto const& one, auto const& eight) {
    auto const completes = [](mtf::planned_collective const& c) {
      return std::string_view(c.operation).find("gradient") != std::string_view::npos;
    };
    CHECK(one.count(completes) > 0);
    CHECK(eight.count(completes) == one.count(completes));
    CHECK(eight.bytes_sent_per_rank(completes) == one.bytes_sent_per_rank(completes));
    CHECK(eight.peak_bytes <= one.peak_bytes + 6 * (2 * in::extent + 1) * hidden::extent * sizeof(double));
  };
  auto const layout = mtf::layout_from(mtf::mesh_from(meshes[1][0]), meshes[1][1]);
  auto const plan = [&]<mtf::completed_gradients When, class Split>(auto const& f) {
    return mtf::plan_under<When, Split>(f, layout, planned_parameters, planned_input<batch>);
  };
  using whole = mtf::state_split_over<>;
  constexpr of_batch<how::recomputed> one;
  check(plan.operator()<later, whole>(one), plan.operator()<later, whole>(mtf::accumulated(one, 8)));
  check(plan.operator()<overlapped, whole>(one), plan.operator()<overlapped, whole>(mtf::accumulated(one, 8)));
  check(plan.operator()<overlapped, split>(one), plan.operator()<overlapped, split>(mtf::accumulated<8>(one)));
}

// The plan of a type is that of the value, in a constant expression too.
using typed = mtf::layout_of<"data:2;model:2", "batch:data;hidden:model", batch, in, hidden>;
constexpr auto constant_plan = mtf::plan_of<typed, overlapped>(mtf::accumulated<8>(of_batch<how::recomputed>{}),
                                                               planned_parameters, planned_input<batch>);
TEST_CASE("a plan of micro-batches with recomputation is a constant") {
  auto const layout = mtf::layout_from(mtf::mesh_from("data:2;model:2"), "batch:data;hidden:model");
  auto const plan = mtf::plan_under<overlapped>(mtf::accumulated(of_batch<how::recomputed>{}, 8), layout,
                                                planned_parameters, planned_input<batch>);
  CHECK(constant_plan.unrolled() == plan.unrolled());
  CHECK(constant_plan.peak_bytes == plan.peak_bytes);
  CHECK(constant_plan.flops() == plan.flops());
}

// Forward, again, and twice as much backward; the first layer's input has no gradient.
TEST_CASE("a plan counts what is computed again") {
  auto const layout = mtf::layout_from(mtf::mesh_from("one:1"), "");
  auto const plan = [&](auto const& f) { return mtf::plan_under(f, layout, planned_parameters, planned_input<batch>); };
  auto const kept = plan(of_batch<how::kept>{}), again = plan(of_batch<how::recomputed>{});
  auto const forward = kept.flops([](mtf::planned_work const& w) { return w.when == mtf::pass::forward; });
  CHECK(forward > 0);
  CHECK(again.flops() == kept.flops() + forward);
}

/// Of two structures; what has no gradient comes as one argument.
struct both {
  constexpr auto operator()(auto const& a, auto const& b, auto const& y) const {
    auto const& [x, scale] = y;
    auto const middle = one_layer<batch>{}(a, scale, x, mtf::random_key(1));
    return mtf::mean(mtf::square(one_layer<batch>{}(b, scale, middle, mtf::random_key(2))));
  }
};
TEST_CASE("something beside the loss, several structures, frozen ones") {
  on_each_mesh([](auto& machine, auto const&) {
    auto const p = initial<double, by_value>(machine);
    auto const x = rows<double, batch>(machine, 0);
    auto const f = [](auto const& q, auto const& s, auto const& y) {
      auto const z = one_layer<batch>{}(q, s, y, mtf::random_key(1));
      return std::pair(mtf::mean(mtf::square(z)), std::tuple(z, mtf::mean(z), 7));
    };
    auto const alone = [&](auto const& q, auto const& s, auto const& y) { return f(q, s, y).first; };
    auto const [value, gradients, auxiliary] = mtf::value_and_grad(f)(p.layers[0], p.scale, x);
    auto const [plain, same] = mtf::value_and_grad(alone)(p.layers[0], p.scale, x);
    CHECK(mtf::item(value) == mtf::item(plain));
    CHECK(elements(gradients) == elements(same));
    auto const [z, mean, seven] = f(p.layers[0], p.scale, x).second;
    CHECK(std::get<0>(auxiliary).local() == z.local());
    CHECK(mtf::item(std::get<1>(auxiliary)) == mtf::item(mean));
    CHECK(std::get<2>(auxiliary) == 7);

    auto const inputs = std::pair(x, p.scale);
    auto const [tied, two] = mtf::value_and_grad(both{}, overlapped)(std::tie(p.layers[0], p.layers[1]), inputs);
    auto const [v1, first] = mtf::value_and_grad(both{})(p.layers[0], p.layers[1], inputs);
    auto const turned = [](auto const& b, auto const& a, auto const& y) { return both{}(a, b, y); };
    auto const [v2, second] = mtf::value_and_grad(turned)(p.layers[1], p.layers[0], inputs);
    CHECK(mtf::item(tied) == mtf::item(v1));
    CHECK(elements(std::get<0>(two)) == elements(first));
    CHECK(elements(std::get<1>(two)) == elements(second));
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
