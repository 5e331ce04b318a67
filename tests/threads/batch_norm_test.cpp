// Batch norm with running statistics, and group norm, against PyTorch's (tests/reference/make_norms.py), however the
// batch and the channels are split.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/nn.hpp>
#include <mtf/threads.hpp>

#include "reference/reference.hpp"

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;

struct step : mtf::dim<"step", 3> {};
struct batch : mtf::dim<"batch", 4> {};
struct channels : mtf::dim<"channels", 6> {};
struct length : mtf::dim<"length", 5> {};
struct groups : mtf::dim<"groups", 3> {};
struct in_group : mtf::dim<"in_group", 2> {};

using by_value = mtf::any_layout<0>;
using place = mtf::place<double, by_value, backend>;

template <template <class...> class Tensor>
struct parameters {
  Tensor<batch, channels, length> x;
  Tensor<channels> gamma, beta;
  MTF_FIELDS(x, gamma, beta);
};

mtf::reference::file const& reference() {
  static mtf::reference::file const all(std::string(MTF_TEST_DIR) + "/reference/norms.bin");
  return all;
}
void check_close(std::vector<double> const& found, std::string const& name, double tolerance = 1e-9) {
  CAPTURE(name);
  auto const& want = reference()[name].values;
  REQUIRE(found.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(found[i] == doctest::Approx(want[i]).epsilon(tolerance).scale(1));
}

constexpr std::array<std::array<std::string_view, 2>, 5> meshes{
    {{"one:1", ""},
     {"data:4", "batch:data"},
     {"data:2;model:3", "batch:data;channels:model;groups:model"},
     {"rows:5", "length:rows"},
     {"data:2;model:2", "batch:data;channels:model"}}};
template <class F>
void on_each_mesh(F const& f) {
  for (auto const& [mesh, rules_of] : meshes) {
    std::string_view const rules = rules_of;
    CAPTURE(mesh);
    CAPTURE(rules);
    auto const layout = mtf::layout_from(mtf::mesh_from(mesh), rules);
    mtf::rank_threads pool(layout.mesh.shape.size());
    pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
      backend machine = backend::one_of_many(ranks);
      machine.layouts().add(layout);
      f(machine);
    });
  }
}
template <class X>
X read(backend& machine, std::string const& name) {
  return mtf::from_global<X>(machine, reference()[name].values);
}
parameters<place::tensor> batch_of(backend& machine, std::size_t i) {
  auto const& all = reference()["x"].values;
  auto const size = static_cast<std::ptrdiff_t>(all.size() / 3), first = static_cast<std::ptrdiff_t>(i) * size;
  return {mtf::from_global<place::tensor<batch, channels, length>>(
              machine, std::vector<double>(all.begin() + first, all.begin() + first + size)),
          read<place::tensor<channels>>(machine, "gamma"), read<place::tensor<channels>>(machine, "beta")};
}
template <class Gradients>
void check_gradients(Gradients const& gradients, std::string const& of) {
  check_close(mtf::to_global(gradients.x.complete()), of + ".grad.x", 1e-7);
  check_close(mtf::to_global(gradients.gamma.complete()), of + ".grad.gamma");
  check_close(mtf::to_global(gradients.beta.complete()), of + ".grad.beta");
}

TEST_CASE("batch norm is PyTorch's: results, gradients, and running statistics that the step returns") {
  on_each_mesh([](backend& machine) {
    auto const w = read<place::tensor<batch, channels, length>>(machine, "w");
    auto mean = mtf::zeros<place::tensor<channels>>(machine), variance = mtf::ones<place::tensor<channels>>(machine);
    for (std::size_t i = 0; i < 3; ++i) {
      auto const loss = [](auto const& p, auto const& by) {
        auto const [y, of_mean, of_variance] = mtf::batch_norm<batch, length>(p.x, p.gamma, p.beta);
        return std::pair(mtf::sum(y * by), std::tuple(y, of_mean, of_variance));
      };
      auto const [value, gradients, found] = mtf::value_and_grad(loss)(batch_of(machine, i), w);
      auto const& [y, of_mean, of_variance] = found;
      double const n = 4 * 5;
      mean = mean * 0.9 + of_mean * 0.1;
      variance = variance * 0.9 + of_variance * (0.1 * n / (n - 1));
      check_close(mtf::to_global(y), std::to_string(i) + ".y");
      check_gradients(gradients, std::to_string(i));
    }
    check_close(mtf::to_global(mean), "running.mean");
    check_close(mtf::to_global(variance), "running.variance");
    auto const p = batch_of(machine, 0);
    check_close(mtf::to_global((p.x - mean) * mtf::rsqrt(variance + 1e-5) * p.gamma + p.beta), "evaluated");
  });
}

TEST_CASE("group norm is PyTorch's") {
  on_each_mesh([](backend& machine) {
    auto const w = read<place::tensor<batch, channels, length>>(machine, "w");
    auto const loss = [](auto const& p, auto const& by) {
      auto const y = mtf::group_norm<channels, groups, in_group, length>(p.x, p.gamma, p.beta);
      return std::pair(mtf::sum(y * by), y);
    };
    auto const [value, gradients, y] = mtf::value_and_grad(loss)(batch_of(machine, 0), w);
    check_close(mtf::to_global(y), "group.y", 1e-7);
    check_gradients(gradients, "group");
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
