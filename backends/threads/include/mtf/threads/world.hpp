#pragma once
// What the ranks of one process share: for each group of ranks a barrier, and a place to show their buffers.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/backend/collective_call.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/threads/mailbox.hpp>
#include <mtf/threads/meeting.hpp>

namespace mtf {

namespace threads {

/// Thrown out of a collective of a rank because another one has failed: takes the rank to the end of its function. Not
/// a std::exception, so that who handles those lets it pass.
struct ranks_have_failed {};

/// What a rank shows to its group for the length of a collective. Small inputs are shown as copies: then nobody needs
/// to wait until all have read them.
struct shown {
  static constexpr std::size_t small = 1024;  // bytes
  backend::collective_call call;
  void const* in = nullptr;
  void* out = nullptr;
  std::size_t const* sends = nullptr;
  std::unique_ptr<std::byte[]> copy{new std::byte[small]};
};

/// Ranks that differ only along some axes.
struct thread_group {
  struct member {
    // Used in turn. A rank that shows buffers for its third collective has seen all come to the second, so all have
    // read what it showed for the first.
    std::array<shown, 2> show;
    unsigned turn = 0;
    int rank = 0;
  };
  explicit thread_group(int size) : meet(size), members(static_cast<std::size_t>(size)) {}
  meeting meet;
  std::vector<member> members;  // in the order of the group
};

/// Where a rank waits, or has waited last.
struct alignas(64) waiting_place {
  backend::collective_call call;
  axis_mask axes = 0;
};

}  // namespace threads

/// The ranks of a mesh as threads of one process: make one, then in each thread a thread_collectives from it.
class thread_world {
 public:
  /// `text` names the mesh in errors, "rows:2 cols:4".
  explicit thread_world(mesh_shape const& mesh, std::string text = {})
      : mesh_(mesh),
        text_(text.empty() ? backend::mesh_text(mesh) : std::move(text)),
        mail_(static_cast<std::size_t>(mesh.size())),
        left_(mail_.size()),
        waiting_(mail_.size()) {
    if (mesh.size() > threads::meeting::most_members)
      throw std::invalid_argument("mtf::thread_world: mesh " + text_ + " has more than " +
                                  std::to_string(threads::meeting::most_members) + " ranks");
    for (int a = 0; a < mesh.ndim; ++a)
      if (mesh.size(axis_mask{1} << a) > 1) wide_ |= axis_mask{1} << a;
    for (axis_mask axes = 1; axes < groups_.size(); ++axes) {
      if ((axes & ~wide_) != 0) continue;
      int const size = mesh.size(axes);
      for (int g = 0; g < mesh.size() / size; ++g)
        groups_[axes].push_back(std::make_unique<threads::thread_group>(size));
      for (int r = 0; r < mesh.size(); ++r)
        group(r, axes).members[static_cast<std::size_t>(mesh.index_within(r, axes))].rank = r;
    }
  }
  thread_world(thread_world const&) = delete;
  thread_world& operator=(thread_world const&) = delete;

  /// The mesh of its ranks.
  [[nodiscard]] mesh_shape const& mesh() const { return mesh_; }
  /// The mesh in the text of errors, such as "rows:2 cols:4".
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

  /// A figure that changes whenever a rank begins or ends to wait; its lower 32 bits are how many wait.
  [[nodiscard]] std::uint64_t waits() const { return waits_.load(std::memory_order_acquire); }
  /// Where the ranks wait, for ranks that all do: "all-reduce over rows:2 of mesh rows:2 cols:2 (rank 0); barrier ...".
  [[nodiscard]] std::string where_all_wait() const {
    std::vector<std::pair<std::string, std::string>> places;  // and their ranks
    for (int r = 0; r < mesh_.size(); ++r) {
      if (has_left(r)) continue;
      auto const& at = waiting_[static_cast<std::size_t>(r)];
      auto const place = backend::place_text(at.call.name, at.axes, text_);
      auto found = std::find_if(places.begin(), places.end(), [&](auto const& p) { return p.first == place; });
      if (found == places.end()) found = places.insert(found, {place, "rank"});
      found->second += " " + std::to_string(r);
    }
    std::string s;
    for (auto const& [place, ranks] : places) s += (s.empty() ? "" : "; ") + place + " (" + ranks + ")";
    return s;
  }

 private:
  friend class thread_collectives;

  // Says that the rank waits while this lives.
  class wait {
   public:
    wait(thread_world& world, int rank, backend::collective_call const& call, axis_mask axes) : world_(&world) {
      world.waiting_[static_cast<std::size_t>(rank)] = {call, axes};
      world.waits_.fetch_add(one_event + 1, std::memory_order_acq_rel);
    }
    ~wait() { world_->waits_.fetch_add(one_event - 1, std::memory_order_acq_rel); }
    wait(wait const&) = delete;
    wait& operator=(wait const&) = delete;

   private:
    static constexpr std::uint64_t one_event = std::uint64_t{1} << 32U;
    thread_world* world_;
  };

  [[nodiscard]] threads::thread_group& group(int rank, axis_mask axes) {
    return *groups_[axes][static_cast<std::size_t>(mesh_.group_of(rank, axes))];
  }
  [[nodiscard]] threads::mailbox& mail(int rank) { return mail_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_left(int rank) const {
    return left_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }
  void wake_mail() {
    for (auto& m : mail_) m.wake();
  }

  mesh_shape mesh_;
  std::string text_;
  axis_mask wide_ = 0;  // the axes with more than one rank
  std::array<std::vector<std::unique_ptr<threads::thread_group>>, std::size_t{1} << unsigned{max_axes}> groups_;
  std::deque<threads::mailbox> mail_;
  std::deque<std::atomic<bool>> left_;
  std::vector<threads::waiting_place> waiting_;
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace mtf
