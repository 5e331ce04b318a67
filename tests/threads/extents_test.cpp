// Extents that are values: a program compiled once trains at any sizes as the one whose types have them, to the bit,
// and sends the same; tensors of several lengths live on one backend; what does not fit is one sentence.
// links: checkpoint
// devices: none
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/checkpoint/extents_in.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/sorting.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/tensor/extent.hpp>

#include "support/error_of.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

/// A small classifier over dimensions of any kind.
template <class D>
struct net {
  using batch = typename D::batch;
  using width = typename D::width;
  using hidden = typename D::hidden;
  using classes = typename D::classes;

  template <template <class...> class Tensor>
  struct parameters {
    Tensor<width, hidden> w1;
    Tensor<hidden> b1, gamma;
    Tensor<hidden, classes> w2;
    MTF_FIELDS(w1, b1, gamma, w2);
  };
  struct loss {
    template <class P, class X, class Labels>
    constexpr auto operator()(P const& p, X const& x, Labels const& labels) const {
      auto const h = mtf::gelu(mtf::linear<batch, hidden>(x, p.w1, p.b1));
      auto const kept = mtf::dropout(mtf::rms_norm<hidden>(h, p.gamma), 0.25, mtf::random_key(3));
      auto const logits = mtf::einsum<batch, classes>(kept, p.w2);
      return mtf::mean(mtf::cross_entropy<classes>(logits, labels)) + 0.01 * mtf::mean(mtf::square(h));
    }
  };
};

struct values {
  struct batch : mtf::dim<"batch"> {};
  struct width : mtf::dim<"width"> {};
  struct hidden : mtf::dim<"hidden"> {};
  struct classes : mtf::dim<"classes"> {};
};
template <int Batch, int Width, int Hidden, int Classes>
struct types {
  struct batch : mtf::dim<"batch", Batch> {};
  struct width : mtf::dim<"width", Width> {};
  struct hidden : mtf::dim<"hidden", Hidden> {};
  struct classes : mtf::dim<"classes", Classes> {};
  static mtf::extents_value given() {
    return {{"batch", Batch}, {"width", Width}, {"hidden", Hidden}, {"classes", Classes}};
  }
};
/// Some dimensions of each kind.
template <class T>
struct mixed {
  using batch = values::batch;
  using width = typename T::width;
  using hidden = values::hidden;
  using classes = typename T::classes;
};

using event = mtf::collectives::event;
/// What a rank sees of three steps.
struct seen {
  std::vector<double> numbers;
  std::vector<event> sent;
  bool operator==(seen const&) const = default;
};

template <class D>
seen trained(thread_backend& b, mtf::extents_value const& of) {
  using here = mtf::place<float, mtf::any_layout<>, thread_backend>;
  using model = net<D>;
  using parameters = typename model::template parameters<here::template tensor>;
  using X = typename here::template tensor<typename D::batch, typename D::width>;
  using ids = typename mtf::place<std::int32_t, mtf::any_layout<>, thread_backend>::template tensor<typename D::batch>;
  auto const extent = [&](char const* name) { return *of.find(name); };
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_uniform<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(1).of(name), -1, 1);
      },
      p);
  mtf::adamw<parameters, mtf::decay_weights, mtf::state_split_over<typename D::hidden>> optimizer(b, {});
  seen r;
  b.ranks().record(&r.sent);
  for (int step = 0; step < 3; ++step) {
    std::vector<float> numbers(static_cast<std::size_t>(extent("batch") * extent("width")));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(extent("batch")));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(step)) % 11) / 11 - 0.5F;
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] =
          static_cast<std::int32_t>((i + static_cast<std::size_t>(step)) % static_cast<std::size_t>(extent("classes")));
    auto const [loss, gradients] = mtf::value_and_grad<mtf::state_split_over<typename D::hidden>>(
        typename model::loss{}, mtf::completed_gradients::overlapped)(
        std::as_const(p), mtf::from_global<X>(b, numbers), mtf::from_global<ids, typename D::classes>(b, labels));
    r.numbers.push_back(mtf::item(loss));
    r.numbers.push_back(optimizer.update(b, p, gradients, 0.01));
  }
  mtf::for_each_tensor(
      [&](auto, auto const& x) {
        for (float const v : x.local()) r.numbers.push_back(v);
      },
      p);
  b.ranks().record(nullptr);
  CHECK(mtf::parameter_count(p) ==
        extent("width") * extent("hidden") + 2 * extent("hidden") + extent("hidden") * extent("classes"));
  return r;
}

