#pragma once
// Collectives between ranks that are threads of one process: they read each other's buffers where these are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collective_call.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/copy_alone.hpp>
#include <mtf/backend/reduce_in_order.hpp>
#include <mtf/threads/world.hpp>

namespace mtf {

/// One rank of a thread_world, to be used by one thread. Pointers must be host pointers. A started operation is done
/// when the call that starts it returns. Sums are taken in the order of the group.
class thread_collectives final : public collectives {
 public:
  thread_collectives(thread_world& world, int rank) : collectives(world.mesh(), rank), world_(&world) {
    inputs_.reserve(static_cast<std::size_t>(mesh().size()));
  }

  [[nodiscard]] std::string mesh_text() const override { return world_->text(); }
  void barrier() override { together(world_->wide_, {.name = "barrier"}); }
  bool any(bool mine) override {
    bool theirs = false;
    reduce_all(world_->wide_, {"any", combine::max, element::boolean, 1}, &mine, &theirs);
    return theirs;
  }

 protected:
  void do_communicate(collective const& c, void const* in, void* out) override {
    if (c.kind == collective_kind::permute) return exchange(c, in, out);
    if (alone(c.axes)) return backend::copy_alone(c, in, out);
    auto const call = backend::call_of(c);
    auto const bytes = c.count * backend::size_of(c.type);
    if (c.kind == collective_kind::all_reduce) return reduce_all(c.axes, call, in, out);
    auto const all = open(c.axes, call, in, out, c.elements_in(mesh().size(c.axes)), c.sends);
    switch (c.kind) {
      case collective_kind::reduce_scatter:
        backend::reduce_in_order(combine::sum, c.type, inputs(all, all.size()), all.me * c.count, c.count, out);
        break;
      case collective_kind::all_gather:
        for (std::size_t r = 0; r < all.size(); ++r) copy(at(out, r * bytes), all.of(r).in, bytes);
        break;
      case collective_kind::all_to_all:
        for (std::size_t r = 0; r < all.size(); ++r)
          copy(at(out, r * bytes), at(all.of(r).in, all.me * bytes), sent_by(all, r, c) * backend::size_of(c.type));
        break;
      case collective_kind::exclusive_sum:
        if (all.me == 0)
          std::memset(out, 0, bytes);
        else
          backend::reduce_in_order(combine::sum, c.type, inputs(all, all.me), 0, c.count, out);
        break;
      case collective_kind::all_reduce:
      case collective_kind::permute:
        break;
    }
    close(all);
  }

 private:
  // A collective that all ranks of the group have come to: what each shows.
  struct round {
    axis_mask axes;
    threads::thread_group* group;
    std::size_t me, turn;
    bool copied;  // inputs are shown as copies

    [[nodiscard]] std::size_t size() const { return group->members.size(); }
    [[nodiscard]] threads::shown const& of(std::size_t r) const { return group->members[r].show[turn]; }
  };

  [[nodiscard]] bool alone(axis_mask axes) const { return (axes & world_->wide_) == 0; }
  static void* at(void* p, std::size_t bytes) { return static_cast<std::byte*>(p) + bytes; }
  static void const* at(void const* p, std::size_t bytes) { return static_cast<std::byte const*>(p) + bytes; }
  static void copy(void* to, void const* from, std::size_t bytes) {
    if (to != from && bytes != 0) std::memcpy(to, from, bytes);
  }

  void exchange(collective const& c, void const* in, void* out) {
    auto const call = backend::call_of(c);
    for (int const partner : {c.to, c.from})
      if (partner < collective::nobody || partner >= mesh().size())
        throw std::logic_error("permute of mesh " + world_->text() + " with rank " + std::to_string(partner) +
                               ", which it lacks");
    auto& mine = world_->mail(rank());
    mine.call = call;
    mine.in = in;
    if (c.to != collective::nobody) mine.post(c.to);
    try {
      if (c.from != collective::nobody)
        take(c, call, out);
      else if (c.count != 0)
        std::memset(out, 0, c.count * backend::size_of(c.type));
      if (c.to != collective::nobody)
        wait_for(c.to, mine, call, [&](std::uint32_t state) { return mine.empty(state); });
    } catch (...) {
      mine.withdraw();
      throw;
    }
  }
  void take(collective const& c, backend::collective_call const& call, void* out) {
    auto& theirs = world_->mail(c.from);
    wait_for(c.from, theirs, call, [&](std::uint32_t state) { return theirs.claim(state, rank()); });
    auto const sent = theirs.call;
    if (sent == call) copy(out, theirs.in, c.count * backend::size_of(c.type));
    theirs.release();
    if (sent != call) disagree(call, sent, c.from, 0);
  }

