// ranks: 1 2 4 8
// compilers: first
// An optimizer whose state is split further does what one with whole state does: the same parameters on every rank that
// has them, the same norms; it sends what was planned, and holds its share of the state.
#include "mpi_main.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <mtf/mtf.hpp>

namespace {

struct batch : mtf::dim<"batch", 16> {};
struct in : mtf::dim<"in", 144> {};
struct wide : mtf::dim<"wide", 256> {};
struct odd : mtf::dim<"odd", 129> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<in, wide> w1;
  Tensor<wide> b1;
  Tensor<wide, in> w2;
  MTF_FIELDS(w1, b1, w2);
};
template <template <class...> class Tensor>
struct network {
  std::array<layer<Tensor>, 5> layers;
  Tensor<odd, in> last;  // too large to be small, and only 3 and 43 divide its first dimension: `in` is split
  Tensor<in, wide> unused;
  MTF_FIELDS(layers, last, unused);
};
struct loss {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const h = mtf::scan(p.layers, x, [](auto const& l, auto const& before, std::size_t) {
      auto const a = mtf::gelu(mtf::einsum<batch, wide>(before, l.w1) + l.b1);
      return before + mtf::einsum<batch, in>(a, l.w2);
    });
    auto const y = mtf::einsum<batch, odd>(h, p.last);
    return mtf::mean(y * y);
  }
};

using backend = mtf::kokkos_backend<>;
using when = mtf::completed_gradients;
using whole = mtf::state_split_over<>;
constexpr int steps = 2;

template <class T>
struct outcome {
  std::vector<double> norms, losses;
  std::map<std::string, std::vector<T>> parameters, gradients;  // a rank's own; the gradients of the last step
  std::vector<mtf::collectives::event> sent;                    // in the last step
  std::size_t state_bytes = 0;
};

template <class T>
using elements = std::map<std::string, std::vector<T>>;
template <class T, class S>
elements<T> locals(S const& tensors, auto const& get) {
  elements<T> all;
  mtf::for_each_tensor([&](auto name, auto const& x) { all[std::string(name)] = get(x).local(); }, tensors);
  return all;
}

/// `Split` of the gradients and the optimizer's own may differ: then what is missing is sent.
template <class T, class Layout, class Split, class Optimizer>
outcome<T> train(backend& machine, auto const& options, when completed, bool look_between) {
  using place = mtf::place<T, Layout, backend>;
  using parameters = network<place::template tensor>;
  outcome<T> out;
  mtf::random_key const key(3);
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, key.of(name), 0, 0.05);
      },
      p);
  auto const before = machine.memory().live;
  Optimizer optimizer(machine, options);
  out.state_bytes = machine.memory().live - before;
  auto const gradient = mtf::value_and_grad<Split>(loss{}, completed);
  for (int step = 0; step < steps; ++step) {
    auto const x = mtf::random_normal<typename place::template tensor<batch, in>>(
        machine, key.of("x").of(static_cast<std::uint64_t>(step)));
    out.sent.clear();
    machine.ranks().record(&out.sent);
    auto const [value, gradients] = gradient(p, x);
    if (look_between) out.norms.push_back(mtf::global_norm(machine, gradients));
    auto const norm = optimizer.update(machine, p, gradients, 1e-3);
    machine.ranks().record(nullptr);
    if (look_between)
      CHECK(norm == doctest::Approx(out.norms.back()).epsilon(1e-12));
    else
      out.norms.push_back(norm);
    out.losses.push_back(mtf::item(value));
    if (step + 1 == steps) out.gradients = locals<T>(gradients, [](auto const& g) { return g.complete(); });
  }
  out.parameters = locals<T>(p, [](auto const& x) { return x; });
  return out;
}

template <class T>
void are_close(elements<T> const& found, elements<T> const& want) {
  double const tolerance = std::is_same_v<T, double> ? 1e-12 : 1e-6;
  REQUIRE(found.size() == want.size());
  for (auto const& [name, x] : want) {
    CAPTURE(name);
    auto const& y = found.at(name);
    REQUIRE(y.size() == x.size());
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(y[i] - x[i])));
      largest = std::max(largest, std::abs(static_cast<double>(x[i])));
    }
    CHECK(worst <= tolerance * largest);
  }
}

