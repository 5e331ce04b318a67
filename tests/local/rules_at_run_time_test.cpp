// devices: none
// Operations ask their rules of shardings, in types or not: here layouts are values, known when the program runs. The
// rule is the typed call's, and so are the operation, its kernels and its gradient.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

namespace {

using backend = mtf::kokkos_backend<>;
struct a : mtf::dim<"a", 6> {};
struct b : mtf::dim<"b", 4> {};
struct c : mtf::dim<"c", 5> {};
using here = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;
using X = here::tensor<a, b, c>;

mtf::dim_state dim(std::uint64_t id, std::int64_t extent, std::vector<int> const& axes = {}) {
  mtf::dim_state d;
  d.id = id;
  d.extent = extent;
  for (int const axis : axes) d.split.push(axis);
  return d;
}

}  // namespace

TEST_CASE("an operation on a layout that is a value is the typed one") {
  mtf::single_rank ranks;
  backend machine(ranks);
  auto const x = mtf::random_normal<X>(machine, mtf::random_key(3));
  mtf::sharding as;
  for (auto const& [id, extent] : {std::pair{a::id, a::extent}, {b::id, b::extent}, {c::id, c::extent}})
    as.push(dim(id, extent));
  auto const& mesh = ranks.mesh();

  SUBCASE("softmax along each dimension") {
    auto const typed = std::array{mtf::softmax<a>(x).local(), mtf::softmax<b>(x).local(), mtf::softmax<c>(x).local()};
    for (int d = 0; d < as.ndim; ++d) {
      auto const work = mtf::detail::derive_softmax(mesh, as, d, -1, mtf::detail::soft::softmax);
      X const y(mtf::detail::run<double>(mtf::detail::softmax_operation<double>{&work, 1.0}, x.value()));
      CHECK(y.local() == typed[static_cast<std::size_t>(d)]);
    }
  }
  SUBCASE("sums, and their gradients on the tape") {
    auto const work = mtf::detail::derive_reduce(mesh, as, mtf::sharding{}, mtf::detail::reduce_by::sum);
    mtf::detail::tape<backend> tape(machine);
    auto const slot = mtf::backend::make_ref<mtf::detail::gradient_slot<backend, double>>(machine, tape, as);
    mtf::detail::value<backend, double> const tracked(x.value().memory, slot);
    auto const y = mtf::detail::run<double>(mtf::detail::sum_operation<double>{&work}, tracked);
    CHECK(here::tensor<>(mtf::detail::value<backend, double>(y.memory)).local() == mtf::sum(x).local());
    y.slot->add({mtf::ones<here::tensor<>>(machine).value().memory, 0});
    tape.run();
    CHECK(X(mtf::detail::value<backend, double>(slot->take().memory)).local() == mtf::ones<X>(machine).local());
  }
}

TEST_CASE("a rule says the same of values and of types") {
  struct p : mtf::axis<"p", 2> {};
  struct q : mtf::axis<"q", 3> {};
  using where = mtf::layout<mtf::mesh<p, q>, mtf::split<a, p, q>, mtf::split<b, p>>;
  using typed = mtf::place<double, where>::tensor<a, c>;
  mtf::mesh_shape const mesh{.ndim = 2, .extent = {2, 3, 1, 1, 1, 1}};
  mtf::sharding x;
  x.push(dim(a::id, a::extent, {0, 1}));
  x.push(dim(c::id, c::extent));
  CHECK(mesh == typed::mesh);
  CHECK(x == typed::spec);

  auto const& of_types = mtf::detail::work_of<mtf::detail::softmax_call<mtf::detail::soft::logsumexp, a>, typed>;
  auto const of_values = mtf::detail::derive_softmax(mesh, x, 0, -1, mtf::detail::soft::logsumexp);
  CHECK(of_values.out == of_types.out);
  CHECK(of_values.in == of_types.in);
  CHECK(of_values.exchange == of_types.exchange);
  CHECK(of_values.exchange == 3);
  CHECK(of_values.gradient_may_be_partial == of_types.gradient_may_be_partial);
}