  /// How many elements of its block for this rank another sends.
  [[nodiscard]] std::size_t sent_by(round const& all, std::size_t r, collective const& c) const {
    if (c.sends == nullptr) return c.count;
    auto const sent = all.of(r).sends[all.me];
    if (sent != c.receives[r] || sent > c.count) {
      close(all);
      throw std::logic_error(backend::place_text(name_of(c.kind), c.axes, world_->text()) + ": rank " +
                             std::to_string(all.group->members[r].rank) + " sends " + std::to_string(sent) +
                             " elements, of at most " + std::to_string(c.count) + ", where " +
                             std::to_string(c.receives[r]) + " are expected");
    }
    return sent;
  }

  /// Shows `in` and `out` to the group and waits until all have; `count`: the elements of `in`. `sends`: shown too.
  round open(axis_mask axes, backend::collective_call const& call, void const* in, void* out, std::size_t count,
             std::size_t const* sends = nullptr) {
    axes &= world_->wide_;
    auto& group = world_->group(rank(), axes);
    auto const me = static_cast<std::size_t>(mesh().index_within(rank(), axes));
    auto& member = group.members[me];
    auto const bytes = count * backend::size_of(call.type);
    round const now{axes, &group, me, member.turn++ % 2, sends == nullptr && bytes <= threads::shown::small};
    auto& mine = member.show[now.turn];
    mine.call = call;
    mine.in = in;
    mine.out = out;
    mine.sends = sends;
    if (now.copied) {
      mine.in = mine.copy.get();
      copy(mine.copy.get(), in, bytes);
    }
    meet(now);
    for (std::size_t r = 0; r < now.size(); ++r)
      if (now.of(r).call != call) disagree(call, now.of(r).call, group.members[r].rank, axes);
    return now;
  }
  /// Returns when all have read the caller's buffers, which then may change. Every rank that open() returned to comes
  /// here, also if another fails meanwhile. So no rank is gone while its buffers are read.
  static void close(round const& r) {
    if (!r.copied) r.group->meet.wait_surely();
  }
  void together(axis_mask axes, backend::collective_call const& call) {
    if (!alone(axes)) open(axes, call, nullptr, nullptr, 0);
  }

  void reduce_all(axis_mask axes, backend::collective_call const& call, void const* in, void* out) {
    auto const size = backend::size_of(call.type);
    if (alone(axes)) return copy(out, in, call.count * size);
    auto const all = open(axes, call, in, out, call.count);
    if (all.copied)
      return backend::reduce_in_order(call.op, call.type, inputs(all, all.size()), 0, call.count,
                                      static_cast<std::byte*>(out));
    // Each rank reduces one part into its own output and then takes the other parts from the other outputs. In place
    // too: only the rank that reduces a part reads that part of the inputs.
    auto const part = [&](std::size_t r) { return call.count / all.size() * r + std::min(r, call.count % all.size()); };
    auto const begin = part(all.me);
    backend::reduce_in_order(call.op, call.type, inputs(all, all.size()), begin, part(all.me + 1) - begin,
                             static_cast<std::byte*>(out) + begin * size);
    all.group->meet.wait_surely();
    for (std::size_t r = 0; r < all.size(); ++r)
      if (r != all.me) copy(at(out, part(r) * size), at(all.of(r).out, part(r) * size), (part(r + 1) - part(r)) * size);
    close(all);
  }
  /// Of the first `n` ranks of the group.
  std::vector<void const*> const& inputs(round const& r, std::size_t n) {
    inputs_.clear();
    for (std::size_t i = 0; i < n; ++i) inputs_.push_back(r.of(i).in);
    return inputs_;
  }

  void meet(round const& now) {
    {
      thread_world::wait const here(*world_, rank(), now.of(now.me).call, now.axes);
      if (now.group->meet.wait()) return;
    }
    for (auto const& m : now.group->members) missed(m.rank, now.of(now.me).call, now.axes);
    throw threads::ranks_have_failed{};
  }
  template <class Arrived>
  void wait_for(int partner, threads::mailbox& box, backend::collective_call const& call, Arrived const& arrived) {
    thread_world::wait const here(*world_, rank(), call, 0);
    for (;;) {
      auto const state = box.state();
      if (arrived(state)) return;
      if (world_->has_failed() || world_->has_left(partner)) {
        if (arrived(box.state())) return;  // it did so, and left, after `state` was read
        missed(partner, call, 0);
      }
      box.sleep(state);
    }
  }
  /// Throws if a rank has failed, or if `other` has left.
  void missed(int other, backend::collective_call const& call, axis_mask axes) const {
    if (world_->has_failed()) throw threads::ranks_have_failed{};
    if (world_->has_left(other))
      throw std::logic_error(backend::place_text(call.name, axes, world_->text()) + " waits for rank " +
                             std::to_string(other) + ", which has ended: all ranks must make the same calls");
  }
  [[noreturn]] void disagree(backend::collective_call const& mine, backend::collective_call const& theirs, int other,
                             axis_mask axes) const {
    throw std::logic_error(backend::place_text(mine.text(), axes, world_->text()) + " meets rank " +
                           std::to_string(other) + "'s " + theirs.text() + ": all ranks must make the same calls");
  }

  thread_world* world_;
  std::vector<void const*> inputs_;
};

}  // namespace mtf
