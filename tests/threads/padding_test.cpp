// Dimensions that ranks do not divide are padded: operations on any ranks give what they give without pads on one; pads
// are 0 in every result and gradient; files, the host and random numbers know nothing of them.
// links: checkpoint
// devices: none
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/checkpoint/extents_in.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/ops/nn/attention.hpp>
#include <mtf/ops/nn/linear_cross_entropy.hpp>
#include <mtf/ops/nn/rotary.hpp>
#include <mtf/ops/sorting.hpp>
#include <mtf/tensor/extent.hpp>

#include "support/error_of.hpp"
#include "support/named_numbers.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

// As values, in types, and without pads.
struct values {
  struct batch : mtf::dim<"batch"> {};
  struct keys : mtf::alias<"keys", batch> {};
  struct vocab : mtf::dim<"vocab"> {};
  struct width : mtf::dim<"width"> {};
  struct most : mtf::dim<"most"> {};
  struct joined : mtf::dim<"joined"> {};    // vocab and then width
  struct letters : mtf::dim<"letters"> {};  // vocab and most as one
  struct few : mtf::dim<"few"> {};
};
template <int Batch, int Vocab, class Pad = mtf::pad_to<4>>
struct types {
  struct batch : mtf::dim<"batch", Batch, Pad> {};
  struct keys : mtf::alias<"keys", batch> {};
  struct vocab : mtf::dim<"vocab", Vocab, Pad> {};
  struct width : mtf::dim<"width", 3, Pad> {};
  struct most : mtf::dim<"most", 2> {};
  struct joined : mtf::dim<"joined", Vocab + 3, Pad> {};
  struct letters : mtf::dim<"letters", 2 * Vocab, mtf::pad_to<2 * Pad::multiple>> {};
  struct few : mtf::dim<"few", 2, Pad> {};
  static mtf::extents_value padded() {
    mtf::extents_value all{{"most", 2}};
    all.give("batch", Batch, Pad::multiple);
    all.give("vocab", Vocab, Pad::multiple);
    all.give("width", 3, Pad::multiple);
    all.give("joined", Vocab + 3, Pad::multiple);
    all.give("letters", 2 * Vocab, 2 * Pad::multiple);
    all.give("few", 2, Pad::multiple);
    return all;
  }
};

template <class D, class Layout>
struct program {
  using batch = typename D::batch;
  using keys = typename D::keys;
  using vocab = typename D::vocab;
  using width = typename D::width;
  using most = typename D::most;
  using joined = typename D::joined;
  using letters = typename D::letters;
  using few = typename D::few;
  struct first : mtf::dim<"first", 1> {};
  using here = mtf::place<double, Layout, thread_backend>;
  template <class... Dims>
  using of = typename here::template tensor<Dims...>;
  template <class... Dims>
  using ints = typename mtf::place<std::int32_t, Layout, thread_backend>::template tensor<Dims...>;

  template <template <class...> class Tensor>
  struct parameters {
    Tensor<batch, vocab> x;
    Tensor<vocab, width> table;
    Tensor<vocab> bias, gamma;
    Tensor<> t;
    MTF_FIELDS(x, table, bias, gamma, t);
  };

  static named_numbers run(thread_backend& b) {
    named_numbers all;
    parameters<here::template tensor> p;
    mtf::for_each_tensor(
        [&](auto name, auto& x) {
          x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(1).of(name));
          all["parameter " + std::string(name)] = numbers_of(x);
        },
        p);
    CHECK(mtf::parameter_count(p) ==
          static_cast<std::int64_t>(mtf::to_global(p.x).size() + mtf::to_global(p.table).size() +
                                    2 * mtf::to_global(p.bias).size() + 1));
    auto const count = static_cast<std::int32_t>(mtf::extent<vocab>(p.x));
    std::vector<std::int32_t> names(static_cast<std::size_t>(mtf::extent<batch>(p.x)));
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = static_cast<std::int32_t>(i * 3) % count;
    names[0] = count - 1;
    auto const ids = mtf::from_global<ints<batch>, vocab>(b, names);
    CHECK(mtf::to_global(ids) == names);
    names[names.size() - 1] = -1;
    auto const labels = mtf::from_global<ints<batch>, vocab>(b, names);
    auto const by_rows = mtf::from_rows<of<batch, vocab>>(b, [&](std::int64_t row, std::int64_t column, auto to) {
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<double>(row * 100 + column + static_cast<std::int64_t>(i));
    });
    all["from_rows"] = numbers_of(by_rows);
    all["iota"] = numbers_of(mtf::iota<vocab, of<batch, vocab>>(b));
    all["full"] = numbers_of(mtf::full<of<batch, vocab>>(b, 2.5));
    all["uniform"] = numbers_of(mtf::random_uniform<of<width, vocab>>(b, mtf::random_key(9)));

