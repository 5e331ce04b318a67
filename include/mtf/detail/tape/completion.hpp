#pragma once
// Reducing gradients between ranks: a large one by itself, begun as soon as it is asked for; small ones together, in
// one message. If the optimizer's state is split further, each rank gets only its part of a large one, by a
// reduce-scatter.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/sharding/steps.hpp>
#include <mtf/detail/tape/cotangent.hpp>

namespace mtf::detail {

/// Shards of up to 64 KiB are small: a message of their own would cost more for its latency than for its bytes.
constexpr bool is_small(index elements, std::size_t element_size) {
  return static_cast<std::size_t>(elements) * element_size <= std::size_t{64} << 10U;
}

template <class Backend>
class completion {
 public:
  constexpr explicit completion(Backend& b) : backend_(&b) {}

  /// Starts reducing `g`. After finish(), `completed` finds the sum without sending anything. `where`: the gradient's
  /// sharding. `parameter`: whose gradient it is. `split`: this rank gets only its part of the sum along these axes (0
  /// for small shards). If nothing else holds the memory of `g`, the sum is taken in place; or, where a rank gets only
  /// its part, that memory is freed.
  template <class T>
  constexpr void add(cotangent<Backend> const& g, sharding const& where, axis_mask split,
                     parameter_path const& parameter) {
    if (!g.memory || g.partial == 0 || g.memory->sum.is_over(g.partial)) return;
    mesh_shape const& mesh = backend_->ranks().mesh();
    auto const n = where.local_size(mesh);
    if (split == 0 && is_small(n, sizeof(T))) {
      small_.push_back({g.memory, g.partial, &where, parameter, element_of<T>, n, times()});
      return;
    }
    operation<Backend> const here(*backend_, {"gradient", parameter}, where);
    steps const way = derive_completion(mesh, where, g.partial, split);
    bool const one = way.size == 1, ours = g.memory.unique();
    if (one && ours && way[0].kind == step_kind::all_reduce) {
      T* const p = data_of<T>(g.memory);
      started_.push_back(backend_->start(
          collective::all_reduce(way[0].axes, combine::sum, element_of<T>, static_cast<std::size_t>(n)), p, p));
      g.memory->sum.is_in_place(g.partial);
    } else if (one && way[0].kind == step_kind::reduce_scatter && way[0].axes == split &&
               has_contiguous_parts(where, split, mesh)) {  // the shard is the message
      auto const part = make_buffer<T>(*backend_, way[0].elements_out);
      auto& slot = scattered_[scatters_++ % scattered_.size()];
      settle(slot);
      slot.request = backend_->start(
          collective::reduce_scatter(split, element_of<T>, static_cast<std::size_t>(way[0].elements_out)),
          data_of<T>(g.memory), data_of<T>(part));
      slot.terms = g.memory;
      slot.ours = ours;
      g.memory->sum.is(g.partial, part, split);
    } else {
      completed<T>(where, g.partial, g.memory, split);
      if (split != 0 && ours) g.memory->forget_terms();
    }
  }

  /// Returns when all gradients that were added are reduced.
  constexpr void finish() {
    for (std::size_t first = 0; first < small_.size(); ++first) {
      if (!small_[first].memory) continue;  // sent with an earlier one
      switch (small_[first].type) {
        case element::f32:
          send_together<float>(first);
          break;
        case element::f64:
          send_together<double>(first);
          break;
        case element::bf16:
          send_together<bfloat16>(first);
          break;
        default:
          break;
      }
    }
    small_.clear();
    for (auto& s : started_) wait(s);
    started_.clear();
    for (auto& s : scattered_) settle(s);
  }

 private:
  struct waiting {
    buffer<Backend> memory;
    axis_mask partial;
    sharding const* where;
    parameter_path parameter;
    element type;
    index elements;
    index times;  // on a trace: for how many equal layers it stands
  };
  /// A reduce-scatter in flight. Few at a time, since each keeps the memory of its terms.
  struct scatter {
    buffer<Backend> terms;
    bool ours = false;  // nothing else holds the terms
    typename Backend::request request{};
  };
  constexpr void wait(typename Backend::request const& r) {
    operation<Backend> const here(*backend_, "gradient", several);
    backend_->wait(r);
  }
  constexpr void settle(scatter& s) {
    if (!s.terms) return;
    wait(s.request);
    if (s.ours) s.terms->forget_terms();
    s.terms = {};
  }
  [[nodiscard]] constexpr index times() const {
    if constexpr (Backend::holds_data)
      return 1;
    else
      return static_cast<index>(backend_->times());
  }

  // All waiting gradients with the type and axes of the first, in one all-reduce. Their sums stay in the message.
  template <class T>
  constexpr void send_together(std::size_t first) {
    axis_mask const axes = small_[first].partial;
    auto const each = [&](auto const& f) {
      for (std::size_t i = first; i < small_.size(); ++i)
        if (auto& s = small_[i]; s.memory && s.type == element_of<T> && s.partial == axes) f(s);
    };
    index total = 0, count = 0;
    each([&](waiting const& s) {
      total += s.elements * s.times;
      count += s.times;
    });
    operation<Backend> const together(*backend_, "small gradients", several);
    operation<Backend> const alone(*backend_, {count == 1 ? "gradient" : nullptr, small_[first].parameter},
                                   count == 1 ? *small_[first].where : several);
    auto const message = make_buffer<T>(*backend_, total);
    index at = 0;
    each([&](waiting const& s) {
      if constexpr (!Backend::holds_data) backend_->begin_loop(static_cast<std::uint64_t>(s.times));
      backend_->run(primitives::copy_dense<T>{data_of<T>(message, at), data_of<T>(s.memory), s.elements});
      if constexpr (!Backend::holds_data) backend_->end_loop();
      at += s.elements;
    });
    T* const p = data_of<T>(message);
    backend_->communicate(collective::all_reduce(axes, combine::sum, element_of<T>, static_cast<std::size_t>(total)), p,
                          p);
    at = 0;
    each([&](waiting& s) {
      s.memory->sum.is(axes, part_of<T>(message, at));
      at += s.elements;
      s.memory = {};
    });
  }

  static constexpr sharding several{};
  Backend* backend_;
  std::vector<waiting> small_;
  std::vector<typename Backend::request> started_;
  std::array<scatter, 2> scattered_{};
  std::size_t scatters_ = 0;
};

}  // namespace mtf::detail
