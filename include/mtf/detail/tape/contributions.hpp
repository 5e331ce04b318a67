#pragma once
// What is added up to one gradient.
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/tape/cotangent.hpp>

namespace mtf::detail {

/// Contributions to the gradient of one tensor. Those that are partial over the same axes are added first and reduced
/// together, so a tensor that is used often, or in several batches, has its gradient reduced once. A sum of more terms
/// than a handful is taken in the type that T is computed in, and rounded once: in bfloat16 256 + 1 is 256, however
/// often 1 is added.
template <class Backend, class T>
class contributions {
  using A = compute_t<T>;
  static constexpr bool widens = !std::is_same_v<A, T>;
  static constexpr int handful = 4;

  /// The sum of contributions that are partial over the same axes.
  struct sum_of_terms {
    cotangent<Backend> g;
    int terms = 1;
    bool wide = false;  // its memory has elements of A
  };

 public:
  /// `where`: the tensor's sharding, of which the partial axes are not read. It must outlive this (operations pass
  /// static constants).
  constexpr contributions(Backend& b, sharding const& where) : backend_(&b), where_(&where) {}
  [[nodiscard]] constexpr sharding const& where() const { return *where_; }
  /// Sums of any two terms are taken in A: of a parameter, whose uses are many and whose gradient is kept.
  constexpr void sum_in_compute_type() { narrow_terms_ = 1; }

  /// f(contribution), for each set of axes over which contributions are partial.
  template <class F>
  constexpr void each(F const& f) const {
    if (first_.g.memory) f(first_.g);
    for (auto const& s : more_) f(s.g);
  }

  constexpr void add(cotangent<Backend>&& g) {
    added(g.memory);
    put(sum_of_terms{std::move(g)});
  }

  /// Memory to which a contribution that is partial over these axes may be added in place; empty if there is none, or
  /// something else holds it too, or the sum is to be taken in another type. Who adds to it then calls added().
  constexpr buffer<Backend> accumulator(axis_mask partial) {
    if (!first_.g.memory || first_.g.partial != partial || !first_.g.memory.unique()) return {};
    if (widens && (first_.wide || first_.terms >= narrow_terms_)) return {};
    ++first_.terms;
    first_.g.memory->sum.forget();
    return first_.g.memory;
  }

  /// Tells the backend (which may look for NaN) of a contribution, or of the memory that it was added to.
  constexpr void added(buffer<Backend> const& memory) const {
    backend_->made(static_cast<T const*>(data_of<T>(memory)), *where_);
  }

  /// The sum of all contributions, partial at most over `may_be_partial`; empty memory if there were none. Empties the
  /// slot.
  constexpr cotangent<Backend> take(axis_mask may_be_partial = ~0U) {
    cotangent<Backend> sum;
    if (!first_.g.memory) return sum;
    sum.partial = may_be_partial;
    each([&](auto const& g) { sum.partial &= g.partial; });
    auto const part = [&](sum_of_terms& s) {
      return completed<T>(*where_, s.g.partial & ~sum.partial, memory_as<T>(s));
    };
    sum.memory = part(first_);
    for (auto& s : more_) accumulate<T>(sum.memory, part(s));
    clear();
    return sum;
  }
  /// As take(), but sends nothing: the result is partial over all axes over which a contribution is. A contribution
  /// that is reduced along one of them already is kept on that axis' first rank only, and the others add zero. So the
  /// later reduction counts it once, and can reduce several gradients in one message. Its elements are of R: T, or A.
  template <class R = T>
  constexpr cotangent<Backend> together() {
    cotangent<Backend> sum;
    if (more_.empty()) {
      if (first_.g.memory) sum = {memory_as<R>(first_), first_.g.partial};
      clear();
      return sum;
    }
    Backend& b = *backend_;
    each([&](auto const& g) { sum.partial |= g.partial; });
    auto const add_term = [&](sum_of_terms& s) {
      auto x = memory_as<R>(s);
      if (b.ranks().mesh().index_within(b.ranks().rank(), sum.partial & ~s.g.partial) != 0) return;
      if (sum.memory) return accumulate<R>(sum.memory, std::move(x));
      sum.memory = std::move(x);
      make_own<R>(sum.memory);  // also where nothing is added to it: on other ranks something is, so no sum is known
    };
    add_term(first_);
    for (auto& s : more_) add_term(s);
    clear();
    if (!sum.memory) {
      auto const n = elements();
      sum.memory = make_buffer<R>(b, n);
      b.run(primitives::fill<R>{data_of<R>(sum.memory), n, R(0)});
    }
    return sum;
  }
  /// All of them to another tensor's, in their order.
  constexpr void move_to(contributions& other) {
    if (first_.g.memory) other.put(std::move(first_));
    for (auto& s : more_) other.put(std::move(s));
    clear();
  }
  constexpr void clear() {
    first_ = {};
    more_.clear();
  }

