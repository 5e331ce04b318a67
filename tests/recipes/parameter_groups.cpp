// Groups of parameters, and several optimizers.
#include "on_ranks.hpp"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/checkpoint.hpp>
#include <mtf/train/groups.hpp>

namespace {

struct batch : mtf::dim<"batch", 8> {};
struct pixels : mtf::dim<"pixels", 6> {};
struct hidden : mtf::dim<"hidden", 8> {};
struct digit : mtf::dim<"digit", 4> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_batch = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using by_both = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<hidden, model>>;

template <template <class...> class Tensor>
struct encoder_of {
  Tensor<pixels, hidden> w;
  Tensor<hidden> gain;
  MTF_FIELDS(w, gain);
};
template <template <class...> class Tensor>
struct head_of {
  Tensor<hidden, digit> w;
  Tensor<digit> bias;
  MTF_FIELDS(w, bias);
};
template <template <class...> class Tensor>
struct classifier {
  encoder_of<Tensor> encoder;
  head_of<Tensor> head;
  MTF_FIELDS(encoder, head);
};

constexpr auto loss = [](auto const& p, auto const& x, auto const& y) {
  auto const h = mtf::relu(mtf::einsum<batch, hidden>(x, p.encoder.w)) * p.encoder.gain;
  return mtf::mean(mtf::square(mtf::einsum<batch, digit>(h, p.head.w) + p.head.bias - y));
};

// The first group that has a parameter's name holds for it.
template <class Parameters>
auto optimizer_with_groups(recipes::backend& machine) {
  using decays = mtf::parameter_group::decay;
  mtf::parameter_groups const groups{{.names = "encoder.w", .frozen = true},
                                     {.names = "encoder.*", .rate = 0.1, .decays = decays::yes},
                                     {.names = "*.bias", .rate = 2, .decays = decays::no}};
  return mtf::adamw<Parameters, mtf::parameter_groups>(machine, {.weight_decay = 0.1}, groups);
}

// Lion for the encoder, AdamW for the head; to a training_loop and to checkpoints they are one optimizer.
template <class Parameters>
class lion_and_adamw {
 public:
  explicit lion_and_adamw(recipes::backend& machine) : encoder_(machine, {.weight_decay = 0.1}), head_(machine, {}) {}

  // As that of any optimizer: the gradients' norm, all together, and no update if that is not finite.
  template <class Gradients>
  double update(recipes::backend& machine, Parameters& p, Gradients gradients, double rate) {
    double const norm = mtf::global_norm(machine, gradients);
    if (!std::isfinite(norm)) return norm;
    mtf::scale_gradients(gradients, std::min(1.0, 0.5 / norm));  // clipped by the norm of all
    encoder_.update(machine, p.encoder, gradients.encoder, rate / 5);
    head_.update(machine, p.head, gradients.head, rate);
    return norm;
  }
  template <class F>
  void visit_state(F&& f) {
    encoder_.visit_state([&](std::string_view suffix, auto& s) { f("encoder." + std::string(suffix), s); });
    head_.visit_state([&](std::string_view suffix, auto& s) { f("head." + std::string(suffix), s); });
  }

 private:
  mtf::lion<decltype(Parameters::encoder)> encoder_;
  mtf::adamw<decltype(Parameters::head)> head_;
};

// All parameters in their order: encoder.w, encoder.gain, head.w, head.bias.
template <class Parameters>
std::vector<std::vector<double>> numbers_of(Parameters const& p) {
  std::vector<std::vector<double>> all;
  mtf::for_each_tensor([&](auto, auto const& x) { all.push_back(mtf::to_global(x)); }, p);
  return all;
}

template <class Layout>
struct problem {
  using real = mtf::place<double, Layout, recipes::backend>;
  using parameters = classifier<real::template tensor>;
  recipes::backend& machine;
  parameters p;
  typename real::template tensor<batch, pixels> x;
  typename real::template tensor<batch, digit> y;

  explicit problem(recipes::backend& b)
      : machine(b), x(recipes::random<decltype(x)>(b, "x")), y(recipes::random<decltype(y)>(b, "y")) {
    mtf::for_each_tensor(
        [&](std::string_view name, auto& w) {
          w = mtf::random_normal<std::remove_cvref_t<decltype(w)>>(b, mtf::random_key(7).of(name));
        },
        p);
  }
  [[nodiscard]] auto gradients() const { return mtf::value_and_grad(loss)(p, x, y).gradients; }
  /// The gradients as numbers, in the parameters' order.
  [[nodiscard]] std::vector<std::vector<double>> slopes() const {
    std::vector<std::vector<double>> all;
    auto const found = gradients();
    mtf::for_each_tensor([&](auto, auto const& g) { all.push_back(mtf::to_global(g.complete())); }, found);
    return all;
  }
};

/// p - rate (g / (|g| + epsilon) + decay p): AdamW's first step.
std::vector<double> first_adamw_step(std::vector<double> p, std::vector<double> const& g, double rate, double decay) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] -= rate * (g[i] / (std::abs(g[i]) + 1e-8) + decay * p[i]);
  return p;
}

