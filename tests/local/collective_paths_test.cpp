// How the backend hands a collective to its ranks: behind a fence or, where they follow its stream, without; in place
// or through memory of the host. devices: none
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/kokkos/runtime/staging.hpp>
#include <mtf/mtf.hpp>

namespace {

using mtf::collective;
using mtf::element;

/// The first of two ranks, which notes what it is asked for and sends nothing.
class noting final : public mtf::collectives {
 public:
  explicit noting(bool follows) : collectives({1, {2}}, 0), follows_(follows) {}
  void barrier() override {}
  bool any(bool mine) override { return mine; }
  bool on_stream(void* /*stream*/) override {
    ++told;
    return follows_;
  }
  std::vector<collective> made;
  int told = 0;

 private:
  void do_communicate(collective const& c, void const*, void*) override { made.push_back(c); }
  bool follows_;
};

int fences = 0;

/// How often the backend waits for its work while it makes a collective both ways.
int fences_of(noting& ranks, collective const& c) {
  mtf::kokkos_backend<> machine(ranks);
  std::vector<float> in(8, 1.0F), out(8);
  fences = 0;
  Kokkos::Tools::Experimental::set_begin_fence_callback([](char const* name, std::uint32_t, std::uint64_t*) {
    if (std::string_view(name) == "mtf::fence") ++fences;
  });
  machine.communicate(c, in.data(), out.data());
  machine.wait(machine.start(c, in.data(), out.data()));
  Kokkos::Tools::Experimental::set_begin_fence_callback(nullptr);
  return fences;
}

}  // namespace

TEST_CASE("ranks that follow the backend's stream are told it once, and need no fence") {
  for (auto const& c : {collective::all_reduce(1, mtf::combine::sum, element::f32, 8),
                        collective::exclusive_sum(1, element::f32, 8), collective::permute(1, element::f32, 8, 1, 1)})
    for (bool const follows : {false, true}) {
      noting ranks(follows);
      CHECK(fences_of(ranks, c) == (follows ? 0 : 2));
      CHECK(ranks.told == 1);
      CHECK(ranks.made == std::vector{c, c});  // on_device among the rest: the memory is the host's
    }
}

TEST_CASE("what goes through memory of the host arrives, and what is not sent stays as it is") {
  Kokkos::DefaultHostExecutionSpace const exec;
  mtf::kokkos::staging_memory<Kokkos::DefaultHostExecutionSpace> staging;
  std::vector<int> in{1, 2, 3}, out{7, 8, 9, 10};
  bool elsewhere = false;
  mtf::kokkos::staged(exec, staging, in.data(), 3 * sizeof(int), out.data(), 4 * sizeof(int), true,
                      [&](void const* i, void* o) {
                        elsewhere = i != in.data() && o != out.data();
                        std::memcpy(o, i, 2 * sizeof(int));
                      });
  CHECK(elsewhere);
  CHECK(out == std::vector{1, 2, 9, 10});
}

TEST_CASE("bytes are copied and zeroed to the last, and none beside them, however many there are") {
  Kokkos::DefaultHostExecutionSpace const exec;
  auto const part = static_cast<std::size_t>(mtf::kokkos::host_bytes);
  for (std::size_t const n : {std::size_t{0}, std::size_t{1}, part - 1, part, part + 1, 7 * part + 13}) {
    CAPTURE(n);
    std::vector<unsigned char> from(n + 2), to(n + 2, 255);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i % 251);
    mtf::kokkos::copy_bytes(exec, to.data() + 1, from.data() + 1, n);
    exec.fence();
    CHECK(std::equal(from.begin() + 1, from.end() - 1, to.begin() + 1));
    CHECK((to.front() == 255 && to.back() == 255));
    mtf::kokkos::zero_bytes(exec, to.data() + 1, n);
    exec.fence();
    CHECK(static_cast<std::size_t>(std::count(to.begin(), to.end(), 0)) == n);
    CHECK((to.front() == 255 && to.back() == 255));
  }
}

TEST_CASE("a rank alone: sums of nobody and what nobody sends are 0") {
  mtf::single_rank ranks;
  mtf::kokkos_backend<> machine(ranks);
  std::size_t const two = 2;
  auto const made = [&](collective const& c) {
    std::vector<float> in{1, 2, 3}, by_ranks(3, -1.0F), by_backend(3, -1.0F);
    ranks.communicate(c, in.data(), by_ranks.data());
    machine.communicate(c, in.data(), by_backend.data());
    machine.fence();
    CHECK(by_ranks == by_backend);
    return by_ranks;
  };
  CHECK(made(collective::exclusive_sum(0, element::f32, 3)) == std::vector{0.0F, 0.0F, 0.0F});
  CHECK(made(collective::permute(0, element::f32, 3, collective::nobody, collective::nobody)) ==
        std::vector{0.0F, 0.0F, 0.0F});
  CHECK(made(collective::permute(0, element::f32, 3, 0, 0)) == std::vector{1.0F, 2.0F, 3.0F});
  CHECK(made(collective::all_to_all(0, element::f32, 3, &two, &two)) == std::vector{1.0F, 2.0F, -1.0F});
}
