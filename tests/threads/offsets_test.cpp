// A constant added to a row whose classes are split over ranks: as on one rank (tests/local/offsets_test.cpp).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
struct all : mtf::axis<"all", 4> {};
struct row : mtf::dim<"row", 3> {};
struct c : mtf::dim<"c", 8> {};
using where = mtf::layout<mtf::mesh<all>, mtf::split<c, all>>;

template <template <class...> class Tensor>
struct logits_of {
  Tensor<row, c> x;
  MTF_FIELDS(x);
};
template <class T>
using here = mtf::place<T, where, backend>;

/// The sum of f(logits, labels) and its gradient, of logits with an offset.
template <class T, class F>
std::vector<double> with_offset(backend& machine, F const& f, double v) {
  using X = typename here<T>::template tensor<row, c>;
  using labels = typename here<std::int32_t>::template tensor<row>;
  std::vector<T> x;
  for (int i = 0; i < 24; ++i) x.push_back(static_cast<T>(v + i * 7 % 5));
  logits_of<here<T>::template tensor> const p{mtf::from_global<X>(machine, x)};
  auto const ids = mtf::from_global<labels>(machine, std::vector<std::int32_t>{2, 0, 7});
  auto const [value, g] = mtf::value_and_grad([&](auto const& q) { return mtf::sum(f(q.x, ids)); })(p);
  std::vector<double> found{static_cast<double>(mtf::item(value))};
  for (T const d : g.x.complete().local()) found.push_back(static_cast<double>(d));
  return found;
}

TEST_CASE_TEMPLATE("a constant added to rows that are split over ranks", T, float, double) {
  double const offset = std::is_same_v<T, double> ? 0x1p52 : 0x1p23,
               tolerance = std::is_same_v<T, double> ? 1e-14 : 2e-6;
  static mtf::rank_threads pool(4);
  pool.run({1, {4, 1, 1, 1, 1, 1}}, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    auto const check = [&](auto const& f, std::size_t from) {
      auto const still = with_offset<T>(machine, f, 0), moved = with_offset<T>(machine, f, offset);
      for (std::size_t i = from; i < still.size(); ++i) {
        CAPTURE(i);
        CHECK(std::abs(moved[i] - still[i]) <= tolerance * (1 + std::abs(still[i])));
      }
    };
    check([](auto const& x, auto const& ids) { return mtf::cross_entropy<c>(x, ids); }, 0);
    check([](auto const& x, auto const&) { return mtf::logsumexp<c>(x); }, 1);  // whose value moves
    check([](auto const& x, auto const&) { return mtf::square(mtf::softmax<c>(x)); }, 0);
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
