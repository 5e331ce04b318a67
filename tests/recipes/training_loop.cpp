// A training loop with evaluations, checkpoints, a log and event files.
#include "on_ranks.hpp"

#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <mtf/train/loop.hpp>

namespace {

struct batch : mtf::dim<"batch", 16> {};
struct pixels : mtf::dim<"pixels", 20> {};
struct hidden : mtf::dim<"hidden", 8> {};
struct data : mtf::axis<"data", 2> {};
using where = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using real = mtf::place<float, where, recipes::backend>;

template <template <class...> class Tensor>
struct autoencoder {
  Tensor<pixels, hidden> down;
  Tensor<hidden, pixels> up;
  MTF_FIELDS(down, up);
};
using parameters = autoencoder<real::tensor>;
using images = real::tensor<batch, pixels>;

constexpr auto loss = [](auto const& p, auto const& x) {
  auto const seen = mtf::relu(mtf::einsum<batch, hidden>(x, p.down));
  return mtf::mean(mtf::square(mtf::einsum<batch, pixels>(seen, p.up) - x));
};

// Trains on the images that `images_of(n)` gives for step n; returns the program's exit code.
template <class Images>
int train(recipes::backend& machine, parameters& p, Images const& images_of, std::string const& folder, int steps) {
  mtf::adamw<parameters> optimizer(machine, {.clip_norm = 1});
  mtf::loop_options options{.steps = steps};
  options.learning_rate = [steps](int n) { return mtf::warmup_cosine{1e-2, 10, steps, 1e-3}.at(n); };
  options.evaluate = [&] { return mtf::item(loss(p, images_of(-1))); };  // images of which no step is
  options.evaluate_every = 20;
  options.log = folder + "/log.jsonl";
  options.tensorboard = folder + "/events";
  options.checkpoints.directory = folder + "/checkpoints";
  options.checkpoint_every = 20;
  options.resume = true;
  options.on_spike = mtf::on_trouble::skip;
  mtf::training_loop loop(machine, p, optimizer, options);
  auto const step = [](auto const& q, auto const& x, int) { return mtf::value_and_grad(loss)(q, x); };
  return loop.run(images_of, step);
}

TEST_CASE("the loop trains, and a run that was killed goes on") {
  auto const at = (std::filesystem::temp_directory_path() / ("mtf-recipe-loop-" + std::to_string(::getpid()))).string();
  auto const trained = [&](std::string const& folder, int steps, int until) {
    std::vector<float> w;
    recipes::on_ranks<where>([&](recipes::backend& machine) {
      parameters p{0.3F * recipes::random<real::tensor<pixels, hidden>>(machine, "down"),
                   0.3F * recipes::random<real::tensor<hidden, pixels>>(machine, "up")};
      auto const images_of = [&](int n) {
        if (n == until) throw mtf::user_error("killed");
        return mtf::random_normal<images>(machine,
                                          mtf::random_key(3).of("images").of(static_cast<std::uint64_t>(n + 1)));
      };
      int code = 1;
      try {
        code = train(machine, p, images_of, folder, steps);
      } catch (mtf::user_error const&) {
      }
      CHECK(code == (until < 0 ? 0 : 1));
      auto const here = mtf::to_global(p.down);
      if (machine.ranks().rank() == 0) w = here;
    });
    return w;
  };
  std::filesystem::create_directories(at + "/whole");
  std::filesystem::create_directories(at + "/parts");
  auto const whole = trained(at + "/whole", 60, -2);
  trained(at + "/parts", 60, 45);
  CHECK(trained(at + "/parts", 60, -2) == whole);
  std::ifstream log(at + "/parts/log.jsonl");
  int lines = 0;
  std::string first, last;
  for (std::string line; std::getline(log, line); ++lines) (lines == 0 ? first : last) = line;
  CHECK(lines == 60);
  auto const value = [](std::string const& line) { return std::stod(line.substr(line.find("\"validation\":") + 13)); };
  CHECK(value(last) < 0.9 * value(first));
  std::filesystem::remove_all(at);
}

}  // namespace
