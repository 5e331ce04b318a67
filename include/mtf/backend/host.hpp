#pragma once
// What a backend needs besides `run` where its memory is the host's and its work is done when `run` returns.
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/copy_alone.hpp>
#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/object_pool.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::backend {

/// A backend derives from it and adds `run`; `ranks` outlives it. Over axes of one rank collectives are copies.
class host {
 public:
  static constexpr bool holds_data = true;
  static constexpr bool memory_is_the_hosts = true;

  explicit host(collectives& ranks) : ranks_(&ranks) {}
  host(host const&) = delete;
  host& operator=(host const&) = delete;
  ~host() = default;

  collectives& ranks() { return *ranks_; }
  void* allocate(std::size_t bytes) { return ::operator new(bytes, alignment); }
  void release(void* p, std::size_t bytes) noexcept { ::operator delete(p, bytes, alignment); }
  object_pool& objects() { return objects_; }
  /// The layouts that any_layout stands for.
  layout_table& layouts() { return layouts_; }
  void to_host(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  void from_host(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

  void enter(operation_label const& what, sharding const&) { ranks_->enter(what.name); }
  void leave() { ranks_->leave(); }
  pass change(pass p) { return std::exchange(pass_, p); }
  template <class T>
  void made(T const*, sharding const&) {}

  using request = collectives::handle;
  void communicate(collective const& c, void const* in, void* out) {
    alone(c) ? copy_alone(c, in, out) : ranks_->communicate(c, in, out);
  }
  request start(collective const& c, void const* in, void* out) {
    if (!alone(c)) return ranks_->start(c, in, out);
    copy_alone(c, in, out);
    return {};
  }
  void wait(request const& r) { r.wait(); }

 private:
  static constexpr std::align_val_t alignment{64};

  [[nodiscard]] bool alone(collective const& c) const { return ranks_->mesh().size(c.axes) == 1; }

  collectives* ranks_;
  object_pool objects_;
  layout_table layouts_{most_bytes_of_works};
  pass pass_ = pass::forward;
};

}  // namespace mtf::backend
