#pragma once
// What is added up to one gradient.
#include <utility>
#include <vector>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/tape/cotangent.hpp>

namespace mtf::detail {

/// Contributions to the gradient of one tensor. Those that are partial over the same axes are added first and reduced
/// together, so a tensor that is used often, or in several batches, has its gradient reduced once.
template <class Backend, class T>
class contributions {
 public:
  /// `where`: the tensor's sharding, of which the partial axes are not read. It must outlive this (operations pass
  /// static constants).
  constexpr contributions(Backend& b, sharding const& where) : backend_(&b), where_(&where) {}
  [[nodiscard]] constexpr sharding const& where() const { return *where_; }

  /// f(contribution), for each set of axes over which contributions are partial.
  template <class F>
  constexpr void each(F const& f) const {
    if (first_.memory) f(first_);
    for (auto const& g : more_) f(g);
  }

  constexpr void add(cotangent<Backend>&& g) {
    added(g.memory);
    if (!first_.memory) {
      first_ = std::move(g);
      return;
    }
    if (first_.partial == g.partial) return accumulate(first_.memory, std::move(g.memory));
    for (auto& other : more_)
      if (other.partial == g.partial) return accumulate(other.memory, std::move(g.memory));
    more_.push_back(std::move(g));
  }

  /// Memory to which a contribution that is partial over these axes may be added in place; empty if there is none, or
  /// something else holds it too. Who adds to it then calls added().
  constexpr buffer<Backend> accumulator(axis_mask partial) {
    if (!first_.memory || first_.partial != partial || !first_.memory.unique()) return {};
    first_.memory->sum.forget();
    return first_.memory;
  }

  /// Tells the backend (which may look for NaN) of a contribution, or of the memory that it was added to.
  constexpr void added(buffer<Backend> const& memory) const {
    backend_->made(static_cast<T const*>(data_of<T>(memory)), *where_);
  }

  /// The sum of all contributions, partial at most over `may_be_partial`; empty memory if there were none. Empties the
  /// slot.
  constexpr cotangent<Backend> take(axis_mask may_be_partial = ~0U) {
    cotangent<Backend> sum;
    if (!first_.memory) return sum;
    sum.partial = may_be_partial;
    each([&](auto const& g) { sum.partial &= g.partial; });
    auto const part = [&](cotangent<Backend>& g) {
      return completed<T>(*where_, g.partial & ~sum.partial, std::exchange(g.memory, {}));
    };
    sum.memory = part(first_);
    for (auto& g : more_) accumulate(sum.memory, part(g));
    more_.clear();
    return sum;
  }
  /// As take(), but sends nothing: the result is partial over all axes over which a contribution is. A contribution
  /// that is reduced along one of them already is kept on that axis' first rank only, and the others add zero. So the
  /// later reduction counts it once, and can reduce several gradients in one message.
  constexpr cotangent<Backend> together() {
    if (more_.empty()) return {std::exchange(first_.memory, {}), std::exchange(first_.partial, 0)};
    Backend& b = *backend_;
    cotangent<Backend> sum;
    each([&](auto const& g) { sum.partial |= g.partial; });
    auto const add_term = [&](cotangent<Backend>& g) {
      auto x = std::exchange(g.memory, {});
      if (b.ranks().mesh().index_within(b.ranks().rank(), sum.partial & ~g.partial) != 0) return;
      if (sum.memory) return accumulate(sum.memory, std::move(x));
      sum.memory = std::move(x);
      make_own(sum.memory);  // also where nothing is added to it: on other ranks something is, so no sum is known
    };
    add_term(first_);
    for (auto& g : more_) add_term(g);
    more_.clear();
    if (!sum.memory) {
      auto const n = where_->local_size(b.ranks().mesh());
      sum.memory = make_buffer<T>(b, n);
      b.run(primitives::fill<T>{data_of<T>(sum.memory), n, T(0)});
    }
    return sum;
  }
  /// All of them to another tensor's, in their order.
  constexpr void move_to(contributions& other) {
    if (first_.memory) other.add(std::move(first_));
    for (auto& g : more_) other.add(std::move(g));
    clear();
  }
  constexpr void clear() {
    first_ = {};
    more_.clear();
  }

 private:
  /// Makes x memory that nothing else holds, and forgets what is known of its sum.
  constexpr void make_own(buffer<Backend>& x) {
    if (!x.unique()) x = copy_of<T>(x, where_->local_size(backend_->ranks().mesh()));
    x->sum.forget();
  }
  constexpr void accumulate(buffer<Backend>& into, buffer<Backend>&& x) {
    Backend& b = *backend_;
    auto const n = where_->local_size(b.ranks().mesh());
    if (!into.unique() && x.unique()) std::swap(into, x);
    make_own(into);
    b.run(primitives::add<T>{n, data_of<T>(into), data_of<T>(x)});
    added(into);
  }

  Backend* backend_;
  sharding const* where_;
  cotangent<Backend> first_;
  std::vector<cotangent<Backend>> more_;  // rarely any
};

}  // namespace mtf::detail
