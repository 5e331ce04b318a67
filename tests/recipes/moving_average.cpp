// A moving average of the parameters, which is evaluated; a run that ends when it gets no better.
#include "on_ranks.hpp"

#include <unistd.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/train/loop.hpp>
#include <mtf/train/moving_average.hpp>

namespace {

struct batch : mtf::dim<"batch", 4> {};
struct features : mtf::dim<"features", 4> {};
struct classes : mtf::dim<"classes", 2> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_batch = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using by_both = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<features, model>>;

template <template <class...> class Tensor>
struct linear {
  Tensor<features, classes> w;
  MTF_FIELDS(w);
};
template <class Layout>
using parameters_under = linear<mtf::place<double, Layout, recipes::backend>::template tensor>;

constexpr auto loss = [](auto const& p, auto const& x, auto const& y) {
  return mtf::mean(mtf::square(mtf::einsum<batch, classes>(x, p.w) - y));
};

// An optimizer that averages what it updates. Checkpoints have the average too, as "w.average" and so on.
template <class Parameters>
class averaged_sgd {
 public:
  averaged_sgd(recipes::backend& machine, Parameters const& p) : sgd_(machine, {}), average_(machine, p, 0.9) {}

  template <class Gradients>
  double update(recipes::backend& machine, Parameters& p, Gradients const& gradients, double rate) {
    double const norm = sgd_.update(machine, p, gradients, rate);
    if (std::isfinite(norm)) average_.update(machine, p);
    return norm;
  }
  template <class F>
  void visit_state(F&& f) {
    sgd_.visit_state(f);
    average_.visit_state([&](std::string_view, auto& s) { f("average", s); });
  }
  [[nodiscard]] auto const& average() const { return average_.parameters(); }

 private:
  mtf::sgd<Parameters> sgd_;
  mtf::moving_average<Parameters> average_;
};

// The run ends when three evaluations in a row were no better; FOLDER/best has the average that was best.
template <class Parameters, class Batches>
std::vector<std::pair<int, double>> train(recipes::backend& machine, Parameters& p, Batches const& batches,
                                          std::string const& folder) {
  averaged_sgd<Parameters> optimizer(machine, p);
  mtf::loop_options options{.steps = 1000};
  options.learning_rate = [](int /*step*/) { return 0.05; };
  options.evaluate = [&] { return mtf::item(loss(optimizer.average(), batches.x, batches.held_out)); };
  options.evaluate_every = 4;
  options.patience = 3;
  options.improved = [&] { mtf::save(folder + "/best", optimizer.average()); };
  options.checkpoints.directory = folder + "/checkpoints";
  options.checkpoint_every = 4;
  options.resume = true;
  mtf::training_loop loop(machine, p, optimizer, options);
  loop.run([&](int n) { return batches(n); },
           [](auto const& q, auto const& b, int) { return mtf::value_and_grad(loss)(q, b.first, b.second); });
  return loop.evaluations();
}

// Trains towards 1, and is evaluated against 0.6: so there is a best step, after which it gets worse.
template <class Layout>
struct examples {
  using real = mtf::place<double, Layout, recipes::backend>;
  using inputs = typename real::template tensor<batch, features>;
  using targets = typename real::template tensor<batch, classes>;
  int killed_at;  // a step; -1: none
  inputs x;
  targets y, held_out;

  examples(recipes::backend& machine, int killed)
      : killed_at(killed),
        // The unit matrix: x w is w.
        x(mtf::cast<double>(
            mtf::iota<batch, typename real::template rebound<std::int32_t>::template tensor<batch, features>>(
                machine) ==
            mtf::iota<features, typename real::template rebound<std::int32_t>::template tensor<batch, features>>(
                machine))),
        y(mtf::ones<targets>(machine)),
        held_out(0.6 * y) {}
  std::pair<inputs, targets> operator()(int n) const {
    if (n == killed_at) throw mtf::user_error("killed");
    return {x, y};
  }
};

struct run {
  std::vector<std::pair<int, double>> evaluations;
  std::vector<double> w, best;
};
template <class Layout>
run run_of(std::string const& folder, int killed_at = -1) {
  run found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using parameters = parameters_under<Layout>;
    parameters p{mtf::zeros<decltype(parameters::w)>(machine)};
    examples<Layout> const given(machine, killed_at);
    run mine;
    try {
      mine.evaluations = train(machine, p, given, folder);
    } catch (mtf::user_error const& e) {
      CHECK(std::string_view(e.what()) == "killed");
      CHECK(killed_at >= 0);
    }
    mine.w = mtf::to_global(p.w);
    mine.best = mtf::to_global(mtf::load<parameters>(machine, folder + "/best").w);
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}

TEST_CASE("the average is evaluated, and the run ends after the best one") {
  auto const at =
      (std::filesystem::temp_directory_path() / ("mtf-recipe-average-" + std::to_string(::getpid()))).string();
  // All elements of w are alike: the gradient of the mean of 8 squares, of which each has one of them, is 2 (w - 1)
  // / 8.
  std::vector<std::pair<int, double>> evaluations;
  double w = 0, average = 0, best = 0, least = HUGE_VAL;
  int since = 0, step = 0;
  for (;; ++step) {
    if (step % 4 == 0) {
      double const here = (average - 0.6) * (average - 0.6);
      evaluations.emplace_back(step, here);
      ++since;
      if (here < least) {
        least = here;
        best = average;
        since = 0;
      }
      if (since == 3) break;
    }
    w -= 0.05 * 2 * (w - 1) / 8;
    average = 0.9 * average + 0.1 * w;
  }
  CHECK(step > 40);
  CHECK(step < 1000);

  auto const check = [&](run const& found) {
    recipes::check_close(found.w, std::vector<double>(8, w), 1e-12);
    recipes::check_close(found.best, std::vector<double>(8, best), 1e-12);
    REQUIRE(!found.evaluations.empty());
    CHECK(found.evaluations.back().first == step);
  };
  auto const whole = run_of<one_rank>(at + "/one_rank");
  check(whole);
  REQUIRE(whole.evaluations.size() == evaluations.size());
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    CHECK(whole.evaluations[i].first == evaluations[i].first);
    CHECK(whole.evaluations[i].second == doctest::Approx(evaluations[i].second));
  }
  check(run_of<by_batch>(at + "/by_batch"));
  check(run_of<by_both>(at + "/by_both"));

  // Killed when two evaluations were no better, it goes on as if nothing had happened, under another layout too; and
  // a run that has ended stays as it is.
  run_of<one_rank>(at + "/parts", step - 2);
  check(run_of<by_batch>(at + "/parts"));
  check(run_of<by_both>(at + "/parts"));
  std::filesystem::remove_all(at);
}

}  // namespace