 private:
  [[nodiscard]] constexpr index elements() const { return where_->local_size(backend_->ranks().mesh()); }

  constexpr void put(sum_of_terms&& s) {
    if (!first_.g.memory) {
      first_ = std::move(s);
      return;
    }
    if (first_.g.partial == s.g.partial) return merge(first_, std::move(s));
    for (auto& other : more_)
      if (other.g.partial == s.g.partial) return merge(other, std::move(s));
    more_.push_back(std::move(s));
  }
  constexpr void merge(sum_of_terms& into, sum_of_terms&& s) {
    into.terms += s.terms;
    if constexpr (widens) {
      if (s.wide && !into.wide) {
        std::swap(into.g.memory, s.g.memory);
        std::swap(into.wide, s.wide);
      }
      if (!into.wide && into.terms > narrow_terms_) {
        into.g.memory = converted<A, T>(into.g.memory);
        into.wide = true;
      }
      if (into.wide && s.wide) return accumulate<A>(into.g.memory, std::move(s.g.memory));
      if (into.wide) {
        make_own<A>(into.g.memory);
        backend_->run(primitives::add<A, T>{elements(), data_of<A>(into.g.memory), data_of<T>(s.g.memory)});
        return backend_->made(static_cast<A const*>(data_of<A>(into.g.memory)), *where_);
      }
    }
    accumulate<T>(into.g.memory, std::move(s.g.memory));
  }

  /// The memory of a sum, as elements of R. What is known of its own sum goes where it is converted.
  template <class R>
  constexpr buffer<Backend> memory_as(sum_of_terms& s) {
    auto x = std::exchange(s.g.memory, {});
    if constexpr (widens) {
      if (std::is_same_v<R, T> && s.wide) return converted<T, A>(x);
      if (std::is_same_v<R, A> && !s.wide) return converted<A, T>(x);
    }
    return x;
  }
  template <class To, class From>
  constexpr buffer<Backend> converted(buffer<Backend> const& x) {
    index const n = elements();
    auto to = make_buffer<To>(*backend_, n);
    backend_->run(primitives::copy<To, From>{
        {.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}}, data_of<To>(to), data_of<From>(x)});
    return to;
  }
  /// Makes x memory that nothing else holds, and forgets what is known of its sum.
  template <class R>
  constexpr void make_own(buffer<Backend>& x) {
    if (!x.unique()) x = copy_of<R>(x, elements());
    x->sum.forget();
  }
  template <class R>
  constexpr void accumulate(buffer<Backend>& into, buffer<Backend>&& x) {
    if (!into.unique() && x.unique()) std::swap(into, x);
    make_own<R>(into);
    backend_->run(primitives::add<R>{elements(), data_of<R>(into), data_of<R>(x)});
    backend_->made(static_cast<R const*>(data_of<R>(into)), *where_);
  }

  Backend* backend_;
  sharding const* where_;
  int narrow_terms_ = handful;
  sum_of_terms first_;
  std::vector<sum_of_terms> more_;  // rarely any
};

}  // namespace mtf::detail
