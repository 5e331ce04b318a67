#pragma once
// Completing gradients: a large one by itself, begun as soon as it is asked for; small ones together, in one message.
#include <utility>
#include <vector>

#include <mtf/detail/execute.hpp>

namespace mtf::detail {

/// A gradient on one rank: its memory (empty: zero), and the axes over which it is partial.
template <class Backend>
struct cotangent {
  buffer<Backend> memory;
  axis_mask partial = 0;
};

template <class Backend>
class completion {
 public:
  /// Shards of up to so many bytes go together: their messages would cost more for being sent than for their bytes.
  static constexpr std::size_t small = std::size_t{64} << 10U;

  constexpr explicit completion(Backend& b) : backend_(&b) {}

  /// After finish(), `completed` finds the sum of `g` there without sending anything. `where` tells the cuts, `parameter`
  /// whose gradient it is (as for operation). A gradient in memory that nobody else holds is completed in place.
  template <class T>
  constexpr void add(cotangent<Backend> const& g, sharding const& where, std::array<char const*, 3> const& parameter) {
    if (!g.memory || g.partial == 0 || g.memory->completed_axes == g.partial) return;
    mesh_shape const& mesh = backend_->ranks().mesh();
    auto const n = where.local_size(mesh);
    if (static_cast<std::size_t>(n) * sizeof(T) <= small) {
      small_.push_back({g.memory, g.partial, &where, parameter, element_of<T>, n, times()});
      return;
    }
    operation<Backend> const here(*backend_, "gradient", where, parameter);
    steps const way = derive_completion(mesh, where, g.partial);
    if (g.memory.unique() && way.size == 1 && way[0].kind == step_kind::all_reduce) {
      T* const p = data_of<T>(g.memory);
      started_.push_back(backend_->start_all_reduce(way[0].axes, combine::sum, static_cast<T const*>(p), p,
                                                    static_cast<std::size_t>(n)));
      g.memory->completed_axes = g.partial;
    } else {
      completed<T>(where, g.partial, g.memory);
    }
  }

  /// Returns when all that was added is complete.
  constexpr void finish() {
    for (std::size_t first = 0; first < small_.size(); ++first) {
      if (!small_[first].memory) continue;  // went with an earlier one
      switch (small_[first].type) {
        case element::f32: send_together<float>(first); break;
        case element::f64: send_together<double>(first); break;
        case element::bf16: send_together<bfloat16>(first); break;
        default: break;
      }
    }
    small_.clear();
    for (auto& s : started_) backend_->wait(s);
    started_.clear();
  }

 private:
  struct waiting {
    buffer<Backend> memory;
    axis_mask partial;
    sharding const* where;
    std::array<char const*, 3> parameter;
    element type;
    index elements;
    index times;  // on a trace: for how many equal layers it stands
  };
  [[nodiscard]] constexpr index times() const {
    if constexpr (Backend::holds_data)
      return 1;
    else
      return static_cast<index>(backend_->times());
  }

  // Those of the first one's type and axes, in one all-reduce. Their sums lie in its message.
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
    operation<Backend> const alone(*backend_, count == 1 ? "gradient" : nullptr, count == 1 ? *small_[first].where : several,
                                   small_[first].parameter);
    auto const message = make_buffer<T>(*backend_, total);
    index at = 0;
    each([&](waiting const& s) {
      copy_all<T>(data_of<T>(message, at), data_of<T>(s.memory), s.elements);
      at += s.elements;
    });
    T* const p = data_of<T>(message);
    backend_->all_reduce(axes, combine::sum, static_cast<T const*>(p), p, static_cast<std::size_t>(total));
    at = 0;
    each([&](waiting& s) {
      s.memory->completed = part_of<T>(message, at);
      s.memory->completed_axes = axes;
      at += s.elements;
      s.memory = {};
    });
  }
  template <class T>
  constexpr void copy_all(T* to, T const* from, index n) {
    loops<2> const flat{.rank = 1, .extent = {n}, .stride = {extents{1}, extents{1}}};
    backend_->copy(flat, to, from);
  }

  static constexpr sharding several{};
  Backend* backend_;
  std::vector<waiting> small_;
  std::vector<typename Backend::request> started_;
};

}  // namespace mtf::detail