constexpr std::array<char const*, 5> rules{"", "batch:p", "batch:p;hidden:q", "hidden:p+q", "width:q;classes:p"};

template <class T>
void check_as_typed() {
  under_each_layout(rules, [](thread_backend& b) {
    auto const given = T::given();
    auto const expected = trained<T>(b, given);
    b.layouts().give(given);
    CHECK(trained<values>(b, given) == expected);
    CHECK(trained<mixed<T>>(b, given) == expected);
  });
}
TEST_CASE("a program at any sizes trains as one whose types have them, to the bit") {
  check_as_typed<types<8, 12, 16, 4>>();
  check_as_typed<types<4, 4, 8, 8>>();
  check_as_typed<types<12, 8, 4, 4>>();
}

TEST_CASE("programs of several sizes in turns, on one backend") {
  under_each_layout(rules, [](thread_backend& b) {
    using small = types<4, 4, 8, 4>;
    using large = types<8, 12, 16, 8>;
    std::vector<seen> expected;
    for (auto const& given : {small::given(), large::given()}) {
      thread_backend fresh = thread_backend::one_of_many(b.ranks());
      fresh.layouts().add(b.layouts()[0]);
      fresh.layouts().give(given);
      expected.push_back(trained<values>(fresh, given));
    }
    for (int turn = 0; turn < 3; ++turn)
      for (std::size_t i = 0; i < 2; ++i) {
        auto const given = i == 0 ? small::given() : large::given();
        b.layouts().give(given);
        CHECK(trained<values>(b, given) == expected[i]);
      }
  });
}

TEST_CASE("works that are forgotten change nothing, and do not grow with the lengths that were seen") {
  under_each_layout(rules, [](thread_backend& b) {
    std::vector<mtf::extents_value> sizes;
    for (int i = 1; i <= 6; ++i) sizes.push_back({{"batch", 4 * i}, {"width", 4}, {"hidden", 8}, {"classes", 4}});
    std::vector<seen> expected;
    for (auto const& given : sizes) {
      b.layouts().give(given);
      expected.push_back(trained<values>(b, given));
    }
    auto const all = b.layouts().bytes_of_works();
    for (std::size_t const limit : {std::size_t{1}, all / 4}) {
      thread_backend fresh = thread_backend::one_of_many(b.ranks());
      fresh.layouts().add(b.layouts()[0]);
      fresh.layouts().limit_works(limit);
      for (int turn = 0; turn < 3; ++turn)
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          fresh.layouts().give(sizes[i]);
          CHECK(trained<values>(fresh, sizes[i]) == expected[i]);
          CHECK(fresh.layouts().bytes_of_works() < all / 2);
        }
    }
  });
}

TEST_CASE("plans at any sizes are those of typed programs") {
  using typed = types<8, 12, 16, 4>;
  for (char const* const text : rules) {
    auto const layout = mtf::layout_from(mtf::mesh_from("p:2;q:2"), text);
    auto const planned = [&]<class D>(D*) {
      using split = mtf::state_split_over<typename D::hidden>;
      using model = net<D>;
      return mtf::plan_under<mtf::completed_gradients::overlapped, split, mtf::updated_by<mtf::adamw>>(
          typename model::loss{}, layout, typed::given(), mtf::parameters<model::template parameters, float>{},
          mtf::input<float, typename D::batch, typename D::width>{}, mtf::input<std::int32_t, typename D::batch>{});
    };
    auto const expected = planned(static_cast<typed*>(nullptr)), found = planned(static_cast<values*>(nullptr));
    CHECK(found.unrolled() == expected.unrolled());
    CHECK(found.peak_bytes == expected.peak_bytes);
    CHECK(!found.collectives.empty() == !expected.collectives.empty());
  }
}

// Operations ---------------------------------------------------------------------------------------------------------

using here = mtf::place<double, mtf::any_layout<>, thread_backend>;
using batch = values::batch;
using width = values::width;
struct part : mtf::dim<"part"> {};
struct copies : mtf::dim<"copies"> {};
struct memory : mtf::alias<"memory", batch> {};

