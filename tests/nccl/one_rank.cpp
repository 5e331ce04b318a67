// What a GPU alone can show of NCCL's collectives: that a communicator is made, each kind over a group of one, started
// and not, in the order in which they are made; and combinations of blocks as the host makes them, with NaN. Prints
// what is wrong; the exit status is how much is.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>
#include <vector>

#include <mpi.h>
#include <Kokkos_Core.hpp>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/nccl.hpp>

namespace {

using mtf::bfloat16;
using mtf::collective;
using mtf::collective_kind;
using mtf::combine;
using mtf::element;
using mtf::nccl::check;

int wrong = 0;
void expect(bool right, char const* what, std::size_t n) {
  if (right) return;
  ++wrong;
  std::printf("wrong: %s of %zu elements\n", what, n);
}

/// Device memory of n elements.
template <class T>
class device_array {
 public:
  explicit device_array(std::vector<T> const& from) : n_(from.size()) {
    check(cudaMalloc(&at_, n_ * sizeof(T)), "cudaMalloc");
    check(cudaMemcpy(at_, from.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // streams that do not block are not behind it
  }
  device_array(device_array const&) = delete;
  device_array& operator=(device_array const&) = delete;
  ~device_array() { cudaFree(at_); }
  [[nodiscard]] T* get() const { return static_cast<T*>(at_); }
  [[nodiscard]] std::vector<T> host() const {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<T> to(n_);
    check(cudaMemcpy(to.data(), at_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return to;
  }

 private:
  std::size_t n_;
  void* at_ = nullptr;
};

/// Numbers, also such as bools are, with a NaN here and there where there is one.
template <class T>
T number(std::size_t i) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_floating_point_v<T>)
    return i % 11 == 5 ? T(std::numeric_limits<float>::quiet_NaN()) : T(static_cast<float>(i * 7 % 13) - 6.0F);
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(i / 3 % 2);
  else
    return static_cast<T>(i * 7 % 13) - 6;
}
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_floating_point_v<T>) {
    auto const x = static_cast<float>(a), y = static_cast<float>(b);
    return x == y || (std::isnan(x) && std::isnan(y));
  } else {
    return a == b;
  }
}
template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

template <combine Op, class T>
T combined(T a, T b) {
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return mtf::backend::combined<Op>(a != 0, b != 0) ? 1 : 0;
  else
    return mtf::backend::combined<Op>(a, b);
}

/// T: how an element of that type lies in memory.
template <combine Op, class T>
void check_blocks(element type) {
  for (std::size_t const n : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{300001}})
    for (int const blocks : {0, 1, 2, 3, 5}) {
      std::vector<T> all(n * 5), expected(n, T(0));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = number<T>(i);
      for (std::size_t i = 0; i < n && blocks > 0; ++i) {
        expected[i] = all[i];
        for (int b = 1; b < blocks; ++b)
          expected[i] = combined<Op>(expected[i], all[static_cast<std::size_t>(b) * n + i]);
      }
      device_array<T> const from(all), to(std::vector<T>(n, T(1)));
      mtf::nccl::combine_elements(nullptr, Op, type, to.get(), from.get(), n, blocks);
      expect(same(to.host(), expected), "combine_elements", n);
    }
}
template <class T>
void check_combinations(element type) {
  check_blocks<combine::sum, T>(type);
  check_blocks<combine::max, T>(type);
  check_blocks<combine::min, T>(type);
}

template <class T>
void check_kinds(mtf::collectives& ranks, element type) {
  for (std::size_t const n : {std::size_t{1}, std::size_t{1023}, std::size_t{1} << 20U}) {
    std::vector<T> numbers(n);
    for (std::size_t i = 0; i < n; ++i) numbers[i] = number<T>(i);
    for (bool const started : {false, true})
      for (auto c : {collective::all_reduce(1, combine::sum, type, n), collective::all_reduce(1, combine::max, type, n),
                     collective::all_reduce(1, combine::min, type, n), collective::reduce_scatter(1, type, n),
                     collective::all_gather(1, type, n), collective::all_to_all(1, type, n),
                     collective::permute(1, type, n, 0, 0), collective::exclusive_sum(1, type, n)}) {
        c.on_device = true;
        device_array<T> const in(numbers), out(std::vector<T>(n, T(1)));
        if (started)
          ranks.start(c, in.get(), out.get()).wait();
        else
          ranks.communicate(c, in.get(), out.get());
        bool const nothing = c.kind == collective_kind::exclusive_sum;
        expect(same(out.host(), nothing ? std::vector<T>(n, T(0)) : numbers), mtf::name_of(c.kind), n);
      }
    // Each takes what the one before gives, by turns on both streams, and none is waited for.
    constexpr int turns = 8;
    std::vector<mtf::collectives::handle> handles;
    device_array<T> const first(numbers), second(std::vector<T>(n, T(1)));
    for (int i = 0; i < turns; ++i) {
      auto c = collective::all_gather(1, type, n);
      c.on_device = true;
      auto const& [from, to] =
          std::array{i % 2 == 0 ? first.get() : second.get(), i % 2 == 0 ? second.get() : first.get()};
      if (i / 2 % 2 == 0)
        handles.push_back(ranks.start(c, from, to));
      else
        ranks.communicate(c, from, to);
    }
    expect(same(first.host(), numbers) && same(second.host(), numbers), "one after the other", n);
  }
}

void run() {
  mtf::mesh_shape mesh{};
  mesh.ndim = 1;
  mesh.extent[0] = 1;
  mtf::nccl_collectives ranks(mesh, "data:1", {.of_one_rank = true});
  Kokkos::Cuda const exec;
  expect(ranks.on_stream(exec.cuda_stream()) && ranks.takes_device_memory(), "a communicator", 1);
  check_combinations<float>(element::f32);
  check_combinations<double>(element::f64);
  check_combinations<bfloat16>(element::bf16);
  check_combinations<std::int32_t>(element::i32);
  check_combinations<std::int64_t>(element::i64);
  check_combinations<std::uint8_t>(element::boolean);
  check_kinds<float>(ranks, element::f32);
  check_kinds<double>(ranks, element::f64);
  check_kinds<bfloat16>(ranks, element::bf16);
  check_kinds<std::int32_t>(ranks, element::i32);
  check_kinds<std::int64_t>(ranks, element::i64);
  check_kinds<std::uint8_t>(ranks, element::boolean);
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  std::printf("NCCL %d, one rank: %d wrong\n", version, wrong);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  run();
  Kokkos::finalize();
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
