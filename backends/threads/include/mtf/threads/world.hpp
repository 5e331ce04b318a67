#pragma once
// What ranks share that are threads of one process: for each group of ranks a place to meet and to show their buffers.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/detail/between_ranks.hpp>
#include <mtf/threads/meeting.hpp>

namespace mtf {

namespace detail {

/// Thrown out of a collective of a rank because another one has failed: takes the rank to the end of its function. Not a
/// std::exception, so that who handles those lets it pass.
struct ranks_have_failed {};

/// A collective as all ranks of a group must call it alike.
struct thread_call {
  std::string_view name;
  combine op = combine::sum;
  element type = element::boolean;
  std::size_t count = 0;

  bool operator==(thread_call const&) const = default;
  [[nodiscard]] std::string text() const {
    constexpr std::array<char const*, 3> ops{"sum", "max", "min"};
    constexpr std::array<char const*, 6> types{"float", "double", "bfloat16", "int32", "int64", "bool"};
    if (count == 0) return std::string(name);
    return std::string(name) + " (" + ops[static_cast<std::size_t>(op)] + ") of " + std::to_string(count) + " " +
           types[static_cast<std::size_t>(type)];
  }
};

/// What a rank shows to its group for the length of a collective. Small inputs are shown as copies: then nobody needs to
/// wait until all have read them.
struct shown {
  static constexpr std::size_t small = 1024;  // bytes
  thread_call call;
  void const* in = nullptr;
  void* out = nullptr;
  std::unique_ptr<std::byte[]> copy{new std::byte[small]};
};

/// Ranks that differ only along some axes.
struct thread_group {
  struct member {
    // Of two collectives in turn: who shows the third has seen all come to the second, so all have read the first.
    std::array<shown, 2> show;
    unsigned turn = 0;
    int rank = 0;
  };
  explicit thread_group(int size) : meet(size), members(static_cast<std::size_t>(size)) {}
  meeting meet;
  std::vector<member> members;  // in the order of the group
};

/// A message from one rank to another: at most one at a time from each sender.
struct alignas(64) mailbox {
  static constexpr std::uint32_t nobody = 0, one_departure = 1U << 16U, receiver = one_departure - 1;
  // The low half: the receiver's rank + 1, or nobody. The upper half counts ranks that left, to wake who waits for them.
  std::atomic<std::uint32_t> state{nobody};
  thread_call call;
  void const* in = nullptr;
};

}  // namespace detail

/// The ranks of a mesh as threads of one process: make one, then in each thread a thread_collectives from it.
class thread_world {
 public:
  /// `text` names the mesh in errors, "rows:2 cols:4".
  explicit thread_world(mesh_shape const& mesh, std::string text = {})
      : mesh_(mesh),
        text_(text.empty() ? detail::mesh_text(mesh) : std::move(text)),
        mail_(static_cast<std::size_t>(mesh.size())),
        left_(mail_.size()) {
    for (int a = 0; a < mesh.rank; ++a)
      if (mesh.size(axis_mask{1} << a) > 1) wide_ |= axis_mask{1} << a;
    for (axis_mask axes = 1; axes < groups_.size(); ++axes) {
      if ((axes & ~wide_) != 0) continue;
      int const size = mesh.size(axes);
      for (int g = 0; g < mesh.size() / size; ++g) groups_[axes].push_back(std::make_unique<detail::thread_group>(size));
      for (int r = 0; r < mesh.size(); ++r)
        group(r, axes).members[static_cast<std::size_t>(mesh.index_within(r, axes))].rank = r;
    }
  }
  thread_world(thread_world const&) = delete;
  thread_world& operator=(thread_world const&) = delete;

  [[nodiscard]] mesh_shape const& mesh() const { return mesh_; }
  [[nodiscard]] std::string const& text() const { return text_; }

  /// The rank takes part in no more collectives: an error for ranks that wait for it, now or later.
  void leave(int rank) {
    left_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
    for (axis_mask axes = 1; axes < groups_.size(); ++axes)
      if (!groups_[axes].empty()) group(rank, axes).meet.leave();
    wake_mail();
  }
  /// A rank has failed: all ranks that wait, now or later, leave their collectives by an exception.
  void fail() {
    failed_.store(true, std::memory_order_release);
    for (auto& groups : groups_)
      for (auto& g : groups) g->meet.leave();
    wake_mail();
  }

 private:
  friend class thread_collectives;

  [[nodiscard]] detail::thread_group& group(int rank, axis_mask axes) {
    return *groups_[axes][static_cast<std::size_t>(mesh_.group_of(rank, axes))];
  }
  [[nodiscard]] detail::mailbox& mail(int rank) { return mail_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_left(int rank) const {
    return left_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }
  void wake_mail() {
    for (auto& m : mail_) {
      m.state.fetch_add(detail::mailbox::one_departure, std::memory_order_release);
      m.state.notify_all();
    }
  }

  mesh_shape mesh_;
  std::string text_;
  axis_mask wide_ = 0;  // the axes with more than one rank
  std::array<std::vector<std::unique_ptr<detail::thread_group>>, std::size_t{1} << unsigned{mesh_shape::max_axes}>
      groups_;
  std::deque<detail::mailbox> mail_;
  std::deque<std::atomic<bool>> left_;
  std::atomic<bool> failed_{false};
};

}  // namespace mtf
