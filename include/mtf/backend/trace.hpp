#pragma once
// The backend that holds no data. Operations on it type-check with the core alone, and run in constant expressions:
// what remains is the list of their collectives (mtf/plan/plan.hpp). A type without a backend has this one.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/growing_array.hpp>
#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf {

/// One collective of a planned program, as each rank does it.
struct planned_collective {
  collective_kind kind = collective_kind::all_reduce;
  axis_mask axes = 0;
  std::uint64_t payload = 0;  // bytes that the rank puts in, as collectives::event counts them
  pass when = pass::forward;
  char const* operation = "";           // what sends
  sharding const* tensor = nullptr;     // what is sent, or is worked on
  parameter_path parameter{}, other{};  // the operation's parameters, or whose gradient it is
  bool started = false;                 // goes on beside what is computed next, until it is waited for

  /// The same collective; which of several equal tensors it concerns does not matter.
  constexpr bool operator==(planned_collective const& o) const {
    return kind == o.kind && axes == o.axes && payload == o.payload && when == o.when && tensor == o.tensor &&
           started == o.started && same_text(operation, o.operation) && same_path(parameter, o.parameter) &&
           same_path(other, o.other);
  }
};

/// What an operation of a planned program computes on a rank in one step with one primitive of one grade.
struct planned_work {
  char const* operation = "";
  char const* primitive = "";
  pass when = pass::forward;
  limit bound = limit::memory;  // matrix: products; memory: everything else
  primitives::grade grade{};
  std::uint64_t runs = 0;
  double flops = 0;  // of products
  double bytes = 0;  // each input read once and each output written once
};

/// Collectives [first, last) of a plan are done `count` times over.
struct planned_loop {
  std::size_t first = 0, last = 0;
  std::uint64_t count = 1;
};

/// One thing that a planned program does once: work, a collective, or the begin or the end of a loop.
struct planned_event {
  /// What it is.
  enum class kind : std::uint8_t { work, collective, loop_begins, loop_ends };
  kind what = kind::work;
  planned_collective collective{};  // for work only its pass, operation, tensor and parameters
  planned_work work{};
  std::uint64_t count = 1;  // how often a loop is run
  std::uint64_t live = 0;   // bytes of tensors that the rank has then
  std::uint64_t peak = 0;   // the most that it had since the event before
};

/// What an operation takes and makes. Empty where that is not known.
struct operation_tensors {
  std::span<sharding const> operands;
  sharding const* result = nullptr;
};
/// Learns of what a trace records, as it does. (No virtual destructor: see mtf/backend/ref.hpp.)
class trace_listener {
 public:
  /// What was told until now is given to the step, and is no part of it.
  constexpr virtual void step_begins() = 0;
  /// Loops are told once; what happens in them stands for `times`. The tensors are the trace's.
  constexpr virtual void happened(planned_event const& what, std::uint64_t times, operation_tensors const& of) = 0;
  /// The operands of an operation, and its result, are all under this layout. No operands: what is done with these may
  /// be under another layout.
  constexpr virtual void works_under(std::span<sharding const> operands, sharding const& result,
                                     layout_value const& layout) = 0;
  /// An operation added to the gradient of the i-th parameter, whose elements have `element` bytes.
  constexpr virtual void differentiated(int i, sharding const& parameter, std::size_t element, std::uint64_t times,
                                        operation_tensors const& by) = 0;

 protected:
  constexpr ~trace_listener() = default;
};

/// Which layers of a stack a trace takes to be equal, so that it visits one of them for all: all, all but the last, or
/// all but the first and the last two. The more there are, the less a plan costs, and the less it knows: `all` suffices
/// for what is sent, not for memory.
enum class alike_layers : std::uint8_t { some, all_but_last, all };

/// Records what a program sends and allocates on one rank. Rank 0 stands for all: every rank sends the same, and none
/// has more bytes of tensors.
class trace {
 public:
  static constexpr bool holds_data = false;

