// Labels and ids that mean nothing: negative ones are ignored, however unequal the ranks' shares of what counts are;
// those beyond the classes are an error where the data comes in, and NaN after it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

#include "../support/error_of.hpp"

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
struct batch : mtf::dim<"batch", 8> {};
struct place : mtf::dim<"place", 3> {};
struct width : mtf::dim<"width", 4> {};
struct word : mtf::dim<"word", 6> {};
struct p : mtf::axis<"p", 2> {};
struct q : mtf::axis<"q", 2> {};

template <template <class...> class Tensor>
struct model {
  Tensor<word, width> table;
  Tensor<width, word> out;
  MTF_FIELDS(table, out);
};

constexpr auto logits = [](auto const& m, auto const& ids) {
  return mtf::einsum<batch, place, word>(mtf::embedding<word>(m.table, ids), m.out);
};
constexpr auto loss = [](auto const& m, auto const& ids, auto const& labels) {
  return mtf::weighted_mean(mtf::cross_entropy<word>(logits(m, ids), labels), labels >= 0);
};

/// Of rank 0: the loss, and all gradients one after the other.
struct result {
  double loss = 0;
  std::vector<double> gradients;
};

std::vector<double> some_numbers(std::size_t n, double salt) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(std::sin(salt + 1.7 * static_cast<double>(i)));
  return x;
}
std::vector<double> const table = some_numbers(24, 1), weights = some_numbers(24, 2);

template <class Layout>
result differentiated(mtf::rank_threads& pool, std::vector<std::int32_t> const& ids,
                      std::vector<std::int32_t> const& labels) {
  result r;
  pool.run(Layout::mesh_type::shape(), [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    using here = mtf::place<double, Layout, backend>;
    using tokens = typename mtf::place<std::int32_t, Layout, backend>::template tensor<batch, place>;
    model<here::template tensor> const m{
        mtf::from_global<typename here::template tensor<word, width>>(machine, table),
        mtf::from_global<typename here::template tensor<width, word>>(machine, weights)};
    auto const [value, gradients] =
        mtf::value_and_grad(loss)(m, mtf::from_global<tokens>(machine, ids), mtf::from_global<tokens>(machine, labels));
    auto const number = mtf::item(value);
    auto const first = mtf::to_global(gradients.table.complete()), second = mtf::to_global(gradients.out.complete());
    if (ranks.rank() > 0) return;
    r.loss = number;
    r.gradients = first;
    r.gradients.insert(r.gradients.end(), second.begin(), second.end());
  });
  return r;
}

/// The same in plain loops, by differences for the gradients.
double loss_of(std::vector<double> const& x, std::vector<std::int32_t> const& ids,
               std::vector<std::int32_t> const& labels) {
  double total = 0, count = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (labels[i] < 0) continue;
    std::vector<double> y(6);
    for (std::size_t j = 0; j < 6; ++j)
      for (std::size_t k = 0; k < 4 && ids[i] >= 0; ++k)
        y[j] += x[static_cast<std::size_t>(ids[i]) * 4 + k] * x[24 + k * 6 + j];
    double sum = 0;
    for (double const v : y) sum += std::exp(v);
    total += std::log(sum) - y[static_cast<std::size_t>(labels[i])];
    ++count;
  }
  return total / count;
}
result expected(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& labels) {
  auto x = table;
  x.insert(x.end(), weights.begin(), weights.end());
  result r{loss_of(x, ids, labels), {}};
  for (double& v : x) {
    double const before = v, h = 1e-5;
    v = before + h;
    double const above = loss_of(x, ids, labels);
    v = before - h;
    r.gradients.push_back((above - loss_of(x, ids, labels)) / (2 * h));
    v = before;
  }
  return r;
}

template <class... Split>
using on_two = mtf::layout<mtf::mesh<p>, Split...>;
template <class... Split>
using on_four = mtf::layout<mtf::mesh<p, q>, Split...>;

template <class Check>
void under_layouts(Check const& check) {
  check.template operator()<mtf::layout<mtf::mesh<>>>("one rank");
  check.template operator()<on_two<mtf::split<batch, p>>>("batch:p");
  check.template operator()<on_two<mtf::split<word, p>>>("word:p");
  check.template operator()<on_four<mtf::split<batch, p>, mtf::split<word, q>>>("batch:p;word:q");
  check.template operator()<on_four<mtf::split<batch, p, q>>>("batch:p+q");
  check.template operator()<on_four<mtf::split<width, p>, mtf::split<batch, q>>>("width:p;batch:q");
}