    // Each is differentiated, of its product with some numbers.
    auto const operation = [&](std::string const& name, auto const& f) {
      auto const loss = [&](auto const& q) {
        auto const y = mtf::complete(f(q));
        using Y = std::remove_cvref_t<decltype(y)>;
        return std::pair(mtf::sum(y * mtf::random_uniform<Y>(b, mtf::random_key(5).of(name), 0.5, 2)), y);
      };
      auto const found = mtf::value_and_grad(loss)(std::as_const(p));
      all[name] = numbers_of(found.auxiliary);
      mtf::for_each_tensor(
          [&](auto of_what, auto const&, auto const& g) {
            if (g.is_zero()) return;
            all[name + ", gradient of " + std::string(of_what)] = numbers_of(g.complete());
          },
          std::as_const(p), found.gradients);
    };
    operation("exp", [](auto const& q) { return mtf::exp(q.x); });
    operation("x + 1", [](auto const& q) { return q.x + 1.0; });
    operation("log of square", [](auto const& q) { return mtf::log(mtf::square(q.x)); });
    operation("quotient", [](auto const& q) { return q.x / mtf::exp(q.bias); });
    operation("temperature", [](auto const& q) { return q.x * q.t; });
    operation("logarithm by a number", [](auto const& q) { return mtf::log(mtf::exp(q.x) + q.t * q.t); });
    operation("softmax", [](auto const& q) { return mtf::softmax<vocab>(q.x); });
    operation("softmax of several", [](auto const& q) { return mtf::softmax<batch, vocab>(q.x); });
    operation("softmax along rows", [](auto const& q) { return mtf::softmax<batch>(q.x); });
    operation("log_softmax", [](auto const& q) { return mtf::log_softmax<vocab>(q.x); });
    operation("logsumexp", [](auto const& q) { return mtf::logsumexp<vocab>(q.x); });
    operation("cross_entropy", [&](auto const& q) { return mtf::cross_entropy<vocab>(q.x, labels); });
    operation("cross_entropy, smoothed", [&](auto const& q) {
      return mtf::cross_entropy<vocab>(q.x, labels, {.label_smoothing = 0.3, .z_loss = 0.2});
    });
    operation("linear_cross_entropy of a tied table", [&](auto const& q) {
      return mtf::linear_cross_entropy<vocab>(mtf::embedding<vocab>(q.table, ids), q.table, labels);
    });
    operation("weighted_mean",
              [&](auto const& q) { return mtf::weighted_mean(mtf::cross_entropy<vocab>(q.x, labels), labels >= 0); });
    operation("sum", [](auto const& q) { return mtf::sum<vocab>(q.x); });
    operation("mean", [](auto const& q) { return mtf::mean<vocab>(q.x); });
    operation("mean of all", [](auto const& q) { return mtf::mean(mtf::exp(q.x)); });
    operation("reduce_max", [](auto const& q) { return mtf::reduce_max<vocab>(q.x - 10.0); });
    operation("reduce_min", [](auto const& q) { return mtf::reduce_min<vocab>(q.x + 10.0); });
    operation("reduce_min of all", [](auto const& q) { return mtf::reduce_min(q.x + 10.0); });
    operation("reduce_prod", [](auto const& q) { return mtf::reduce_prod<vocab>(q.x); });
    operation("top_k", [](auto const& q) { return std::get<0>(mtf::top_k<vocab, most>(q.x - 10.0)); });
    // (Of a dimension that has no pads, in tensors that have some.)
    auto const two = [](auto const& q) { return std::get<0>(mtf::top_k<vocab, most>(q.x - 10.0)); };
    using mtf::cumulative;
    operation("cumulative_sum", [](auto const& q) { return mtf::cumulative_sum<vocab>(q.x); });
    operation("cumulative_sum of those behind",
              [](auto const& q) { return mtf::cumulative_sum<batch>(q.x, cumulative::reverse_exclusive); });
    operation("cumulative_prod",
              [](auto const& q) { return mtf::cumulative_prod<vocab>(q.x + 2.0, cumulative::reverse); });
    operation("cumulative_max",
              [](auto const& q) { return mtf::cumulative_max<vocab>(q.x - 10.0, cumulative::reverse); });
    operation("sort", [](auto const& q) { return mtf::sort<vocab>(q.x - 10.0); });
    operation("gather", [&](auto const& q) { return mtf::gather<vocab>(q.x + 1.0, ids); });
    operation("scatter_add", [&](auto const& q) { return mtf::scatter_add<vocab>(ids, mtf::sum<vocab>(q.x)); });
    all["argsort"] = numbers_of(mtf::argsort<vocab>(p.x - 10.0));
    all["argmin"] = numbers_of(mtf::argmin<vocab>(p.x + 10.0));
    all["categorical"] = numbers_of(mtf::categorical<vocab>(p.x - 10.0, mtf::random_key(13)));
    all["one_hot"] = numbers_of(mtf::one_hot<vocab>(labels));
    // What moves along a padded dimension, from one or to one.
    operation("roll", [](auto const& q) { return mtf::roll<vocab>(q.x, 2); });
    operation("shift", [](auto const& q) { return mtf::shift<batch>(q.x, -1); });
    operation("reverse", [](auto const& q) { return mtf::reverse<vocab>(q.x); });
    operation("concat", [](auto const& q) {
      return mtf::concat<joined, vocab, width>(q.x, mtf::einsum<batch, width>(mtf::exp(q.x), q.table));
    });
    operation("pad", [](auto const& q) { return mtf::pad<vocab, joined>(q.x, 1); });
    operation("pad with a number", [](auto const& q) { return mtf::pad<vocab, joined>(q.x, 2, 2.5); });
    operation("slice of a padded dimension", [](auto const& q) { return mtf::slice<vocab, few>(q.x, 1); });
    operation("slice with a step", [](auto const& q) { return mtf::slice<vocab, few>(q.x, 3, -2); });
    operation("update of a padded dimension",
              [](auto const& q) { return mtf::update<vocab, few>(q.x, mtf::slice<vocab, few>(mtf::exp(q.x), 0), 1); });
    operation("top_k, padded", [](auto const& q) { return std::get<0>(mtf::top_k<vocab, few>(q.x - 10.0)); });
    all["places, padded"] = numbers_of(std::get<1>(mtf::top_k<vocab, few>(p.x - 10.0)));
    operation("stacked", [](auto const& q) { return mtf::stacked<few>(q.x, mtf::exp(q.x)); });
    if constexpr (mtf::detail::has_extent<vocab>) {
      auto const second = numbers_of(mtf::complete(std::get<1>(mtf::unstacked<vocab>(p.x))));
      std::vector<double> column;
      for (std::size_t i = 1; i < all["parameter x"].size(); i += static_cast<std::size_t>(count))
        column.push_back(all["parameter x"][i]);
      CHECK(second == column);
    }
    operation("merge_dims and split_dim", [](auto const& q) {
      auto const rows = mtf::exp(mtf::broadcast<vocab, most>(q.bias));
      return mtf::split_dim<letters, vocab, most>(mtf::merge_dims<vocab, most, letters>(rows) + 1.0);
    });
    operation("slice", [&](auto const& q) { return mtf::slice<most, first>(two(q), 1); });
    operation("update", [&](auto const& q) {
      return mtf::update<most, first>(two(q), mtf::slice<most, first>(two(q), 1) * 2.0, 0);
    });
    if (mtf::extent<vocab>(p.x) % 2 == 0) {
      auto const cosines = mtf::random_uniform<of<vocab>>(b, mtf::random_key(11));
      auto const sines = mtf::random_uniform<of<batch, vocab>>(b, mtf::random_key(12));
      operation("rotary", [&](auto const& q) { return mtf::rotary<vocab>(q.x, cosines, sines); });
      operation("rotary of neighbours",
                [&](auto const& q) { return mtf::rotary<vocab, mtf::rotary_pairs::neighbours>(q.x, cosines, sines); });
    }
    operation("layer_norm", [](auto const& q) { return mtf::layer_norm<vocab>(q.x, q.gamma, q.bias); });
    operation("rms_norm", [](auto const& q) { return mtf::rms_norm<vocab>(q.x, q.gamma); });
    operation("dropout", [](auto const& q) { return mtf::dropout(q.x, 0.5, mtf::random_key(3)); });
    operation("transpose", [](auto const& q) { return mtf::transpose<vocab, batch>(q.x); });
    operation("embedding", [&](auto const& q) { return mtf::embedding<vocab>(q.table, ids); });
    operation("einsum", [](auto const& q) { return mtf::einsum<batch, width>(mtf::exp(q.x), q.table); });
    operation("linear", [](auto const& q) {
      return mtf::linear<batch, vocab>(mtf::einsum<batch, width>(q.x, q.table), q.table, q.bias);
    });
    operation("broadcast", [](auto const& q) { return mtf::broadcast<width, vocab>(mtf::exp(q.bias)); });
    // Keys, queries, rows and heads that are pads.
    operation("masked_softmax",
              [](auto const& q) { return mtf::masked_softmax<batch, vocab>(q.x, mtf::visible::causal(), 0.5); });
    operation("masked_softmax along queries",
              [](auto const& q) { return mtf::masked_softmax<vocab, batch>(q.x, mtf::visible::causal(2), 0.5); });
    std::vector<std::int32_t> some(static_cast<std::size_t>(mtf::extent<batch>(p.x)));
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<std::int32_t>(some.size() - i) % count;
    some[0] = count + 3;  // more than there are
    auto const lengths = mtf::from_global<ints<batch>>(b, some);
    operation("masked_softmax with lengths", [&](auto const& q) {
      return mtf::masked_softmax<batch, vocab>(q.x, mtf::visible::everything(), lengths);
    });
    operation("attention", [](auto const& q) {
      return mtf::attention<batch, vocab, width>(mtf::einsum<batch, width>(q.x, q.table), mtf::exp(q.table), q.table,
                                                 mtf::visible::everything(), 0.5);
    });
    auto const heads = [](auto const& q, auto const& f, auto const&... of_keys) {
      auto const x = mtf::einsum<vocab, batch, width>(q.x, q.table);
      auto const k = mtf::rename<batch, keys>(x * 0.5);
      return f(x, k, mtf::exp(k), of_keys...);
    };
    operation("attention of heads", [&](auto const& q) {
      return heads(q, [](auto const& x, auto const& k, auto const& v) {
        return mtf::attention<batch, keys, width>(x, k, v, mtf::visible::causal(), 0.7);
      });
    });
    operation("attention of heads that share keys", [](auto const& q) {
      auto const k = mtf::rename<batch, keys>(mtf::einsum<batch, width>(q.x, q.table));
      return mtf::attention<batch, keys, width>(mtf::einsum<vocab, batch, width>(q.x, q.table), k, mtf::exp(k),
                                                mtf::visible::causal(), 0.7);
    });
    auto const of_heads = mtf::from_global<ints<vocab>, vocab>(b, [&] {
      std::vector<std::int32_t> each(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < each.size(); ++i) each[i] = static_cast<std::int32_t>(i % (some.size() + 1));
      return each;
    }());
    operation("attention of heads with lengths", [&](auto const& q) {
      return heads(q, [&](auto const& x, auto const& k, auto const& v) {
        return mtf::attention<batch, keys, width>(x, k, v, mtf::visible::everything(), of_heads, 0.7);
      });
    });
    operation("relayout", [](auto const& q) {
      using whole = mtf::layout<typename std::remove_cvref_t<decltype(q.x)>::mesh_type>;
      return mtf::relayout<Layout>(mtf::relayout<whole>(mtf::exp(q.x)));
    });
    all["places"] = numbers_of(std::get<1>(mtf::top_k<vocab, most>(p.x - 10.0)));
    all["cast"] = numbers_of(mtf::cast<float>(mtf::exp(p.x)));
    all["count"] = {static_cast<double>(mtf::item(mtf::sum(labels >= -5)))};