  /// `alike`: the layers that are taken to be equal.
  constexpr explicit trace(mesh_shape const& mesh, int rank = 0, alike_layers alike = alike_layers::some)
      : mesh_(mesh), rank_(rank), alike_(alike) {
    planned_.reserve(64);
    scopes_.reserve(16);
  }

  trace(trace const&) = delete;
  trace& operator=(trace const&) = delete;
  constexpr ~trace() {
    for (auto* const k : kept_) k->let_go();
    for (auto* const k : kept_) k->destroy();
  }
  /// Takes ownership.
  constexpr void keep(backend::kept* k) { kept_.push_back(k); }

  // Where a backend has a `collectives`, the trace has itself.
  constexpr trace& ranks() { return *this; }
  /// The mesh of the planned program.
  [[nodiscard]] constexpr mesh_shape const& mesh() const { return mesh_; }
  /// The same in the text of errors.
  [[nodiscard]] std::string mesh_text() const { return backend::mesh_text(mesh_); }
  /// The rank that it is.
  [[nodiscard]] constexpr int rank() const { return rank_; }

  /// The layers of a stack that are taken to be equal.
  [[nodiscard]] constexpr alike_layers alike() const { return alike_; }
  /// They turned out to differ: what was recorded is of no use. If they do not, it is what a trace that visits more of
  /// them records.
  [[nodiscard]] constexpr bool layers_differ() const { return layers_differ_; }
  /// Something is done differently in the layers that are not visited.
  constexpr void found_layers_to_differ() { layers_differ_ = alike_ != alike_layers::some; }

  /// The layouts that any_layout stands for.
  constexpr backend::layout_table& layouts() { return layouts_; }

  // What was recorded -------------------------------------------------------------------------------------------------

  /// The collectives, in the order of the program; those of a loop once.
  [[nodiscard]] constexpr backend::growing_array<planned_collective> const& planned() const { return planned_; }
  /// One for each operation, pass, primitive and grade, in the order of the program.
  [[nodiscard]] constexpr backend::growing_array<planned_work> const& work() const { return work_; }
  /// Outer loops after the loops inside them.
  [[nodiscard]] constexpr backend::growing_array<planned_loop> const& loops() const { return loops_; }
  /// The most bytes of tensors that a rank had at one time. (Not to be asked in a loop.)
  [[nodiscard]] constexpr std::uint64_t peak_bytes() const { return peak_; }
  /// How many operands contractions copied into another order.
  [[nodiscard]] constexpr std::uint64_t reordered() const { return reordered_; }
  /// Did the program have a tensor with this dimension?
  [[nodiscard]] constexpr bool has_seen(std::uint64_t dim) const {
    for (auto const id : seen_)
      if (id == dim) return true;
    return false;
  }

  /// The step begins: what was made until now is given to it, and is no work of its own.
  constexpr void begin_step() {
    work_.keep_first(0);
    work_ids_.keep_first(0);
    if (listener_ != nullptr) listener_->step_begins();
  }

  // Told by the operations --------------------------------------------------------------------------------------------