TEST_CASE("negative labels are ignored and the mean is that of the others, under every layout") {
  mtf::rank_threads pool(4);
  std::vector<std::int32_t> ids, labels;
  for (int i = 0; i < 24; ++i) {
    ids.push_back(i % 5 == 4 ? -1 : i * 5 % 6);                   // a negative id: zeros
    labels.push_back(i < 12 || i % 4 == 0 ? -1 - i : i * i % 6);  // the first half of the batch counts nothing
  }
  auto const want = expected(ids, labels);
  under_layouts([&]<class Layout>(char const* layout) {
    CAPTURE(layout);
    auto const found = differentiated<Layout>(pool, ids, labels);
    CHECK(found.loss == doctest::Approx(want.loss).epsilon(1e-12));
    REQUIRE(found.gradients.size() == want.gradients.size());
    for (std::size_t i = 0; i < want.gradients.size(); ++i)
      CHECK(found.gradients[i] == doctest::Approx(want.gradients[i]).epsilon(1e-6));
  });
}

/// A quarter of the batch: the labels' dimension of a micro-batch.
struct part : mtf::dim<"part", 2> {};
constexpr auto part_loss = [](auto const& m, auto const& ids, auto const& labels) {
  auto const scores = mtf::einsum<part, place, word>(mtf::embedding<word>(m.table, ids), m.out);
  return mtf::weighted_mean(mtf::cross_entropy<word>(scores, labels), labels >= 0);
};
double count_of(std::vector<std::int32_t> const& labels, std::size_t i) {
  auto const first = labels.begin() + static_cast<std::ptrdiff_t>(i * 6);
  return static_cast<double>(std::count_if(first, first + 6, [](auto label) { return label >= 0; }));
}

template <class Layout>
result accumulated(mtf::rank_threads& pool, std::vector<std::int32_t> const& ids,
                   std::vector<std::int32_t> const& labels) {
  result r;
  pool.run(Layout::mesh_type::shape(), [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    using here = mtf::place<double, Layout, backend>;
    using tokens = typename mtf::place<std::int32_t, Layout, backend>::template tensor<part, place>;
    model<here::template tensor> const m{
        mtf::from_global<typename here::template tensor<word, width>>(machine, table),
        mtf::from_global<typename here::template tensor<width, word>>(machine, weights)};
    auto const read = [&](std::vector<std::int32_t> const& from) {
      return [&](std::size_t i) {
        return mtf::from_global<tokens>(machine, std::span<std::int32_t const>(from).subspan(i * 6, 6));
      };
    };
    auto const weight = [&](std::size_t i) { return count_of(labels, i); };
    auto const batch_loss = mtf::accumulated(part_loss, 4, weight);
    for (auto const when : {mtf::completed_gradients::later, mtf::completed_gradients::overlapped}) {
      auto const [value, gradients] = mtf::value_and_grad(batch_loss, when)(m, read(ids), read(labels));
      auto const number = mtf::item(value);
      CHECK(mtf::item(batch_loss(m, read(ids), read(labels))) == number);
      auto const first = mtf::to_global(gradients.table.complete()), second = mtf::to_global(gradients.out.complete());
      if (ranks.rank() > 0) continue;
      r.loss = number;
      r.gradients = first;
      r.gradients.insert(r.gradients.end(), second.begin(), second.end());
    }
  });
  return r;
}

TEST_CASE("micro-batches by their numbers of labels are one batch, however the labels are spread") {
  mtf::rank_threads pool(2);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 24; ++i) ids.push_back(i * 5 % 6);
  for (int const spread : {1, 2, 3, 4}) {
    CAPTURE(spread);
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 24; ++i) {
      bool const counts = spread == 1   ? true
                          : spread == 2 ? i >= 6                    // none in the first micro-batch
                          : spread == 3 ? i < 17 && i % 6 <= i / 6  // one, two, three, and none in the last
                                        : i == 13;                  // one alone
      labels.push_back(counts ? i * i % 6 : -1);
    }
    auto const want = expected(ids, labels);
    auto const check = [&](result const& found) {
      CHECK(found.loss == doctest::Approx(want.loss).epsilon(1e-12));
      REQUIRE(found.gradients.size() == want.gradients.size());
      for (std::size_t i = 0; i < want.gradients.size(); ++i)
        CHECK(found.gradients[i] == doctest::Approx(want.gradients[i]).epsilon(1e-6));
    };
    check(accumulated<mtf::layout<mtf::mesh<>>>(pool, ids, labels));
    check(accumulated<on_two<mtf::split<part, p>>>(pool, ids, labels));
    check(accumulated<on_two<mtf::split<word, p>>>(pool, ids, labels));
  }
}