template <class F>
void on_one_rank(F const& f) {
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    f(b);
  });
}
std::vector<double> counted(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i);
  return x;
}

TEST_CASE("one extent follows from data; tensors of one name and several lengths live side by side") {
  on_one_rank([](thread_backend& b) {
    b.layouts().give(mtf::extents_from("width:4;copies:3"));
    using X = here::tensor<batch, width>;
    auto const x = mtf::from_global<X>(b, counted(12)), rest = mtf::from_global<X>(b, counted(4));
    auto const narrow = mtf::from_global<X>(b, counted(12), {{"width", 2}});
    CHECK(mtf::extent<batch>(x) == 3);
    CHECK(mtf::extent<batch>(rest) == 1);
    CHECK(mtf::extent<batch>(narrow) == 6);
    CHECK(mtf::item(mtf::mean(x)) == 5.5);
    CHECK(mtf::item(mtf::mean(rest)) == 1.5);
    CHECK(mtf::mean<width>(narrow).local() == std::vector<double>{0.5, 2.5, 4.5, 6.5, 8.5, 10.5});
    CHECK(mtf::extent<memory>(mtf::rename<batch, memory>(x)) == 3);
    CHECK(mtf::extent<copies>(mtf::broadcast<batch, copies>(mtf::sum<width>(rest))) == 3);
    b.layouts().give({{"copies", 5}});
    CHECK(mtf::extent<copies>(mtf::broadcast<batch, copies>(mtf::sum<width>(rest))) == 5);
    CHECK(mtf::extent<batch>(mtf::broadcast<batch, copies>(mtf::sum<width>(x))) == 3);
  });
}

TEST_CASE("parts are as long as is given when they are taken") {
  on_one_rank([](thread_backend& b) {
    b.layouts().give(mtf::extents_from("width:6"));
    auto const x = mtf::from_global<here::tensor<width>>(b, counted(6));
    for (int const n : {2, 4, 2, 6}) {
      b.layouts().give({{"part", n}});
      auto const largest = std::get<0>(mtf::top_k<width, part>(x));
      CHECK(mtf::extent<part>(largest) == n);
      CHECK(largest.local().back() == 6 - n);
      auto const last = mtf::slice<width, part>(x, 6 - n);
      CHECK(last.local().front() == 6 - n);
      CHECK(mtf::update<width, part>(x, last, 0).local().front() == 6 - n);
    }
  });
}

TEST_CASE("what does not fit is one sentence") {
  on_one_rank([](thread_backend& b) {
    using X = here::tensor<batch, width>;
    auto const said = [](auto const& f) { return error_of(f); };
    CHECK(said([&] { mtf::zeros<X>(b); }).find("the extent of batch is not in its type, and none was given") == 0);
    b.layouts().give(mtf::extents_from("width:4;part:5"));
    auto const x = mtf::from_global<X>(b, counted(12)), y = mtf::from_global<X>(b, counted(8));
    CHECK(said([&] { x + y; }) ==
          "one dimension name has two extents in one operation; here: batch 3, batch 2; by add");
    CHECK(said([&] { mtf::einsum<width>(x, y); }).find("batch 3, batch 2; by einsum") != std::string::npos);
    CHECK(said([&] { mtf::from_global<X>(b, counted(7)); }) ==
          "from_global: batch has no extent, and 7 elements are no multiple of the 4 at each of its positions");
    CHECK(said([&] { mtf::from_global<X>(b, counted(7), {{"batch", 2}}); }) ==
          "from_global: the tensor has 8 elements, but 7 were given");
    for (auto const& too_long :
         {said([&] { mtf::slice<width, part>(x, 0); }), said([&] { mtf::top_k<width, part>(x); })})
      CHECK(too_long == "a part of a dimension is at most as long as the dimension; here: part 5, width 4");
    CHECK(said([] { mtf::extents_from("batch:-1"); }).find("from 1 to") != std::string::npos);
    b.layouts().give(mtf::extents_from("batch:0"));  // it may be a number of layers
    CHECK(said([&] { mtf::zeros<X>(b); }) == "a dimension has an extent of at least 1; here: batch 0");
    CHECK(said([] { mtf::extents_from("batch:8x"); }).find("'batch:8x'") != std::string::npos);
    CHECK(said([] { mtf::extents_from("batch"); }).find("found 'batch'") != std::string::npos);
    CHECK(said([] { mtf::extents_from("batch:2;batch:3"); }) == "'batch' has two extents in 'batch:2;batch:3'");
    CHECK(said([] { mtf::extents_value{{"batch", -1}}; }) == "a dimension has an extent of at least 1; here: batch -1");
  });
  CHECK(mtf::extents_from("batch:64;hidden:512").text() == "batch:64;hidden:512");
  CHECK(mtf::extents_from("") == mtf::extents_value{});
}

