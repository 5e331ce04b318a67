#pragma once
// A tensor's elements for the host, while the device goes on.
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// A rank's shard on its way to the host. The copy begins when this is made, behind the work that was asked for before,
/// and work that is asked for afterwards does not delay it. Where a backend has no such copies, or its memory is the
/// host's, the elements are copied when they are asked for. Tensors of bool are not taken.
template <tensor_type X>
class host_copy {
  using T = typename X::element_type;
  using backend = typename X::backend_type;
  static_assert(!std::is_same_v<T, bool>, "mtf: host_copy takes no tensors of bool: give it mtf::cast<int>(x)");

 public:
  explicit host_copy(X const& x) : of_(x), under_way_(begun(x)) {}

  /// The shard, once it has arrived.
  [[nodiscard]] std::vector<T> local() const {
    if constexpr (is_asynchronous) {
      std::vector<T> all(under_way_.bytes() / sizeof(T));
      if (!all.empty()) std::memcpy(all.data(), under_way_.arrived(), under_way_.bytes());
      return all;
    } else {
      return of_.local();
    }
  }

 private:
  static constexpr bool is_asynchronous =
      requires(backend& b, void const* from, std::size_t bytes) { b.start_to_host(from, bytes); };
  static auto begun([[maybe_unused]] X const& x) {
    if constexpr (is_asynchronous) {
      auto const n = static_cast<std::size_t>(detail::place_of(x).local_size());
      return x.backend().start_to_host(x.value().data(), n * sizeof(T));
    } else {
      return std::false_type{};
    }
  }

  X of_;  // holds the memory
  [[no_unique_address]] decltype(begun(std::declval<X const&>())) under_way_;
};

}  // namespace mtf