/// To the bit, on all ranks that have the same shard.
template <class T, class Layout>
void are_the_same(mtf::collectives& ranks, elements<T> const& mine) {
  network<mtf::place<T, Layout, backend>::template tensor> const tensors;
  mtf::for_each_tensor(
      [&](auto name, auto const& x) {
        auto const& local = mine.at(std::string(name));
        auto const axes = ~std::remove_cvref_t<decltype(x)>::spec.split_axes() &
                          ((1U << static_cast<unsigned>(ranks.mesh().ndim)) - 1U);
        std::vector<T> least(local.size()), most(local.size());
        ranks.communicate(mtf::collective::all_reduce(axes, mtf::combine::min, mtf::element_of<T>, local.size()),
                          local.data(), least.data());
        ranks.communicate(mtf::collective::all_reduce(axes, mtf::combine::max, mtf::element_of<T>, local.size()),
                          local.data(), most.data());
        CHECK(least == local);
        CHECK(most == local);
      },
      tensors);
}

/// The bytes of state of one kind, and how many parameters' are divided, by the words of state_split_over's comment.
/// `over`: the axes that it stands for.
template <class T, class Layout>
std::pair<std::size_t, int> share(mtf::mesh_shape const& mesh, mtf::axis_mask over) {
  std::size_t bytes = 0;
  int divided = 0;
  network<mtf::place<T, Layout, backend>::template tensor> const tensors;
  mtf::for_each_tensor(
      [&](auto, auto const& x) {
        using X = std::remove_cvref_t<decltype(x)>;
        auto const of_all = static_cast<std::size_t>(X::local_size) * sizeof(T);
        auto const p = mesh.size(over & ~X::spec.split_axes());
        bool const divides = X::local_size % p == 0 && of_all > 65536 && p > 1;
        divided += divides ? 1 : 0;
        auto const part = divides ? of_all / static_cast<std::size_t>(p) : of_all;
        bytes += (part + 63) / 64 * 64;  // as the pool gives memory
      },
      tensors);
  return {bytes, divided};
}

template <class T, class Layout, class Split>
void equals_whole(mtf::axis_mask over, int divided) {
  using mesh = typename Layout::mesh_type;
  if (mpi_main::ranks() != mesh::size) return;
  CAPTURE(mesh::text());
  CAPTURE(over);
  CAPTURE(sizeof(T));
  // With double through MPI alone: what is started is then under way for a while.
  mtf::mpi_collectives ranks(mesh::shape(), mesh::text(), {.shared_memory = std::is_same_v<T, float>});
  backend machine(ranks);
  using parameters = network<mtf::place<T, Layout, backend>::template tensor>;
  mtf::adamw_options const adam{.epsilon = 1e-3, .weight_decay = 0.1, .clip_norm = 0.05};
  mtf::sgd_options const descent{.momentum = 0.9, .weight_decay = 0.1, .clip_norm = 0.05};
  using adam_whole = mtf::adamw<parameters>;
  using adam_split = mtf::adamw<parameters, mtf::decay_weights, Split>;
  auto const want = train<T, Layout, whole, adam_whole>(machine, adam, when::later, false);
  CHECK(want.norms[0] > 0.05);  // clipped

  auto const [bytes, count] = share<T, Layout>(mesh::shape(), over);
  CHECK(count == divided);
  CHECK(want.state_bytes == 2 * share<T, Layout>(mesh::shape(), 0).first);
  auto const check = [&](outcome<T> const& found, outcome<T> const& wanted) {
    double const tolerance = std::is_same_v<T, double> ? 1e-12 : 1e-6;
    for (std::size_t i = 0; i < steps; ++i) {
      CHECK(found.norms[i] == doctest::Approx(wanted.norms[i]).epsilon(tolerance));
      CHECK(found.losses[i] == doctest::Approx(wanted.losses[i]).epsilon(tolerance));
    }
    are_close<T>(found.parameters, wanted.parameters);
    are_close<T>(found.gradients, wanted.gradients);
    are_the_same<T, Layout>(ranks, found.parameters);
  };
  auto const equal = [&]<when Completed>(std::integral_constant<when, Completed>) {
    CAPTURE(static_cast<int>(Completed));
    auto const found = train<T, Layout, Split, adam_split>(machine, adam, Completed, false);
    check(found, want);
    CHECK(found.state_bytes == 2 * bytes);
    if constexpr (std::is_same_v<T, float>) {  // of which plans are
      constexpr auto planned =
          mtf::plan_of<Layout, Completed, Split>(loss{}, mtf::parameters<network>{}, mtf::input<float, batch, in>{});
      CHECK(found.sent == planned.unrolled());
    }
  };
  equal(std::integral_constant<when, when::later>{});
  equal(std::integral_constant<when, when::overlapped>{});
  if constexpr (std::is_same_v<T, double>) {
    // Someone asks for whole gradients.
    check(train<T, Layout, Split, adam_split>(machine, adam, when::overlapped, true), want);
    check(train<T, Layout, Split, adam_whole>(machine, adam, when::overlapped, false), want);
    check(train<T, Layout, whole, adam_split>(machine, adam, when::overlapped, false), want);
    check(train<T, Layout, Split, mtf::sgd<parameters, mtf::decay_weights, Split>>(machine, descent, when::overlapped,
                                                                                   false),
          train<T, Layout, whole, mtf::sgd<parameters>>(machine, descent, when::later, false));
  }
}

