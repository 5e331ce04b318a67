// Optimizers against PyTorch's, transformers' and lion-pytorch's (tests/reference/make_optimizers.py), 50 steps, on one
// rank and on four under layouts, with whole state and with state that is split further; and they send what was
// planned.
// compilers: first
#define DOCTEST_CONFIG_IMPLEMENT
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

#include "reference/reference.hpp"

namespace {

struct rows : mtf::dim<"rows", 128> {};
struct cols : mtf::dim<"cols", 136> {};
struct pair : mtf::dim<"pair", 2> {};
struct middle : mtf::dim<"middle", 128> {};
struct wide : mtf::dim<"wide", 132> {};
struct line : mtf::dim<"line", 64> {};

template <template <class...> class Tensor>
struct network {
  Tensor<rows, cols> matrix;
  Tensor<pair, middle, wide> stack;
  Tensor<line> vector;
  MTF_FIELDS(matrix, stack, vector);
};

/// Its gradient is (p - 1/4) factor + noise.
struct loss {
  static constexpr auto of(auto const& p, auto const& noise, auto const& factor) {
    auto const far = p - 0.25;
    return mtf::sum(far * far * 0.5) * factor + mtf::sum(p * noise);
  }
  constexpr auto operator()(auto const& p, auto const& noise, auto const& factor) const {
    return of(p.matrix, noise.matrix, factor) + of(p.stack, noise.stack, factor) + of(p.vector, noise.vector, factor);
  }
};

using backend = mtf::kokkos_backend<Kokkos::Serial>;
constexpr int steps = 50;

template <class S>
void set(backend& machine, S& structure, auto const& element) {
  mtf::for_each_tensor(
      [&](auto, auto& x) {
        using X = std::remove_cvref_t<decltype(x)>;
        std::vector<typename X::element_type> values(static_cast<std::size_t>(X::shape_type::size));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<typename X::element_type>(element(static_cast<double>(i)));
        x = mtf::from_global<X>(machine, values);
      },
      structure);
}

template <class T, class Layout, class Split, template <class...> class Optimizer>
void follows(std::string const& name, auto const& options, auto const& schedule) {
  static mtf::reference::file const expected(std::string(MTF_TEST_DIR) + "/reference/optimizers.bin");
  using mesh = typename Layout::mesh_type;
  mtf::rank_threads pool(mesh::size);
  pool.run(
      mesh::shape(),
      [&](mtf::collectives& ranks) {
        backend machine = backend::one_of_many(ranks);
        using place = mtf::place<T, Layout, backend>;
        network<place::template tensor> p, noise;
        set(machine, p, [](double i) { return (std::fmod(i * 37, 101) - 50) / 64; });
        Optimizer<decltype(p), mtf::decay_weights, Split> optimizer(machine, options);
        for (int step = 0; step < steps; ++step) {
          set(machine, noise, [&](double i) { return 0.05 * std::cos(0.1 * i + step); });
          auto const factor = mtf::full<typename place::template tensor<>>(machine, 1 + 0.5 * std::sin(step + 1.0));
          std::vector<mtf::collectives::event> sent;
          ranks.record(&sent);
          auto const gradients = mtf::value_and_grad<Split>(loss{})(p, noise, factor).gradients;
          optimizer.update(machine, p, gradients, schedule.at(step));
          ranks.record(nullptr);
          if constexpr (std::is_same_v<T, float>) {
            constexpr auto planned =
                mtf::plan_of<Layout, mtf::completed_gradients::later, Split, mtf::updated_by<Optimizer>>(
                    loss{}, mtf::parameters<network>{}, mtf::parameters<network>{}, mtf::input<float>{});
            CHECK(sent == planned.unrolled());
            return;
          }
        }
        mtf::for_each_tensor(
            [&](auto path, auto const& x) {
              auto const found = mtf::to_global(x);
              auto const& want = expected[name + "." + std::string(path)].values;
              std::size_t const apart = found.size() > 1000 ? 61 : 1;
              REQUIRE(want.size() == (found.size() + apart - 1) / apart);
              double worst = 0;
              for (std::size_t i = 0; i < want.size(); ++i)
                worst = std::max(worst, std::abs(static_cast<double>(found[apart * i]) - want[i]));
              CAPTURE(name);
              CAPTURE(path);
              CAPTURE(mesh::text());
              CHECK(worst < 1e-9);
            },
            p);
      },
      mesh::text());
}

template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
using rules = mtf::layout_of<Mesh, Rules, rows, cols, pair, middle, wide, line>;
using whole = mtf::state_split_over<>;
using over_data = mtf::state_split_over<mtf::axis<"data", 2>>;
using one = rules<"data:1", "">;
using tensor_parallel = rules<"data:2;model:2", "rows:model;wide:model;line:data">;
using both_ways = rules<"data:2;model:2", "cols:data;rows:model;middle:model;pair:data">;

template <template <class...> class Optimizer>
void everywhere(std::string const& name, auto const& options, auto const& schedule) {
  follows<double, one, whole, Optimizer>(name, options, schedule);
  follows<double, tensor_parallel, over_data, Optimizer>(name, options, schedule);
  follows<float, tensor_parallel, over_data, Optimizer>(name, options, schedule);
}

}  // namespace

TEST_CASE("adafactor is transformers'") {
  follows<double, one, whole, mtf::adafactor>("adafactor_absolute", mtf::adafactor_options{.scale_parameter = false},
                                              mtf::constant_rate{0.01});
  follows<double, both_ways, whole, mtf::adafactor>(
      "adafactor_absolute", mtf::adafactor_options{.scale_parameter = false}, mtf::constant_rate{0.01});
  everywhere<mtf::adafactor>("adafactor", mtf::adafactor_options{.weight_decay = 0.01}, mtf::relative_step{});
  follows<double, both_ways, whole, mtf::adafactor>("adafactor", mtf::adafactor_options{.weight_decay = 0.01},
                                                    mtf::relative_step{});
  follows<float, both_ways, whole, mtf::adafactor>("adafactor", mtf::adafactor_options{}, mtf::relative_step{});
}
TEST_CASE("lion is lion-pytorch's") {
  everywhere<mtf::lion>("lion", mtf::lion_options{.weight_decay = 0.1}, mtf::constant_rate{3e-3});
}
TEST_CASE("adam is Mesh-TensorFlow's") {
  everywhere<mtf::adam>("adam", mtf::adam_options{.weight_decay = 0.1}, mtf::constant_rate{0.01});
}
TEST_CASE("momentum and sgd are PyTorch's at a constant rate") {
  everywhere<mtf::momentum>("momentum", mtf::momentum_options{}, mtf::constant_rate{0.05});
  everywhere<mtf::sgd>("momentum", mtf::sgd_options{.momentum = 0.9}, mtf::constant_rate{0.05});
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