  constexpr void enter(operation_label const& what, sharding const& tensor) {
    scopes_.push_back({what.name != nullptr || scopes_.empty() ? what : scopes_.back().what, &tensor});
  }
  constexpr void leave() { scopes_.pop_back(); }
  /// The operation that was entered last has these operands.
  constexpr void takes(std::span<sharding const> operands) { scopes_.back().operands = operands; }
  /// As the listener's.
  constexpr void works_under(std::span<sharding const> operands, sharding const& result, layout_value const& layout) {
    if (listener_ != nullptr) listener_->works_under(operands, result, layout);
  }
  /// It added to the gradient of one of them, the i-th parameter.
  constexpr void differentiated(int i, sharding const& parameter, std::size_t element) {
    if (listener_ != nullptr) listener_->differentiated(i, parameter, element, times_, tensors());
  }
  /// Tells `to` from now on; null: nobody.
  constexpr void listen(trace_listener* to) { listener_ = to; }
  constexpr pass change(pass p) { return std::exchange(pass_, p); }
  /// A contraction copies a tensor into another order, as no strides of a library's product express the one it has.
  constexpr void reorders() { reordered_ += times_; }
  /// How often what happens now is done.
  [[nodiscard]] constexpr std::uint64_t times() const { return times_; }
  /// The program has a tensor like this.
  constexpr void saw(sharding const& tensor) {
    for (int d = 0; d < tensor.ndim; ++d)
      if (!has_seen(tensor[d].id)) seen_.push_back(tensor[d].id);
  }
  /// What follows up to the matching `end_loop` happens `count` times. A loop like the one that ended just before it is
  /// joined to it.
  constexpr void begin_loop(std::uint64_t count) {
    if (listener_ != nullptr) tell(planned_event::kind::loop_begins, count);
    open_.push_back({planned_.size(), loops_.size(), live_, peak_, count});
    peak_ = live_;
    times_ *= count;
  }
  /// Ends the loop begun last.
  constexpr void end_loop() {
    open_loop const body = open_.back();
    open_.pop_back();
    auto const count = body.count;
    if (listener_ != nullptr) tell(planned_event::kind::loop_ends, count);
    times_ /= count;
    auto const more = (count - 1) * (live_ - body.live);  // than after one round; unsigned, so it may also shrink
    if (live_ > body.live) peak_ += more;                 // the last round begins with more
    live_ += more;
    if (body.peak > peak_) peak_ = body.peak;
    since_ = live_;
    if (planned_.size() == body.first) return;
    if (body.loops > 0 && is_like(loops_[body.loops - 1], body)) {
      planned_.keep_first(body.first);
      loops_.keep_first(body.loops);
      loops_.back().count += count;
    } else {
      loops_.push_back({body.first, planned_.size(), count});
    }
  }

  // Primitives --------------------------------------------------------------------------------------------------------

  constexpr void* allocate(std::size_t bytes) {
    live_ += bytes;
    if (live_ > peak_) peak_ = live_;
    if (live_ > since_) since_ = live_;
    return nullptr;
  }
  constexpr void release(void*, std::size_t bytes) noexcept { live_ -= bytes; }

  constexpr void communicate(collective const& c, void const*, void*) { note(c, false); }
  /// Nothing: what a plan starts is over at once.
  struct request {};
  constexpr request start(collective const& c, void const*, void*) {
    note(c, true);
    return {};
  }
  constexpr void wait(request const&) {}

  template <class... Args>
  constexpr void made(Args const&...) {}
  constexpr void to_host(void*, void const*, std::size_t) {}
  constexpr void from_host(void*, void const*, std::size_t) {}

  /// From now on work is not recorded, for who asks only what is sent.
  constexpr void record_no_work() { records_work_ = false; }
  /// Computes nothing, and adds up what it would cost.
  template <primitive P>
  constexpr void run(P const& p) {
    if (!records_work_) return;
    auto const n = static_cast<double>(times_);
    auto const grade = primitives::grade_of(p);
    auto const flops = primitives::flops_of(p), bytes = p.bytes();
    auto& w = work_of(P::name, name_id<P>, primitives::limit_of<P>, grade);
    w.runs += times_;
    w.flops += n * flops;
    w.bytes += n * bytes;
    if (listener_ != nullptr)
      tell(planned_event::kind::work, 1, {}, {w.operation, P::name, pass_, w.bound, grade, 1, flops, bytes});
  }