    // Updates leave pads alone, and all else as it is.
    auto const update = [&]<class Optimizer>(std::string const& name, Optimizer optimizer) {
      auto q = p;
      for (int step = 0; step < 2; ++step) {
        auto const found = mtf::value_and_grad([&](auto const& r) {
          return mtf::mean(mtf::cross_entropy<vocab>(
              mtf::einsum<batch, vocab>(mtf::embedding<vocab>(r.table, ids), r.table) + r.bias, labels));
        })(std::as_const(q));
        all[name + " norm " + std::to_string(step)] = {optimizer.update(b, q, found.gradients, 0.1)};
      }
      mtf::for_each_tensor([&](auto of_what, auto const& x) { all[name + " " + std::string(of_what)] = numbers_of(x); },
                           std::as_const(q));
      auto const file = "padding_test." + std::to_string(b.ranks().mesh().size());
      mtf::save_parts(b.ranks(), file, {}, mtf::stored_as("model", q), mtf::stored_as("optimizer", optimizer));
      parameters<here::template tensor> r;
      mtf::load_parts(b, file, mtf::stored_as("model", r));
      mtf::for_each_tensor(
          [&](auto, auto const& x, auto const& y) {
            CHECK(numbers_of(x) == numbers_of(y));
            static_cast<void>(y.local());
          },
          std::as_const(q), std::as_const(r));
    };
    using mine = parameters<here::template tensor>;
    using split = mtf::state_split_over<batch>;
    update("adamw", mtf::adamw<mine, mtf::decay_weights, split>(b, {.weight_decay = 0.1}));
    update("lion", mtf::lion<mine, mtf::decay_weights, split>(b, {.weight_decay = 0.1}));
    update("adafactor", mtf::adafactor<mine, mtf::decay_weights, split>(b, {}));
    return all;
  }
};