TEST_CASE("what ranks do not divide is refused where a tensor is made, in a sentence") {
  on_ranks_of<mtf::mesh_of<"p:2">>([](thread_backend& b) {
    b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2"), "batch:p"));
    b.layouts().give({{"width", 2}});
    CHECK(error_of([&] {
            mtf::from_global<here::tensor<batch, width>>(b, counted(6));
          }).find("here: batch 3 over 2 ranks, which divide 2 and 4") != std::string::npos);
  });
}

template <template <class...> class Tensor>
struct one_tensor {
  Tensor<width> w;
  MTF_FIELDS(w);
};
TEST_CASE("parameters, gradients and averages of several lengths are not taken together") {
  on_one_rank([](thread_backend& b) {
    using parameters = one_tensor<here::tensor>;
    auto const made = [&](int n) {
      b.layouts().give({{"width", n}});
      return parameters{mtf::ones<here::tensor<width>>(b)};
    };
    auto const loss = [](auto const& p) { return mtf::sum(mtf::square(p.w)); };
    auto const said = [](auto const& f) { return error_of(f); };
    auto small = made(3), large = made(6);
    auto [value, gradients] = mtf::value_and_grad(loss)(small);
    b.layouts().give({{"width", 3}});
    mtf::sgd<parameters> optimizer(b, {.momentum = 0.5});
    CHECK(said([&] { optimizer.update(b, large, gradients, 0.1); }) ==
          "one dimension name has two extents in one operation; here: width 6, width 3; by sgd of w");
    mtf::moving_average<parameters> average(b, small, 0.5);
    CHECK(said([&] { average.update(b, large); }).find("width 3, width 6; by moving_average of w") !=
          std::string::npos);
  });
}

// Adafactor: which moments it keeps follows from extents.

template <class D>
struct matrices {
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<typename D::width, typename D::hidden> w1;
    Tensor<typename D::hidden, typename D::classes> w2;
    Tensor<typename D::hidden> b;
    MTF_FIELDS(w1, w2, b);
  };
  struct loss {
    constexpr auto operator()(auto const& p, auto const& x) const {
      auto const h = mtf::tanh(mtf::linear<typename D::batch, typename D::hidden>(x, p.w1, p.b));
      return mtf::mean(mtf::square(mtf::einsum<typename D::batch, typename D::classes>(h, p.w2)));
    }
  };
};
TEST_CASE("a checkpoint says how long dimensions are") {
  on_one_rank([](thread_backend& b) {
    using here = mtf::place<float, mtf::any_layout<>, thread_backend>;
    std::string const file = "extents_test.stored";
    using parameters = matrices<values>::parameters<here::tensor>;
    b.layouts().give({{"width", 3}, {"hidden", 5}, {"classes", 2}});
    parameters p;
    mtf::for_each_tensor([&](auto, auto& x) { x = mtf::ones<std::remove_cvref_t<decltype(x)>>(b); }, p);
    mtf::save(file, p);
    CHECK(mtf::extents_in<parameters>(file).text() == "width:3;hidden:5;classes:2");
    // Dimensions whose types have an extent are not among them: load compares them.
    CHECK(mtf::extents_in<matrices<mixed<types<4, 3, 5, 2>>>::parameters<here::tensor>>(file).text() == "hidden:5");
    b.layouts().give({{"hidden", 4}});
    CHECK(error_of([&] { mtf::load<parameters>(b, file); }).find("here it is [width 3, hidden 4]") !=
          std::string::npos);
    p.b = mtf::ones<here::tensor<values::hidden>>(b);
    mtf::save(file, p);
    CHECK(error_of([&] { mtf::extents_in<parameters>(file); }) == file + ": hidden is 5 by w1, and 4 by b");
    CHECK(error_of([&] { mtf::extents_in<one_tensor<here::tensor>>("no_such_file"); }).find("no_such_file") == 0);
    std::filesystem::remove_all(file);
  });
}

