// A vocabulary that ranks do not divide.
#include "on_ranks.hpp"

#include <unistd.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <mtf/checkpoint.hpp>

namespace {

// 13 tokens on four ranks: stored as 16.
struct vocab : mtf::dim<"vocab", 13, mtf::pad_to<4>> {};
struct token : mtf::dim<"token", 6> {};
struct d_model : mtf::dim<"d_model", 8> {};
struct model : mtf::axis<"model", 4> {};
using by_vocab = mtf::layout<mtf::mesh<model>, mtf::split<vocab, model>>;

template <template <class...> class Tensor>
struct bigrams {
  Tensor<vocab, d_model> embedding;
  MTF_FIELDS(embedding);
};
constexpr auto loss = [](auto const& p, auto const& ids, auto const& next) {
  auto const x = mtf::embedding<vocab>(p.embedding, ids);
  return mtf::mean(mtf::cross_entropy<vocab>(mtf::einsum<token, vocab>(x, p.embedding), next));
};

std::vector<std::int32_t> const ids{0, 3, 12, 12, 7, 1}, next{3, 12, 12, 7, 1, 11};

struct step {
  double loss = 0;
  std::vector<double> before, after;  // one step of gradient descent
};
template <class Layout>
step one_step(std::string const& directory) {
  step found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<double, Layout, recipes::backend>;
    using parameters = bigrams<real::template tensor>;
    using numbers = typename real::template rebound<std::int32_t>::template tensor<token>;
    parameters p{recipes::random<decltype(parameters::embedding)>(machine, "embedding")};
    step mine;
    mine.before = mtf::to_global(p.embedding);
    auto const [value, gradients] = mtf::value_and_grad(loss)(p, mtf::from_global<numbers, vocab>(machine, ids),
                                                              mtf::from_global<numbers, vocab>(machine, next));
    mine.loss = mtf::item(value);
    mtf::sgd<parameters> optimizer(machine, {});
    optimizer.update(machine, p, gradients, 0.5);
    mine.after = mtf::to_global(p.embedding);
    mtf::save(directory, p);
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}

TEST_CASE("pads of a vocabulary are seen by nobody: loss, update and file are those of 13 tokens") {
  constexpr std::size_t v = 13, d = d_model::extent, n = token::extent;
  auto const at = std::filesystem::temp_directory_path() / ("mtf-recipe-vocabulary-" + std::to_string(::getpid()));
  for (auto const& found : {one_step<mtf::layout<mtf::mesh<>>>(at), one_step<by_vocab>(at)}) {
    auto const& e = found.before;
    REQUIRE(e.size() == v * d);
    auto want = e;
    double loss = 0;
    for (std::size_t t = 0; t < n; ++t) {
      auto const* const x = &e[static_cast<std::size_t>(ids[t]) * d];
      std::vector<double> p(v);
      double total = 0;
      for (std::size_t i = 0; i < v; ++i) {
        double logit = 0;
        for (std::size_t k = 0; k < d; ++k) logit += e[i * d + k] * x[k];
        total += p[i] = std::exp(logit);
      }
      for (std::size_t i = 0; i < v; ++i) p[i] /= total;
      loss -= std::log(p[static_cast<std::size_t>(next[t])]) / n;
      p[static_cast<std::size_t>(next[t])] -= 1;
      for (std::size_t i = 0; i < v; ++i)
        for (std::size_t k = 0; k < d; ++k) {
          want[i * d + k] -= 0.5 * p[i] * x[k] / n;
          want[static_cast<std::size_t>(ids[t]) * d + k] -= 0.5 * p[i] * e[i * d + k] / n;
        }
    }
    CHECK(found.loss == doctest::Approx(loss));
    recipes::check_close(found.after, want, 1e-12);

    std::ifstream file(at / "model.safetensors", std::ios::binary);
    std::string const bytes{std::istreambuf_iterator<char>(file), {}};
    auto const header = mtf::safetensors_from(bytes, bytes.size(), "model.safetensors");
    REQUIRE(header.arrays.size() == 1);
    CHECK(header.arrays[0].shape == std::vector<std::int64_t>{13, 8});
  }
  std::filesystem::remove_all(at);
}

}  // namespace
