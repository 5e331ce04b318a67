// Reductions along a split dimension, of NaN and zeros on any rank.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
struct all : mtf::axis<"all", 4> {};
struct kept : mtf::dim<"kept", 3> {};
struct gone : mtf::dim<"gone", 8> {};
using where = mtf::layout<mtf::mesh<all>, mtf::split<gone, all>>;

template <class T>
using X = mtf::tensor<T, mtf::shape<kept, gone>, where, mtf::partial<>, backend>;

/// f(machine) on four ranks.
template <class F>
void on_ranks(F const& f) {
  static mtf::rank_threads pool(4);
  pool.run({1, {4, 1, 1, 1, 1, 1}}, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    f(machine);
  });
}

TEST_CASE_TEMPLATE("NaN on any rank is the maximum and the minimum on all", T, float, double, mtf::bfloat16) {
  on_ranks([](backend& machine) {
    for (std::size_t at = 0; at < 24; ++at) {
      std::vector<T> x(24, T(1.0F));
      x[at] = T(std::numeric_limits<float>::quiet_NaN());
      auto const t = mtf::from_global<X<T>>(machine, x);
      auto const largest = mtf::to_global(mtf::reduce_max<gone>(t)),
                 smallest = mtf::to_global(mtf::reduce_min<gone>(t));
      for (std::size_t k = 0; k < 3; ++k) {
        CHECK(std::isnan(static_cast<float>(largest[k])) == (at / 8 == k));
        CHECK(std::isnan(static_cast<float>(smallest[k])) == (at / 8 == k));
      }
      CHECK(std::isnan(static_cast<float>(mtf::item(mtf::reduce_max(t)))));
      CHECK(std::isnan(static_cast<float>(mtf::item(mtf::reduce_min(t)))));
    }
  });
}

TEST_CASE("of zeros on several ranks the positive is the maximum, the negative the minimum") {
  on_ranks([](backend& machine) {
    for (std::size_t at = 0; at < 24; ++at)
      for (double const v : {0.0, -0.0}) {
        std::vector<double> x(24, -v);
        x[at] = v;
        auto const t = mtf::from_global<X<double>>(machine, x);
        CHECK(!std::signbit(mtf::item(mtf::reduce_max(t))));
        CHECK(std::signbit(mtf::item(mtf::reduce_min(t))));
      }
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