template <class D>
seen by_adafactor(thread_backend& b, std::string const& file, bool reads) {
  using here = mtf::place<float, mtf::any_layout<>, thread_backend>;
  using parameters = typename matrices<D>::template parameters<here::template tensor>;
  using split = mtf::state_split_over<typename D::batch>;
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_uniform<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(1).of(name), -1, 1);
      },
      p);
  auto const x = mtf::random_uniform<typename here::template tensor<typename D::batch, typename D::width>>(
      b, mtf::random_key(2), -1, 1);
  mtf::adafactor<parameters, mtf::decay_weights, split> optimizer(b, {});
  if (reads) mtf::load_parts(b, file, mtf::stored_as("model", p), mtf::stored_as("optimizer", optimizer));
  seen r;
  b.ranks().record(&r.sent);
  for (int step = 0; step < 3; ++step) {
    auto const [loss, gradients] = mtf::value_and_grad<split>(typename matrices<D>::loss{})(std::as_const(p), x);
    r.numbers.push_back(mtf::item(loss));
    r.numbers.push_back(optimizer.update(b, p, gradients, 0.01));
  }
  b.ranks().record(nullptr);
  mtf::for_each_tensor(
      [&](auto, auto const& t) {
        for (float const v : t.local()) r.numbers.push_back(v);
      },
      p);
  if (!reads) mtf::save_parts(b.ranks(), file, {}, mtf::stored_as("model", p), mtf::stored_as("optimizer", optimizer));
  return r;
}
template <class T>
void check_adafactor() {
  under_each_layout(rules, [](thread_backend& b) {
    std::string const typed = "extents_test.typed", by_value = "extents_test.by_value";
    auto const expected = by_adafactor<T>(b, typed, false);
    b.layouts().give(T::given());
    CHECK(by_adafactor<values>(b, by_value, false) == expected);
    // Each reads what the other wrote.
    CHECK(by_adafactor<values>(b, typed, true) == by_adafactor<T>(b, by_value, true));
  });
  std::filesystem::remove_all("extents_test.typed");
  std::filesystem::remove_all("extents_test.by_value");
}
TEST_CASE("adafactor keeps what it keeps of typed programs") {
  check_adafactor<types<8, 160, 256, 4>>();
  check_adafactor<types<8, 256, 128, 128>>();
  check_adafactor<types<4, 8, 16, 128>>();
}
TEST_CASE("adafactor's state is of its own parameters") {
  on_one_rank([](thread_backend& b) {
    using here = mtf::place<float, mtf::any_layout<>, thread_backend>;
    using parameters = matrices<values>::parameters<here::tensor>;
    auto const made = [&](int width) {
      b.layouts().give({{"batch", 2}, {"width", width}, {"hidden", 128}, {"classes", 4}});
      return parameters{mtf::ones<here::tensor<values::width, values::hidden>>(b),
                        mtf::ones<here::tensor<values::hidden, values::classes>>(b),
                        mtf::ones<here::tensor<values::hidden>>(b)};
    };
    auto small = made(4), factored = made(128), large = made(256);
    auto const update = [&](parameters& p, auto& optimizer) {
      auto const x =
          mtf::ones<here::tensor<values::batch, values::width>>(b);  // as wide as was given last, which is what p is
      auto const gradients = mtf::value_and_grad(matrices<values>::loss{})(std::as_const(p), x).gradients;
      return error_of([&] { optimizer.update(b, p, gradients, 0.1); });
    };
    std::string const wrong = "is not as long, or not split, as those for which the optimizer made its state";
    b.layouts().give({{"width", 128}});
    mtf::adafactor<parameters> optimizer(b, {});
    CHECK(update(factored, optimizer) == "");
    b.layouts().give({{"width", 256}});
    CHECK(update(large, optimizer).find(wrong) != std::string::npos);
    b.layouts().give({{"width", 4}});
    CHECK(update(small, optimizer).find(wrong) != std::string::npos);
    mtf::adafactor<parameters> whole(b, {});
    CHECK(update(small, whole) == "");
    b.layouts().give({{"width", 128}});
    CHECK(update(factored, whole) ==
          "one dimension name has two extents in one operation; here: width 128, width 4; by adafactor of w1");
  });
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
