// Copies to the host that are asked for later: the elements as they were when the copy began.
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/tensor/host_copy.hpp>

namespace {

using backend = mtf::kokkos_backend<>;
struct n : mtf::dim<"n"> {};
struct three : mtf::dim<"three", 3> {};

TEST_CASE("what is copied is what the tensor was, whatever is computed meanwhile") {
  using here = mtf::place<std::int32_t, mtf::any_layout<>, backend>;
  mtf::single_rank alone(mtf::mesh_of<"one:1">::shape());
  backend b(alone);
  b.layouts().add(mtf::layout_from<n>(mtf::mesh_from("one:1"), ""));
  for (std::int64_t const count : {1, 2, 3, 17, 1001}) {
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), -5);
    auto x = mtf::from_global<here::tensor<n>>(b, numbers, {{"n", count}});
    mtf::host_copy const before(x);
    x = x + 1;
    mtf::host_copy after(x);
    auto moved = std::move(after);
    after = mtf::host_copy(x + 1);
    x = here::tensor<n>();
    CHECK(before.local() == numbers);
    CHECK(before.local() == numbers);
    for (auto& i : numbers) ++i;
    CHECK(moved.local() == numbers);
    for (auto& i : numbers) ++i;
    CHECK(after.local() == numbers);
  }
}

TEST_CASE("so it is of a tensor whose extents are in its type, and where nobody asks") {
  using here = mtf::place<float, mtf::layout<mtf::mesh<>>, backend>;
  mtf::single_rank alone;
  backend b(alone);
  auto const x = mtf::full<here::tensor<three>>(b, 2.5F);
  CHECK(mtf::host_copy(x).local() == std::vector<float>(3, 2.5F));
  mtf::host_copy const never(x);
}

}  // namespace