TEST_CASE("weights of micro-batches that mean nothing are refused") {
  mtf::rank_threads pool(1);
  std::vector<std::int32_t> const tokens(24, 1);
  pool.run({}, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    using here = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;
    model<here::template tensor> const m{mtf::from_global<here::tensor<word, width>>(machine, table),
                                         mtf::from_global<here::tensor<width, word>>(machine, weights)};
    auto const ids = mtf::from_global<here::rebound<std::int32_t>::tensor<part, place>>(
        machine, std::span<std::int32_t const>(tokens).first(6));
    auto const said = [&](double first, double other) {
      auto const weight = [&](std::size_t i) { return i == 0 ? first : other; };
      return error_of([&] { return mtf::value_and_grad(mtf::accumulated(part_loss, 3, weight))(m, ids, ids).value; });
    };
    CHECK(said(1, 2).empty());
    CHECK(said(0, 2).empty());
    CHECK(said(0, 0).find("all 3 micro-batches of a batch have the weight 0") != std::string::npos);
    CHECK(said(1, -1).find("the weight of micro-batch 1 is -1.0") != std::string::npos);
    CHECK(said(std::nan(""), 1).find("the weight of micro-batch 0 is ") != std::string::npos);
    CHECK(said(1, INFINITY).find("the weight of micro-batch 1 is inf") != std::string::npos);
  });
}

TEST_CASE("labels and ids beyond the extent do not look normal, under any layout") {
  mtf::rank_threads pool(4);
  std::vector<std::int32_t> const good(24, 2);
  auto bad = good;
  bad[19] = 6;
  under_layouts([&]<class Layout>(char const* layout) {
    CAPTURE(layout);
    CHECK(std::isfinite(differentiated<Layout>(pool, good, good).loss));
    auto const wrong_label = differentiated<Layout>(pool, good, bad),
               wrong_id = differentiated<Layout>(pool, bad, good);
    CHECK(std::isnan(wrong_label.loss));
    CHECK(std::isnan(wrong_id.loss));
    CHECK(std::isnan(wrong_label.gradients.back()));
  });
}

TEST_CASE("a position beyond the extent is an error where the data comes in, with its place") {
  mtf::rank_threads pool(2);
  using layout = on_two<mtf::split<batch, p>>;
  using tokens = mtf::place<std::int32_t, layout, backend>::tensor<batch, place>;
  pool.run(layout::mesh_type::shape(), [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    for (std::size_t at = 0; at < 24; ++at) {
      std::vector<std::int32_t> ids(24, 5);
      ids[(at + 5) % 24] = -1;
      CHECK_NOTHROW(mtf::from_global<tokens, word>(machine, ids));
      ids[at] = 6;
      std::string const where = "[batch " + std::to_string(at / 3) + ", place " + std::to_string(at % 3) + "] is 6";
      std::string told;
      try {
        mtf::from_global<tokens, word>(machine, ids);
      } catch (mtf::user_error const& e) {
        told = e.what();
      }
      CHECK(told.find(where) != std::string::npos);
      CHECK(told.find("word has 6 positions, 0 to 5") != std::string::npos);
    }
  });
}

TEST_CASE("an embedding in a table of integers") {
  mtf::rank_threads pool(1);
  using layout = mtf::layout<mtf::mesh<>>;
  using here = mtf::place<std::int32_t, layout, backend>;
  pool.run(layout::mesh_type::shape(), [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    auto const numbers = mtf::iota<word, here::tensor<word>>(machine) + 1;
    auto const ids = mtf::from_global<here::tensor<place>>(machine, std::vector<std::int32_t>{5, -1, 6});
    CHECK(mtf::embedding<word>(numbers, ids).local() == std::vector<std::int32_t>{6, 0, 0});
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
