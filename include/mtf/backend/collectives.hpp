#pragma once
// The collectives that a backend between ranks provides, and their counters. One object stands for one rank of one
// mesh.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <mtf/backend/growing_array.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

/// The kinds of collectives.
enum class collective : std::uint8_t { all_reduce, reduce_scatter, all_gather, all_to_all, permute };
/// How an all-reduce combines two elements.
enum class combine : std::uint8_t { sum, max, min };

/// As in plans and errors, such as "all-reduce".
constexpr char const* name_of(collective kind) {
  constexpr std::array<char const*, 5> names{"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "permute"};
  return names[static_cast<std::size_t>(kind)];
}

/// Bytes that one rank sends in a bandwidth-optimal algorithm over p ranks. `payload` is the rank's input in bytes
/// (all-gather: its shard; the others: the whole buffer).
constexpr std::uint64_t bytes_sent(collective kind, std::uint64_t payload, int p) {
  auto const n = static_cast<std::uint64_t>(p);
  switch (kind) {
    case collective::all_reduce:
      return 2 * (payload * (n - 1) / n);
    case collective::reduce_scatter:
    case collective::all_to_all:
      return payload * (n - 1) / n;
    case collective::all_gather:
      return payload * (n - 1);
    case collective::permute:
      return payload;
  }
  return 0;
}

/// The elements that one rank puts into a collective over p ranks that is called with `count`: calls that divide their
/// input over the ranks count one part.
constexpr std::size_t payload_count(collective kind, std::size_t count, int p) {
  bool const divided = kind == collective::reduce_scatter || kind == collective::all_to_all;
  return divided ? count * static_cast<std::size_t>(p) : count;
}

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
  collective kind;
  axis_mask axes;
  std::uint64_t calls = 0, payload = 0, sent = 0;
};

/// One rank's collectives over sets of mesh axes. Groups are the ranks that differ only along the given axes, ordered
/// row-major by their coordinates. Counts are in elements; buffers do not overlap unless in == out is allowed.
/// Every rank of a group makes the same calls in the same order.
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
    request* operator->() const { return at_; }
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

  /// out = combination of all `in` of the group, `count` elements; in == out is allowed.
  void all_reduce(axis_mask axes, combine op, element type, void const* in, void* out, std::size_t count) {
    note(collective::all_reduce, axes, op, type, count);
    do_all_reduce(axes, op, type, in, out, count);
  }
  /// As all_reduce, and returns before it is done: the rank can work meanwhile.
  handle start_all_reduce(axis_mask axes, combine op, element type, void const* in, void* out, std::size_t count) {
    note(collective::all_reduce, axes, op, type, count);
    return do_start_all_reduce(axes, op, type, in, out, count);
  }
  /// `in` holds one block of `count` elements for each rank of the group; out = the sum of the blocks meant for this
  /// rank.
  void reduce_scatter(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
    note(collective::reduce_scatter, axes, combine::sum, type, count);
    do_reduce_scatter(axes, type, in, out, count);
  }
  /// As reduce_scatter, and returns before it is done.
  handle start_reduce_scatter(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
    note(collective::reduce_scatter, axes, combine::sum, type, count);
    return do_start_reduce_scatter(axes, type, in, out, count);
  }
  /// out = the `in` blocks of `count` elements of all ranks of the group, in group order; `in` may be this rank's block
  /// of `out`.
  void all_gather(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
    note(collective::all_gather, axes, combine::sum, type, count);
    do_all_gather(axes, type, in, out, count);
  }
  /// As all_gather, and returns before it is done.
  handle start_all_gather(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
    note(collective::all_gather, axes, combine::sum, type, count);
    return do_start_all_gather(axes, type, in, out, count);
  }
  /// Block i of `in` (`count` elements) goes to rank i of the group; block j of `out` comes from rank j.
  void all_to_all(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
    note(collective::all_to_all, axes, combine::sum, type, count);
    do_all_to_all(axes, type, in, out, count);
  }
  /// Sends `in` to mesh rank `to`, receives `out` from mesh rank `from`; `axes` names the axes along which they differ.
  void permute(axis_mask axes, element type, void const* in, void* out, std::size_t count, int to, int from) {
    note(collective::permute, axes, combine::sum, type, count);
    do_permute(axes, type, in, out, count, to, from);
  }
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
    collective kind;
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
  virtual void check(collective, axis_mask, combine, element, std::size_t) {}

  [[nodiscard]] std::size_t group_size(axis_mask axes) const { return static_cast<std::size_t>(mesh_.size(axes)); }

  virtual void do_all_reduce(axis_mask, combine, element, void const*, void*, std::size_t) = 0;
  virtual void do_reduce_scatter(axis_mask, element, void const*, void*, std::size_t) = 0;
  virtual void do_all_gather(axis_mask, element, void const*, void*, std::size_t) = 0;
  virtual void do_all_to_all(axis_mask, element, void const*, void*, std::size_t) = 0;
  virtual void do_permute(axis_mask, element, void const*, void*, std::size_t, int to, int from) = 0;
  virtual handle do_start_all_reduce(axis_mask axes, combine op, element type, void const* in, void* out,
                                     std::size_t count) = 0;
  virtual handle do_start_reduce_scatter(axis_mask axes, element type, void const* in, void* out,
                                         std::size_t count) = 0;
  virtual handle do_start_all_gather(axis_mask axes, element type, void const* in, void* out, std::size_t count) = 0;

 private:
  void note(collective kind, axis_mask axes, combine op, element type, std::size_t count) {
    if (checked_) check(kind, axes, op, type, count);
    auto const payload = static_cast<std::uint64_t>(payload_count(kind, count, mesh_.size(axes))) *
                         static_cast<std::uint64_t>(bytes_of(type));
    auto& c = count_of(kind, axes);
    ++c.calls;
    c.payload += payload;
    c.sent += bytes_sent(kind, payload, mesh_.size(axes));
    if (log_ != nullptr) append_(log_, {kind, axes, payload});
  }
  collective_count& count_of(collective kind, axis_mask axes) {
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