template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
using rules = mtf::layout_of<Mesh, Rules, batch, in, wide, odd>;
using over_batch = mtf::state_split_over<batch>;
template <mtf::fixed_string Name, int Size>
using over_axis = mtf::state_split_over<mtf::axis<Name, Size>>;

// Ten matrices in five layers, `last` and `unused`: twelve at most are divided. With float, of which plans are, all
// layouts; with double one of each kind.
TEST_CASE("state that is split further, one and two ranks") {
  equals_whole<float, rules<"data:1", "batch:data">, over_batch>(1, 0);
  equals_whole<float, rules<"data:2", "batch:data">, over_batch>(1, 12);
  equals_whole<double, rules<"data:2", "batch:data">, over_batch>(1, 12);
  equals_whole<float, rules<"data:2", "">, over_axis<"data", 2>>(1,
                                                                 12);  // complete gradients: only parameters are sent
  equals_whole<float, rules<"model:2", "wide:model">, over_axis<"model", 2>>(1, 1);  // `last`
  equals_whole<float, rules<"model:2", "in:model">, over_axis<"model", 2>>(1, 0);
}
TEST_CASE("state that is split further, four ranks") {
  equals_whole<float, rules<"data:4", "batch:data">, over_batch>(1, 12);
  equals_whole<float, rules<"data:2;model:2", "batch:data;wide:model">, over_batch>(1, 12);
  equals_whole<double, rules<"data:2;model:2", "batch:data;wide:model">, over_batch>(1, 12);
  equals_whole<float, rules<"model:2;data:2", "batch:data;in:model">, over_batch>(2, 11);
  equals_whole<float, rules<"pods:2;data:2", "batch:data+pods">, over_batch>(3, 12);
  // The pods' sums are taken after.
  equals_whole<float, rules<"pods:2;data:2", "batch:pods+data">, over_axis<"data", 2>>(2, 12);
  equals_whole<double, rules<"pods:2;data:2", "batch:pods+data">, over_axis<"data", 2>>(2, 12);
}
TEST_CASE("state that is split further, eight ranks") {
  equals_whole<float, rules<"pods:2;model:2;data:2", "batch:pods+data;wide:model">, over_batch>(5, 12);
  equals_whole<float, rules<"data:2;model:4", "batch:data;wide:model">, over_batch>(1, 1);
  equals_whole<double, rules<"data:2;model:4", "batch:data;wide:model">, over_batch>(1, 12);
}

struct nodes : mtf::axis<"nodes", 2> {};
struct inside : mtf::axis<"inside", 2, mtf::link::node> {};
TEST_CASE("state that is split further over axes inside and between nodes") {
  using layout = mtf::layout<mtf::mesh<nodes, inside>, mtf::split<batch, nodes, inside>>;
  equals_whole<float, layout, over_batch>(3, 12);
  equals_whole<double, layout, over_batch>(3, 12);
  equals_whole<float, layout, mtf::state_split_over<inside>>(2, 12);
}

}  // namespace
