#pragma once
// Small work of one kind on many arrays, one after the other, as one launch on a device: what an optimizer does to each
// parameter, and the casts of parameters. It is noted, and launched before anything else is.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// Memory that a noted work reads, or writes.
struct used_memory {
  void const* begin;
  std::size_t bytes;
  bool written;

  [[nodiscard]] bool meets(used_memory const& other) const {
    auto const* const a = static_cast<std::byte const*>(begin);
    auto const* const b = static_cast<std::byte const*>(other.begin);
    return (written || other.written) && a < b + other.bytes && b < a + bytes;
  }
};
template <class T>
used_memory reads(T const* p, index n) {
  return {p, static_cast<std::size_t>(n) * sizeof(T), false};
}
template <class T>
used_memory writes(T* p, index n) {
  return {p, static_cast<std::size_t>(n) * sizeof(T), true};
}

/// One of a batch: its work on n elements, of which chunks from `first_chunk` on are.
template <class Body>
struct batched {
  Body body;
  index n, first_chunk;
};
/// As many elements as one team does.
inline constexpr index batched_chunk = index{1} << 14;

/// As many of a batch as are given to one launch: a kernel's arguments have 4 KiB.
template <class Body>
struct batched_rows {
  static constexpr index most = 3840 / static_cast<index>(sizeof(batched<Body>));
  batched<Body> all[most];
  index count = 0, chunks = 0;
  double* partial = nullptr;  // a number for each chunk, of a kind that takes sums

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index chunk) const {
    index low = 0;  // the last that begins at this chunk or before
    for (index high = count; high - low > 1;) {
      index const middle = (low + high) / 2;
      (all[middle].first_chunk <= chunk ? low : high) = middle;
    }
    batched<Body> const& mine = all[low];
    index const first = (chunk - mine.first_chunk) * batched_chunk, left = mine.n - first;
    mine.body.chunk(team, first, left < batched_chunk ? left : batched_chunk,
                    partial == nullptr ? nullptr : partial + chunk);
  }
};

/// The body of what `Element` does to the element j.
template <class Element>
struct batched_elements {
  Element element;
  template <class Team>
  KOKKOS_FUNCTION void chunk(Team const& team, index first, index n, double* /*partial*/) const {
    Element const e = element;
    team.each(n, [=](index j) { e(first + j); });
  }
};

/// (Kokkos would put arguments of this size into constant memory where there is no other place for them, and wait for
/// the kernel before that has it.)
template <class Exec, class Body>
void launch_chunks(char const* label, Exec const& exec, Body const& body) {
  device_row_kernel<Exec, Body, false> const kernel{body, body.chunks};
  auto const policy = [&](int teams, int threads) {
    return Kokkos::Experimental::require(Kokkos::TeamPolicy<Exec>(exec, teams, threads),
                                         Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  };
  int const threads = std::min(most_threads<1>(exec, kernel), 256);
  Kokkos::parallel_for(label, policy(static_cast<int>(body.chunks), threads), kernel);
}

template <class Exec>
class batch {
 public:
  /// Notes a work of n elements, which uses this memory. Work of another kind, or for another sum, and such as this one
  /// would meet, is launched before. `sum`: what the chunks' numbers are added to; null: they have none.
  template <class Body, class... Used>
  void note(device<Exec>& on, Body const& body, index n, double* sum, Used const&... used) {
    static_assert(std::is_trivially_copyable_v<Body>);
    if (n == 0) return;
    index const more = ceil_div(n, batched_chunk);
    if (launch_ != &launch_of<Body> || sum_ != sum || used_.size() >= most_used || (meets(used) || ...) ||
        (sum != nullptr && chunks_ + more > std::max(most_chunks, more)))
      launch(on);
    // Before the first is noted: the pool may hand out what noted work has used and others have released.
    if (sum != nullptr && launch_ == nullptr) partial_.emplace(on, std::max(most_chunks, more));
    chunks_ += more;
    launch_ = &launch_of<Body>;
    sum_ = sum;
    std::size_t const end = entries_.size();
    batched<Body> const one{body, n, 0};
    entries_.resize(end + sizeof one);
    std::memcpy(entries_.data() + end, &one, sizeof one);
    (used_.push_back(used), ...);
  }
  /// Launches what was noted.
  void launch(device<Exec>& on) {
    if (auto const f = std::exchange(launch_, nullptr)) f(*this, on);
    entries_.clear();
    used_.clear();
    partial_.reset();
    chunks_ = 0;
  }

 private:
  [[nodiscard]] bool meets(used_memory const& one) const {
    return std::any_of(used_.begin(), used_.end(), [&](auto const& other) { return one.meets(other); });
  }
  template <class Body>
  static void launch_of(batch& of, device<Exec>& on) {
    std::vector<batched_rows<Body>> all;
    index chunks = 0;
    for (std::size_t at = 0; at < of.entries_.size(); at += sizeof(batched<Body>)) {
      if (all.empty() || all.back().count == batched_rows<Body>::most) all.emplace_back();
      auto& here = all.back();
      auto& one = here.all[here.count++];
      std::memcpy(&one, of.entries_.data() + at, sizeof one);
      one.first_chunk = here.chunks;
      here.chunks += ceil_div(one.n, batched_chunk);
      chunks += ceil_div(one.n, batched_chunk);
    }
    index first = 0;
    for (auto& rows : all) {
      if (of.partial_) rows.partial = of.partial_->get() + first;
      launch_chunks("mtf::batch", on.exec, rows);
      first += rows.chunks;
    }
    if (of.partial_)
      for_rows("mtf::batch, sum", on.exec, 1, chunks, add_partials_body{of.partial_->get(), of.sum_, chunks});
  }

  void (*launch_)(batch&, device<Exec>&) = nullptr;
  std::vector<std::byte> entries_;  // batched<Body>, one after the other
  std::vector<used_memory> used_;
  double* sum_ = nullptr;
  std::optional<workspace<double, Exec>> partial_;  // the chunks' numbers
  index chunks_ = 0;
  static constexpr std::size_t most_used = 2048;  // each is compared with all
  static constexpr index most_chunks = 1 << 14;
};

}  // namespace mtf::kokkos