template <class Layout>
void check_groups() {
  recipes::on_ranks<Layout>([](recipes::backend& machine) {
    problem<Layout> on(machine);
    auto const p = numbers_of(on.p), g = on.slopes();
    auto optimizer = optimizer_with_groups<typename problem<Layout>::parameters>(machine);
    optimizer.update(machine, on.p, on.gradients(), 0.01);
    auto const now = numbers_of(on.p);
    CHECK(now[0] == p[0]);                                                          // frozen, to the bit
    recipes::check_close(now[1], first_adamw_step(p[1], g[1], 0.001, 0.1), 1e-12);  // slowly, and it decays
    recipes::check_close(now[2], first_adamw_step(p[2], g[2], 0.01, 0.1), 1e-12);   // in no group: as ever
    recipes::check_close(now[3], first_adamw_step(p[3], g[3], 0.02, 0), 1e-12);     // fast, without decay
    for (int i = 0; i < 3; ++i) optimizer.update(machine, on.p, on.gradients(), 0.01);
    CHECK(numbers_of(on.p)[0] == p[0]);
  });
}

TEST_CASE("groups have rates and decay of their own, or stay") {
  check_groups<one_rank>();
  check_groups<by_batch>();
  check_groups<by_both>();
}

template <class Layout>
void check_two_optimizers() {
  auto const at = std::filesystem::temp_directory_path() / ("mtf-recipe-groups-" + std::to_string(::getpid()));
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using parameters = typename problem<Layout>::parameters;
    problem<Layout> on(machine);
    auto const p = numbers_of(on.p), g = on.slopes();
    double squares = 0;
    for (auto const& each : g)
      for (double const x : each) squares += x * x;
    double const factor = std::min(1.0, 0.5 / std::sqrt(squares));
    CHECK(factor < 1);

    lion_and_adamw<parameters> optimizer(machine);
    CHECK(optimizer.update(machine, on.p, on.gradients(), 0.01) == doctest::Approx(std::sqrt(squares)));
    auto const now = numbers_of(on.p);
    // Lion's first step is a sign; the decay of 0.1 is the matrix' alone.
    for (std::size_t const i : {0U, 1U})
      for (std::size_t k = 0; k < p[i].size(); ++k) {
        double const sign = g[i][k] > 0 ? 1 : g[i][k] < 0 ? -1 : 0;
        CHECK(now[i][k] == doctest::Approx(p[i][k] - 0.002 * (sign + (i == 0 ? 0.1 : 0) * p[i][k])).epsilon(1e-12));
      }
    auto clipped = g;
    for (auto& each : clipped)
      for (double& x : each) x *= factor;
    recipes::check_close(now[2], first_adamw_step(p[2], clipped[2], 0.01, 0.01), 1e-12);
    recipes::check_close(now[3], first_adamw_step(p[3], clipped[3], 0.01, 0), 1e-12);

    // A checkpoint has what both keep: who goes on from it makes the same second step, to the bit.
    mtf::save_parts(machine.ranks(), at, {}, mtf::stored_as("model", on.p), mtf::stored_as("optimizer", optimizer));
    problem<Layout> other(machine);
    lion_and_adamw<parameters> another(machine);
    mtf::load_parts(machine, at, mtf::stored_as("model", other.p), mtf::stored_as("optimizer", another));
    optimizer.update(machine, on.p, on.gradients(), 0.01);
    another.update(machine, other.p, other.gradients(), 0.01);
    CHECK(numbers_of(other.p) == numbers_of(on.p));
    CHECK(numbers_of(on.p) != now);

    // A norm that is not finite: nothing is updated, in neither part.
    auto const before = numbers_of(on.p);
    auto broken = on.gradients();
    broken.head.bias *= std::numeric_limits<double>::quiet_NaN();
    CHECK(std::isnan(optimizer.update(machine, on.p, broken, 0.01)));
    CHECK(numbers_of(on.p) == before);
  });
  std::filesystem::remove_all(at);
}

TEST_CASE("two optimizers are one, with one norm and one checkpoint") {
  check_two_optimizers<one_rank>();
  check_two_optimizers<by_batch>();
  check_two_optimizers<by_both>();
}

}  // namespace
