// What has fewer operands or more dimensions than usual, on meshes: the same numbers and gradients under every layout,
// typed and by value, as on one rank.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <support/layouts_agree.hpp>

namespace {

struct m : mtf::dim<"m", 4> {};
struct n : mtf::dim<"n", 4> {};
using tests::results;

template <template <class...> class Tensor>
struct inputs {
  Tensor<m, n> x;
  Tensor<n> gamma;
  MTF_FIELDS(x, gamma);
};

template <class Layout, class Backend>
results results_on(Backend& b) {
  using place = mtf::place<double, Layout, Backend>;
  mtf::random_key const key(7);
  inputs<place::template tensor> const p{mtf::random_normal<typename place::template tensor<m, n>>(b, key.of("x")),
                                         mtf::random_normal<typename place::template tensor<n>>(b, key.of("gamma"))};
  results all;
  auto const add = [&](auto const& f) {
    all.push_back(mtf::to_global(f(p)));
    auto const loss = [&](auto const& q) {
      auto const y = f(q);
      return mtf::sum(y * mtf::square(y));
    };
    auto const g = mtf::value_and_grad(loss)(p).gradients;
    all.push_back(mtf::to_global(g.x.complete()));
    all.push_back(mtf::to_global(g.gamma.complete()));
  };
  add([](auto const& q) { return mtf::softmax<m, n>(q.x, 2); });
  add([](auto const& q) { return mtf::log_softmax<n, m>(q.x); });
  add([](auto const& q) { return mtf::logsumexp<m, n>(q.x); });
  add([](auto const& q) { return mtf::softmax<m, n>(q.x * mtf::sum<m>(q.x)); });
  add([](auto const& q) { return mtf::layer_norm<n>(q.x) * q.gamma; });
  add([](auto const& q) { return mtf::layer_norm<m>(q.x); });
  add([](auto const& q) { return mtf::layer_norm<n>(q.x, q.gamma); });
  add([](auto const& q) { return mtf::rms_norm<n>(q.x); });
  add([](auto const& q) { return mtf::max(q.x, 0.25F) + mtf::min(-0.5F, q.x); });
  add([](auto const& q) { return mtf::where(!(q.x > 0), q.x, 2) * mtf::where(0 < q.x, 3, q.x); });
  add([](auto const& q) { return mtf::max(mtf::sum<m>(q.x), 0.0); });
  return all;
}

template <mtf::fixed_string Rules>
void check(results const& expected) {
  tests::on_ranks_under<Rules, m, n>(
      [&]<class Layout>(thread_backend& b, Layout const*) { tests::check_close(results_on<Layout>(b), expected); });
}

TEST_CASE("numbers for operands, norms without parameters and softmax of several dimensions do not see the layout") {
  mtf::single_rank alone;
  thread_backend b(alone);
  auto const expected = results_on<mtf::layout<mtf::mesh<>>>(b);
  check<"">(expected);
  check<"m:p">(expected);
  check<"n:q">(expected);
  check<"m:p;n:q">(expected);
  check<"n:p+q">(expected);
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