 private:
  struct scope {
    operation_label what{""};
    sharding const* tensor = nullptr;
    std::span<sharding const> operands{};
  };
  [[nodiscard]] constexpr operation_tensors tensors() const {
    operation_tensors t;
    if (scopes_.empty() || scopes_.back().operands.empty()) return t;
    t.operands = scopes_.back().operands;
    t.result = scopes_.back().tensor;
    return t;
  }
  struct open_loop {
    std::size_t first, loops;         // collectives and loops before it
    std::uint64_t live, peak, count;  // when it began
  };
  /// Does the loop that ended where `body` begins do the same, the loops inside it included?
  [[nodiscard]] constexpr bool is_like(planned_loop const& before, open_loop const& body) const {
    auto const size = planned_.size() - body.first, inside = loops_.size() - body.loops;
    if (before.last != body.first || before.last - before.first != size || inside + 1 > body.loops) return false;
    for (std::size_t i = 0; i < size; ++i)
      if (!(planned_[before.first + i] == planned_[body.first + i])) return false;
    for (std::size_t i = 0; i < inside; ++i) {
      auto const &a = loops_[body.loops - 1 - inside + i], &b = loops_[body.loops + i];
      if (a.first + size != b.first || a.last + size != b.last || a.count != b.count) return false;
    }
    auto const rest = body.loops - 1 - inside;  // a loop more inside the earlier one?
    return rest == 0 || loops_[rest - 1].last <= before.first;
  }

  // Compared in place of names: compilers bound the steps of a constant expression, and a letter takes several.
  template <primitive P>
  static constexpr std::uint64_t name_id = detail::hash_of(P::name);

  constexpr planned_work& work_of(char const* primitive, std::uint64_t id, limit bound,
                                  primitives::grade const& grade) {
    char const* const operation = scopes_.empty() ? "" : scopes_.back().what.name;
    auto* w = work_.begin();
    for (auto const known : work_ids_) {
      if (known == id && w->when == pass_ && w->grade.size == grade.size && w->grade.element == grade.element &&
          same_text(w->operation, operation))
        return *w;
      ++w;
    }
    work_.push_back({operation, primitive, pass_, bound, grade});
    work_ids_.push_back(id);
    return work_.back();
  }
  constexpr void note(collective const& c, bool started) {
    int const p = mesh_.size(c.axes);
    if (p == 1) return;  // nothing is sent to others
    auto const now = scopes_.empty() ? scope{} : scopes_.back();
    planned_.push_back(
        {c.kind, c.axes, c.payload(p), pass_, now.what.name, now.tensor, now.what.parameter, now.what.other, started});
    if (listener_ != nullptr) tell(planned_event::kind::collective, 1, planned_.back());
  }
  /// Tells an event to the listener, which is there.
  constexpr void tell(planned_event::kind what, std::uint64_t count, planned_collective sent = {},
                      planned_work const& work = {}) {
    if (auto const now = scopes_.empty() ? scope{} : scopes_.back(); what != planned_event::kind::collective)
      sent = {.when = pass_,
              .operation = now.what.name,
              .tensor = now.tensor,
              .parameter = now.what.parameter,
              .other = now.what.other};
    listener_->happened({what, sent, work, count, live_, since_}, times_, tensors());
    since_ = live_;
  }

  mesh_shape mesh_;
  int rank_;
  alike_layers alike_;
  bool layers_differ_ = false, records_work_ = true;
  backend::growing_array<planned_collective> planned_;
  backend::growing_array<planned_loop> loops_;
  backend::growing_array<planned_work> work_;
  backend::growing_array<std::uint64_t> work_ids_;  // of their primitives' names
  backend::growing_array<open_loop> open_;
  backend::growing_array<scope> scopes_;
  backend::growing_array<std::uint64_t> seen_;
  backend::growing_array<backend::kept*> kept_;
  backend::layout_table layouts_;
  trace_listener* listener_ = nullptr;
  std::uint64_t reordered_ = 0;
  pass pass_ = pass::forward;
  std::uint64_t live_ = 0, peak_ = 0, times_ = 1;  // the peak: in the round of the loop that was begun last
  std::uint64_t since_ = 0;                        // the peak since the last event
};

/// What `record` returns of a trace on which it runs a program: the trace takes these layers to be equal, or, if they
/// are not, visits more of them.
template <class Record>
constexpr auto on_trace(mesh_shape const& mesh, alike_layers alike, Record const& record) {
  for (;;) {
    trace b(mesh, 0, alike);
    auto r = record(b);
    if (!b.layers_differ()) return r;
    alike = alike == alike_layers::all ? alike_layers::all_but_last : alike_layers::some;
  }
}

}  // namespace mtf
