#pragma once
// The collectives that a backend between ranks provides, and their counters. One object stands for one rank of one
// mesh.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/growing_array.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

namespace backend {

/// A mesh whose axes have no names: "0:2 1:4".
inline std::string mesh_text(mesh_shape const& mesh) {
  std::string s;
  for (int a = 0; a < mesh.ndim; ++a)
    s += (a > 0 ? " " : "") + std::to_string(a) + ":" + std::to_string(mesh.extent[static_cast<std::size_t>(a)]);
  return s;
}

}  // namespace backend

/// What was sent with one kind of collective over one set of axes. `payload`: input bytes, summed over calls;
/// `sent`: bytes_sent(), summed over calls.
struct collective_count {
  collective_kind kind;
  axis_mask axes;
  std::uint64_t calls = 0, payload = 0, sent = 0;
};

/// One rank's collectives over sets of mesh axes. Every rank of a group makes the same calls in the same order.
class collectives {
 public:
  /// A started operation; `wait` returns when the output may be read and the input changed.
  class request {
   public:
    virtual ~request() = default;
    virtual void wait() = 0;
  };
  /// Owns a started operation; empty if it is over. (Not std::unique_ptr: <memory> would be a sixth of what including
  /// the core costs.)
  class handle {
   public:
    handle() = default;
    explicit handle(request* fresh) : at_(fresh) {}
    handle(handle&& o) noexcept : at_(std::exchange(o.at_, nullptr)) {}
    handle& operator=(handle&& o) noexcept {
      std::swap(at_, o.at_);
      return *this;
    }
    ~handle() { delete at_; }
    /// Returns when the output may be read and the input changed.
    void wait() const {
      if (at_ != nullptr) at_->wait();
    }
    explicit operator bool() const { return at_ != nullptr; }
    /// Gives the operation up: it is over, or nobody waits for it.
    void reset() { delete std::exchange(at_, nullptr); }

   private:
    request* at_ = nullptr;
  };

  collectives(mesh_shape mesh, int rank) : mesh_(mesh), rank_(rank) {}
  virtual ~collectives() = default;
  collectives(collectives const&) = delete;
  collectives& operator=(collectives const&) = delete;

  /// The mesh of which it is a rank.
  [[nodiscard]] mesh_shape const& mesh() const { return mesh_; }
  /// The mesh in the text of errors, such as "data:2 model:4".
  [[nodiscard]] virtual std::string mesh_text() const { return backend::mesh_text(mesh_); }
  /// This rank's number, row-major over the mesh.
  [[nodiscard]] int rank() const { return rank_; }

  /// Makes a collective: it is over when the call returns.
  void communicate(collective const& c, void const* in, void* out) {
    note(c);
    do_communicate(c, in, out);
  }
  /// As communicate, and may return before it is over: the rank can work meanwhile.
  handle start(collective const& c, void const* in, void* out) {
    note(c);
    return do_start(c, in, out);
  }
  /// Whether `in` and `out` may be memory of a device, in groups of more than one rank; `on_device` says of each
  /// collective whether they are. Else the backend takes what is sent through memory of the host. What out_is_zero the
  /// backend has set to 0 then.
  [[nodiscard]] virtual bool takes_device_memory() const { return false; }
  /// The backend's stream (a cudaStream_t or hipStream_t), told once, before the first collective. True: collectives
  /// are put onto it, behind the work that is there, so the backend need not wait for that work first.
  virtual bool on_stream(void* /*stream*/) { return false; }
  /// Returns when all ranks of the mesh have called it. Not counted.
  virtual void barrier() = 0;
  /// True on all ranks if `mine` is true on any: the way to agree on an error before leaving together. Not counted.
  virtual bool any(bool mine) = 0;

  /// What was sent so far, by kind and axes.
  [[nodiscard]] backend::growing_array<collective_count> const& counts() const { return counts_; }
  /// From now on counts anew.
  void reset_counts() { counts_.keep_first(0); }
  /// Called once for each collective, before it starts: for tests that compare the order with a plan.
  struct event {
    collective_kind kind;
    axis_mask axes;
    std::uint64_t payload;
    bool operator==(event const&) const = default;
  };
  /// Adds each collective to `log`, a vector of events, from now on. (A template: programs that do not record need not
  /// compile the vector.)
  template <class Log>
  void record(Log* log) {
    log_ = log;
    append_ = [](void* to, event const& e) { static_cast<Log*>(to)->push_back(e); };
  }
  /// Adds collectives to no log any more.
  void record(std::nullptr_t) { log_ = nullptr; }

  /// The rank begins an operation, inside of another or not; null: it has no name of its own. For errors.
  void enter(char const* operation) { names_[static_cast<std::size_t>(entered_++) % names_.size()] = operation; }
  /// The operation that was begun last is over.
  void leave() { --entered_; }

 protected:
  /// The innermost operation that has a name; null: none.
  [[nodiscard]] char const* operation() const {
    for (int i = entered_; i > 0 && entered_ - i < static_cast<int>(names_.size()); --i)
      if (char const* const name = names_[static_cast<std::size_t>(i - 1) % names_.size()]; name != nullptr)
        return name;
    return nullptr;
  }
  /// Whether each call is compared with the others' before it is made, by `check`.
  void checked(bool on) { checked_ = on; }
  /// Throws where the ranks of a group do not all make this call.
  virtual void check(collective const&) {}

  [[nodiscard]] std::size_t group_size(axis_mask axes) const { return static_cast<std::size_t>(mesh_.size(axes)); }

  virtual void do_communicate(collective const& c, void const* in, void* out) = 0;
  /// Where nothing goes on beside the rank's work, a collective is over when it has started.
  virtual handle do_start(collective const& c, void const* in, void* out) {
    do_communicate(c, in, out);
    return {};
  }

 private:
  void note(collective const& made) {
    if (checked_) check(made);
    int const p = mesh_.size(made.axes);
    auto const payload = made.payload(p);
    auto& c = count_of(made.kind, made.axes);
    ++c.calls;
    c.payload += payload;
    c.sent += bytes_sent(made.kind, payload, p);
    if (log_ != nullptr) append_(log_, {made.kind, made.axes, payload});
  }
  collective_count& count_of(collective_kind kind, axis_mask axes) {
    for (auto& c : counts_)
      if (c.kind == kind && c.axes == axes) return c;
    counts_.push_back({kind, axes});
    return counts_.back();
  }

  mesh_shape mesh_;
  int rank_;
  backend::growing_array<collective_count> counts_;
  std::array<char const*, 8> names_{};  // of the operations that are under way, as many as fit
  int entered_ = 0;
  bool checked_ = false;
  void* log_ = nullptr;
  void (*append_)(void* log, event const&) = nullptr;
};

}  // namespace mtf
