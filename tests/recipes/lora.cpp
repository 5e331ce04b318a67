// LoRA: the matrices of a model stay, and small ones beside them learn.
#include "on_ranks.hpp"

#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <mtf/checkpoint.hpp>
#include <mtf/checkpoint/safetensors.hpp>

namespace {

struct batch : mtf::dim<"batch", 16> {};
struct d_model : mtf::dim<"d_model", 32> {};
struct d_ff : mtf::dim<"d_ff", 64> {};
struct low : mtf::dim<"low", 4> {};  // the rank of what is learned
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_batch = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using by_both = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<d_ff, model>>;

// The model, which stays as it is.
template <template <class...> class Tensor>
struct feed_forward {
  Tensor<d_model, d_ff> up;
  Tensor<d_ff, d_model> down;
  MTF_FIELDS(up, down);
};
// What learns: for each matrix two small ones, whose product is added to it.
template <template <class...> class Tensor>
struct adapters {
  Tensor<d_model, low> up_a;
  Tensor<low, d_ff> up_b;
  Tensor<d_ff, low> down_a;
  Tensor<low, d_model> down_b;
  MTF_FIELDS(up_a, up_b, down_a, down_b);
};

// x (w + 2 a b), without that sum of matrices.
template <mtf::dimension Out>
constexpr auto adapted(auto const& x, auto const& w, auto const& a, auto const& b) {
  return mtf::einsum<batch, Out>(x, w) + 2.0 * mtf::einsum<batch, Out>(mtf::einsum<batch, low>(x, a), b);
}
// Gradients are taken in the first argument, and in no other.
constexpr auto loss = [](auto const& small, auto const& base, auto const& x, auto const& y) {
  auto const h = mtf::relu(adapted<d_ff>(x, base.up, small.up_a, small.up_b));
  return mtf::mean(mtf::square(adapted<d_model>(h, base.down, small.down_a, small.down_b) - y));
};

constexpr auto loss_of_base = [](auto const& base, auto const& x, auto const& y) {
  auto const h = mtf::relu(mtf::einsum<batch, d_ff>(x, base.up));
  return mtf::mean(mtf::square(mtf::einsum<batch, d_model>(h, base.down) - y));
};

// The model with what was learned in it: as fast as it was, to be saved and used as any other.
template <class Base, class Small>
Base merged(Base const& base, Small const& small) {
  return {base.up + 2.0 * mtf::einsum<d_model, d_ff>(small.up_a, small.up_b),
          base.down + 2.0 * mtf::einsum<d_ff, d_model>(small.down_a, small.down_b)};
}

template <class Layout>
using base_under = feed_forward<mtf::place<float, Layout, recipes::backend>::template tensor>;
template <class Layout>
using small_under = adapters<mtf::place<float, Layout, recipes::backend>::template tensor>;

// At first b = 0: the model is what it was.
template <class Layout>
small_under<Layout> initial(recipes::backend& machine) {
  using small = small_under<Layout>;
  return {mtf::random_normal<decltype(small::up_a)>(machine, mtf::random_key(1).of("up_a"), 0, 0.1),
          mtf::zeros<decltype(small::up_b)>(machine),
          mtf::random_normal<decltype(small::down_a)>(machine, mtf::random_key(1).of("down_a"), 0, 0.1),
          mtf::zeros<decltype(small::down_b)>(machine)};
}

// Trains the small matrices alone, and saves them alone.
template <class Base, class Small>
void tune(recipes::backend& machine, Base const& base, Small& small, auto const& x, auto const& y,
          std::string const& directory) {
  mtf::adamw<Small> optimizer(machine, {});
  for (int step = 0; step < 20; ++step) {
    auto const [value, gradients] = mtf::value_and_grad(loss)(small, base, x, y);
    optimizer.update(machine, small, gradients, 1e-2);
  }
  mtf::save(directory, small);
}

// What a step sends between two ranks that split the batch: the gradients of the small matrices, and the loss.
constexpr auto plan = mtf::plan_of<by_batch>(loss, mtf::parameters<adapters>{}, mtf::parameters<feed_forward>{},
                                             mtf::input<float, batch, d_model>{}, mtf::input<float, batch, d_model>{});
static_assert(plan.bytes_sent_per_rank() == 4 * (2 * (d_model::extent + d_ff::extent) * low::extent + 1));

template <class Layout>
struct problem {
  using real = mtf::place<float, Layout, recipes::backend>;
  using examples = typename real::template tensor<batch, d_model>;
  base_under<Layout> base;
  examples x, y;

  explicit problem(recipes::backend& machine)
      : base{0.2F * recipes::random<decltype(base_under<Layout>::up)>(machine, "up"),
             0.2F * recipes::random<decltype(base_under<Layout>::down)>(machine, "down")},
        x(recipes::random<examples>(machine, "x")),
        y(recipes::random<examples>(machine, "y")) {}
};

struct losses {
  float before = 0, after = 0, merged = 0;
};
template <class Layout>
losses tuned(std::string const& directory) {
  losses found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    problem<Layout> const given(machine);
    auto const& base = given.base;
    auto const &x = given.x, &y = given.y;
    auto const up = mtf::to_global(base.up);
    auto small = initial<Layout>(machine);
    losses mine{.before = mtf::item(loss(small, base, x, y))};
    CHECK(mine.before == mtf::item(loss_of_base(base, x, y)));
    tune(machine, base, small, x, y, directory);
    mine.after = mtf::item(loss(small, base, x, y));
    mine.merged = mtf::item(loss_of_base(merged(base, small), x, y));
    CHECK(mtf::to_global(base.up) == up);
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}
template <class Layout>
float loaded(std::string const& directory) {
  float found = 0;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    problem<Layout> const given(machine);
    auto const small = mtf::load<small_under<Layout>>(machine, directory);
    auto const mine = mtf::item(loss(small, given.base, given.x, given.y));
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}

TEST_CASE("small matrices learn beside those of a model, and are all that is saved") {
  auto const at = std::filesystem::temp_directory_path() / ("mtf-recipe-lora-" + std::to_string(::getpid()));
  auto const alone = tuned<one_rank>(at / "one_rank");
  CHECK(alone.after < 0.8F * alone.before);
  for (auto const& split : {tuned<by_batch>(at / "by_batch"), tuned<by_both>(at / "by_both")}) {
    CHECK(split.before == doctest::Approx(alone.before).epsilon(1e-5));
    CHECK(split.after == doctest::Approx(alone.after).epsilon(1e-4));
    CHECK(split.merged == doctest::Approx(split.after).epsilon(1e-5));
  }
  CHECK(loaded<one_rank>(at / "one_rank") == alone.after);
  CHECK(loaded<by_both>(at / "one_rank") == doctest::Approx(alone.after).epsilon(1e-5));
  CHECK(loaded<one_rank>(at / "by_both") == doctest::Approx(loaded<by_both>(at / "by_both")).epsilon(1e-5));

  std::ifstream file(at / "by_both" / "model.safetensors", std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(file), {}};
  auto const header = mtf::safetensors_from(bytes, bytes.size(), "model.safetensors");
  std::set<std::string> names;
  for (auto const& array : header.arrays) names.insert(array.name);
  CHECK(names == std::set<std::string>{"up_a", "up_b", "down_a", "down_b"});
  CHECK(bytes.size() - header.data == 4 * 2 * (d_model::extent + d_ff::extent) * low::extent);
  std::filesystem::remove_all(at);
}

}  // namespace
