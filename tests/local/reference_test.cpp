// The example's model against an independent PyTorch implementation (tests/reference): loss and all gradients at step
// 0, the losses of 20 steps of AdamW with clipping and schedule, and the parameters after them.
#include <cmath>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>

#include "../models/gpt2/model.hpp"
#include "reference/reference.hpp"
#include "support/model_config.hpp"

namespace {

template <bool Tied>
using reference_config = model_config<model_sizes{
    .batch = 4, .sequence = 16, .d_model = 32, .heads = 4, .d_ff = 64, .vocab = 32, .tied_output = Tied}>;

using backend = mtf::kokkos_backend<>;

/// |x - y| / |y|, Euclidean.
double distance(auto const& x, std::vector<double> const& y) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    difference += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference / norm);
}

std::string reference_name(std::string_view path) { return std::string(path == "output.0" ? "output" : path); }

template <class T, bool Tied>
void follows_reference(char const* file, double gradient_tolerance, double loss_tolerance, double final_tolerance) {
  using config = reference_config<Tied>;
  using model = mtf::gpt2::model<config>;
  using layout = mtf::layout<mtf::mesh<>>;
  using parameters = typename model::template parameters<mtf::place<T, layout, backend>::template tensor>;
  using tokens = typename mtf::place<std::int32_t, layout, backend>::template tensor<typename config::batch,
                                                                                     typename config::sequence>;
  mtf::reference::file const expected(std::string(MTF_TEST_DIR) + "/reference/" + file);
  mtf::single_rank alone;
  backend machine(alone);

  parameters p;
  mtf::for_each_tensor(
      [&](auto path, auto& x) {
        auto const& values = expected[reference_name(path)].values;
        std::vector<T> const converted(values.begin(), values.end());
        x = mtf::from_global<std::remove_cvref_t<decltype(x)>>(machine, converted);
      },
      p);
  auto const step_tokens = [&](char const* name, int step) {
    auto const& all = expected[name].values;
    auto const first = all.begin() + step * tokens::shape_type::size;
    std::vector<std::int32_t> const ids(first, first + tokens::shape_type::size);
    return mtf::from_global<tokens>(machine, ids);
  };

  mtf::adamw<parameters> optimizer(machine, {.beta2 = 0.95, .weight_decay = 0.1, .clip_norm = 1});
  mtf::warmup_cosine const schedule{.peak = 1e-2, .warmup = 5, .total = 20, .floor = 1e-3};
  auto const step_function = mtf::value_and_grad(
      [](auto const& q, auto const& ids, auto const& labels) { return model::loss(q, ids, labels); });
  for (int step = 0; step < 20; ++step) {
    auto const [value, gradients] = step_function(p, step_tokens("ids", step), step_tokens("labels", step));
    CAPTURE(step);
    CHECK(mtf::item(value) ==
          doctest::Approx(expected["loss"].values[static_cast<std::size_t>(step)]).epsilon(loss_tolerance));
    if (step == 0)
      mtf::for_each_tensor(
          [&](auto path, auto const& g) {
            CAPTURE(path);
            auto const found = g.complete().local();
            auto const& want = expected["grad." + reference_name(path)].values;
            // Softmax cancels the bias of the keys: its gradient is zero but for rounding.
            if (path.ends_with(".bk"))
              CHECK(*std::max_element(found.begin(), found.end(), [](T x, T y) { return std::abs(x) < std::abs(y); }) <
                    1e-7);
            else
              CHECK(distance(found, want) < gradient_tolerance);
          },
          gradients);
    double const norm = optimizer.update(machine, p, gradients, schedule.at(step));
    CHECK(norm ==
          doctest::Approx(expected["gradient_norm"].values[static_cast<std::size_t>(step)]).epsilon(loss_tolerance));
  }
  mtf::for_each_tensor(
      [&](auto path, auto const& x) {
        CAPTURE(path);
        if (!path.ends_with(".bk"))
          CHECK(distance(x.local(), expected["final." + reference_name(path)].values) < final_tolerance);
      },
      p);
}

TEST_CASE("double follows PyTorch") {
  follows_reference<double, false>("untied.bin", 1e-10, 1e-10, 1e-6);
  follows_reference<double, true>("tied.bin", 1e-10, 1e-10, 1e-6);
}
TEST_CASE("float follows PyTorch") {
  follows_reference<float, false>("untied.bin", 1e-5, 1e-4, 1e-3);
  follows_reference<float, true>("tied.bin", 1e-5, 1e-4, 1e-3);
}

}  // namespace
