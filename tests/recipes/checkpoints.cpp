// Checkpoints: written under one layout, read under another.
#include "on_ranks.hpp"

#include <unistd.h>
#include <filesystem>
#include <string>

#include <mtf/checkpoint.hpp>

namespace {

struct batch : mtf::dim<"batch", 16> {};
struct pixels : mtf::dim<"pixels", 20> {};
struct hidden : mtf::dim<"hidden", 8> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 4> {};
using by_batch = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using by_hidden = mtf::layout<mtf::mesh<model>, mtf::split<hidden, model>>;

template <template <class...> class Tensor>
struct mlp {
  Tensor<pixels, hidden> w;
  Tensor<hidden> b;
  MTF_FIELDS(w, b);
};
template <template <class...> class Tensor>
struct their_layer {
  Tensor<hidden, pixels> weight;
  Tensor<hidden> bias;
  MTF_FIELDS(weight, bias);
};
template <template <class...> class Tensor>
struct in_their_files {
  their_layer<Tensor> dense;
  MTF_FIELDS(dense);
};
template <template <class...> class Tensor>
struct masked {
  Tensor<hidden> mask;
  MTF_FIELDS(mask);
};
template <template <class...> class Tensor>
struct theirs {
  Tensor<pixels, hidden> w;
  masked<Tensor> attention;
  MTF_FIELDS(w, attention);
};
template <class Layout>
using parameters_under = mlp<mtf::place<float, Layout, recipes::backend>::template tensor>;

constexpr auto loss = [](auto const& p, auto const& x) {
  return mtf::mean(mtf::gelu(mtf::einsum<batch, hidden>(x, p.w) + p.b));
};

// A structure of tensors, written as DIRECTORY/model.safetensors and read under another layout.
template <class Parameters>
void write(std::string const& directory, Parameters const& p) {
  mtf::save(directory, p);
}
auto read(recipes::backend& machine, std::string const& directory) {
  return mtf::load<parameters_under<by_hidden>>(machine, directory);
}

// Of other files: `b` is not in them, and keeps its value; what they have besides is not read.
template <class Parameters>
void begin_from(recipes::backend& machine, std::string const& path, Parameters& p) {
  mtf::load_parts(machine, path, {.may_be_missing = {"b"}, .may_be_left_over = {"*.mask"}}, mtf::stored_as("model", p));
}

// As another tool keeps it: another name, the matrix transposed.
auto const their_names = mtf::stored_names{
    .tensors = {{"w", "dense.weight", "hidden pixels"}, {"b", "dense.bias"}},
};
template <class Parameters>
void write_for_them(std::string const& directory, Parameters const& p) {
  mtf::save(directory, p, {.names = their_names, .texts = {{"config.json", "{\"model_type\": \"mlp\"}\n"}}});
}
auto read_theirs(recipes::backend& machine, std::string const& directory) {
  return mtf::load<parameters_under<by_hidden>>(machine, directory, {.names = their_names});
}

// A run that writes a checkpoint every 10 steps, and goes on from the newest one when it is started again.
template <class Parameters, class Step>
void run(recipes::backend& machine, std::string const& directory, Parameters& p, Step const& step_function, int steps) {
  mtf::adamw<Parameters> optimizer(machine, {});
  mtf::checkpoints saved(machine.ranks(), {.directory = directory, .keep = 2});
  auto const parts = [&](auto const& f) { f(mtf::stored_as("model", p), mtf::stored_as("optimizer", optimizer)); };

  int first = 0;
  if (auto const newest = saved.newest()) {
    parts([&](auto const&... part) { saved.read(machine, *newest, part...); });
    first = static_cast<int>(*newest);
  }
  for (int step = first; step < steps; ++step) {
    optimizer.update(machine, p, step_function(p), 1e-2);
    if ((step + 1) % 10 == 0) parts([&](auto const&... part) { saved.write(step + 1, {}, part...); });
    saved.poll();  // it is written meanwhile; complete when all ranks have written their parts
  }
  saved.finish();
}

std::string const at = (std::filesystem::temp_directory_path() / ("mtf-recipe-" + std::to_string(::getpid()))).string();

template <class Layout>
std::vector<float> trained(recipes::backend& machine, std::string const& directory, int steps) {
  auto p = parameters_under<Layout>{recipes::random<decltype(parameters_under<Layout>::w)>(machine, "w"),
                                    recipes::random<decltype(parameters_under<Layout>::b)>(machine, "b")};
  auto const x = recipes::random<typename mtf::place<float, Layout, recipes::backend>::template tensor<batch, pixels>>(
      machine, "x");
  run(machine, directory, p, [&](auto const& q) { return mtf::value_and_grad(loss)(q, x).gradients; }, steps);
  return mtf::to_global(p.w);
}

TEST_CASE("a run goes on under another layout as if nothing had happened") {
  std::vector<float> whole, then;
  recipes::on_ranks<by_batch>([&](recipes::backend& machine) {
    auto const w = trained<by_batch>(machine, at + "/whole", 30);
    trained<by_batch>(machine, at + "/parts", 10);
    if (machine.ranks().rank() == 0) whole = w;
  });
  recipes::on_ranks<by_hidden>([&](recipes::backend& machine) {
    auto const w = trained<by_hidden>(machine, at + "/parts", 30);
    if (machine.ranks().rank() == 0) then = w;
  });
  recipes::check_close(then, whole, 1e-5);

  recipes::on_ranks<by_hidden>([&](recipes::backend& machine) {
    auto const p = read(machine, at + "/whole/step-00000030");
    CHECK(mtf::to_global(p.w) == whole);
    write(at + "/again", p);
    CHECK(mtf::to_global(read(machine, at + "/again").w) == whole);

    using tensors = mtf::place<float, by_hidden, recipes::backend>;
    mtf::save(at + "/theirs", theirs<tensors::tensor>{p.w, {p.b}});
    auto own = parameters_under<by_hidden>{p.w + 1, p.b + 1};
    begin_from(machine, at + "/theirs", own);
    CHECK(mtf::to_global(own.w) == whole);
    CHECK(mtf::to_global(own.b) == mtf::to_global(p.b + 1));

    write_for_them(at + "/dense", p);
    CHECK(mtf::to_global(read_theirs(machine, at + "/dense").w) == whole);
    auto const stored = mtf::load<in_their_files<tensors::tensor>>(machine, at + "/dense");
    CHECK(mtf::to_global(mtf::transpose<pixels, hidden>(stored.dense.weight)) == whole);
  });
  std::filesystem::remove_all(at);
}

}  // namespace
