#pragma once
// What a backend needs besides `run` where its memory is the host's and its work is done when `run` returns.
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <mtf/backend/collectives.hpp>
#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/object_pool.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
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
  template <class T>
  void all_reduce(axis_mask axes, combine op, T const* in, T* out, std::size_t n) {
    if (!alone(axes, in, out, n)) ranks_->all_reduce(axes, op, element_of<T>, in, out, n);
  }
  template <class T>
  void reduce_scatter(axis_mask axes, T const* in, T* out, std::size_t n) {
    if (!alone(axes, in, out, n)) ranks_->reduce_scatter(axes, element_of<T>, in, out, n);
  }
  template <class T>
  void all_gather(axis_mask axes, T const* in, T* out, std::size_t n) {
    if (!alone(axes, in, out, n)) ranks_->all_gather(axes, element_of<T>, in, out, n);
  }
  template <class T>
  void all_to_all(axis_mask axes, T const* in, T* out, std::size_t n) {
    if (!alone(axes, in, out, n)) ranks_->all_to_all(axes, element_of<T>, in, out, n);
  }
  template <class T>
  void permute(axis_mask axes, T const* in, T* out, std::size_t n, int to, int from) {
    if (!alone(axes, in, out, n)) ranks_->permute(axes, element_of<T>, in, out, n, to, from);
  }
  template <class T>
  request start_all_reduce(axis_mask axes, combine op, T const* in, T* out, std::size_t n) {
    if (alone(axes, in, out, n)) return {};
    return ranks_->start_all_reduce(axes, op, element_of<T>, in, out, n);
  }
  template <class T>
  request start_reduce_scatter(axis_mask axes, T const* in, T* out, std::size_t n) {
    if (alone(axes, in, out, n)) return {};
    return ranks_->start_reduce_scatter(axes, element_of<T>, in, out, n);
  }
  void wait(request const& r) {
    if (r) r->wait();
  }

 private:
  static constexpr std::align_val_t alignment{64};

  template <class T>
  bool alone(axis_mask axes, T const* in, T* out, std::size_t n) {
    if (ranks_->mesh().size(axes) > 1) return false;
    if (in != out) std::memcpy(out, in, n * sizeof(T));
    return true;
  }

  collectives* ranks_;
  object_pool objects_;
  layout_table layouts_;
  pass pass_ = pass::forward;
};

}  // namespace mtf::backend