template <class T>
named_numbers on_one_rank() {
  named_numbers all;
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    auto extents = T::padded();
    for (char const* const name : {"batch", "vocab", "width", "joined", "letters", "few"})
      extents.give(name, *extents.find(name));  // without pads
    b.layouts().give(extents);
    all = program<values, mtf::any_layout<>>::run(b);
  });
  return all;
}

template <class T>
void check_padded() {
  auto const expected = on_one_rank<T>();
  for (char const* const text : {"", "vocab:p", "vocab:p+q", "batch:q;vocab:p;keys:", "batch:p+q;keys:",
                                 "batch:p;width:q;keys:", "width:p+q", "joined:p+q;vocab:p;letters:q+p"})
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      CAPTURE(text);
      b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:2"), text));
      check_equal(program<T, mtf::any_layout<>>::run(b), expected);
      b.layouts().give(T::padded());
      check_equal(program<values, mtf::any_layout<>>::run(b), expected);
    });
  std::filesystem::remove_all("padding_test.1");
  std::filesystem::remove_all("padding_test.4");
}
TEST_CASE("padded dimensions are as long as without pads") {
  check_padded<types<5, 7>>();
  check_padded<types<3, 6>>();
  check_padded<types<3, 5>>();  // a rank with pads alone
}

TEST_CASE("a layout that is a type") {
  using T = types<5, 7>;
  auto const expected = on_one_rank<T>();
  using mesh = mtf::mesh_of<"p:2;q:2">;
  on_ranks_of<mesh>([&](thread_backend& b) {
    check_equal(program<T, mtf::layout_of<"p:2;q:2", "batch:q;vocab:p;keys:", T::batch, T::vocab, T::keys>>::run(b),
                expected);
  });
  std::filesystem::remove_all("padding_test.1");
  std::filesystem::remove_all("padding_test.4");
}

TEST_CASE("what is not right with pads is refused, and so are lengths that are padded otherwise") {
  on_ranks_of<mtf::mesh<>>([](thread_backend& b) {
    using here = mtf::place<double, mtf::any_layout<>, thread_backend>;
    using vocab = values::vocab;
    b.layouts().add({});
    b.layouts().give(mtf::extents_from("vocab:5/4;batch:2;most:2"));
    auto const x = mtf::ones<here::tensor<values::batch, vocab>>(b);
    CHECK(error_of([&] { mtf::merge_dims<values::batch, vocab, values::letters>(x); }) ==
          "where a dimension becomes two, or is made of two, pads are whole rows: the inner one has none, and the one "
          "is padded to as many as the inner extent times what is stored of the outer one; here: [batch 2, vocab 5 of "
          "8] to letters 10; by merge_dims");
    CHECK(error_of([&] { mtf::split_dim<vocab, values::width, values::most>(x); }).find("the extent of width") == 0);
    b.layouts().give(mtf::extents_from("width:5;few:1"));
    CHECK(error_of([&] { mtf::split_dim<vocab, values::width, values::few>(x); }).find("where a dimension becomes") ==
          0);
    b.layouts().give({{"width", 2}});
    CHECK(error_of([&] { mtf::split_dim<vocab, values::width, values::few>(x); }).find("a dimension that becomes") ==
          0);
    b.layouts().give(mtf::extents_from("few:9/4"));
    CHECK(error_of([&] { mtf::slice<vocab, values::few>(x, 0); }) ==
          "a part of a dimension is at most as long as the dimension; here: few 9, vocab 5");
    CHECK(error_of([&] { mtf::top_k<vocab, values::joined>(x); }).find("the extent of joined") == 0);
    // As long as both together, and padded as was said last.
    for (std::int64_t const multiple : {1, 4, 8, 3}) {
      b.layouts().give(mtf::extents_from("joined:7/" + std::to_string(multiple)));
      auto const y = mtf::concat<values::joined, vocab>(x, x);
      auto const& along = mtf::detail::place_of(y).spec()[1];
      CHECK(along.logical() == 10);
      CHECK(along.extent == (10 + multiple - 1) / multiple * multiple);
      CHECK(mtf::to_global(y) == std::vector<double>(20, 1));
    }
    b.layouts().give(mtf::extents_from("vocab:6/4"));
    auto const other = mtf::ones<here::tensor<values::batch, vocab>>(b);
    CHECK(error_of([&] { x + other; }) ==
          "one dimension name has two extents in one operation; here: vocab 5 of 8, vocab 6 of 8; by add");
    b.layouts().give({{"vocab", 5}});
    auto const y = mtf::ones<here::tensor<vocab>>(b);
    CHECK(error_of([&] { x + y; }).find("one dimension name has two extents in one operation") == 0);
    // A part whose type has its extent, of a dimension whose type has none.
    CHECK(mtf::to_global(std::get<0>(mtf::top_k<vocab, types<2, 2>::most>(y))) == std::vector<double>(2, 1));
    CHECK(mtf::to_global(mtf::slice<vocab, types<2, 2>::most>(y, 3)) == std::vector<double>(2, 1));
    b.layouts().give({{"width", 6}});
    auto const too_long = error_of([&] { mtf::top_k<vocab, values::width>(x); });
    CHECK(too_long == "a part of a dimension is at most as long as the dimension; here: width 6, vocab 5");
    for (char const* const wrong : {"vocab:5/0", "vocab:5/", "vocab:/8", "vocab:5/x", "vocab:5/8/2"})
      CHECK(error_of([&] { return mtf::extents_from(wrong); }).find("a dimension has an extent from 1 to") == 0);
    CHECK(mtf::extents_from("vocab:50257/8").text() == "vocab:50257/8");
    CHECK(error_of([&] {
            mtf::from_global<here::tensor<vocab>>(b, std::vector<double>(8), {{"vocab", 7}});
          }).find("the tensor has 7 elements, but 8 were given") != std::string::npos);
  });
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
