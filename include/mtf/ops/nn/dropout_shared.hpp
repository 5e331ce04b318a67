#pragma once
// Dropout that drops whole stretches.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/primitives/random.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/nn/dropout.hpp>

namespace mtf {

namespace detail {

struct shared_dropout_work : operation_work<1> {
  std::array<bool, max_dims> shared{};  // dimensions that positions in the mask do not depend on

  [[nodiscard]] constexpr placement placed(mesh_shape const& mesh, int rank) const {
    placement p;
    p.local.ndim = this->out.ndim;
    index stride = 1;
    for (int d = this->out.ndim; d-- > 0;) {
      auto const at = static_cast<std::size_t>(d);
      p.local.extent[at] = this->out.local_extent(d, mesh);
      if (shared[at]) continue;
      p.local.stride[0][at] = stride;
      p.offset += shard_offset(this->out, d, mesh, rank) * stride;
      stride *= this->out[d].logical();
    }
    p.local = collapsed(p.local);
    return p;
  }
};

template <class T>
struct shared_dropout_operation {
  shared_dropout_work const* work;
  std::uint64_t key;
  double rate;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "dropout"; }

  constexpr void forward(auto& f) const {
    f.run(primitives::dropout<T>{work->placed(f.mesh(), f.rank()), key, rate, f.y(), f.x()});
  }
  constexpr void backward(auto& g) const {
    g.run(primitives::dropout<T>{work->placed(g.mesh(), g.rank()), key, rate, g.dx(), g.dy()});
  }
};

template <class... D>
struct shared_dropout_call {
  double rate;
  random_key key;

  template <class X>
  static auto verdict() -> first_failed_t<named_dims_t<typename X::shape_type, D...>, floating_t<X>>;
  static constexpr bool takes_pads = true;
  static constexpr shared_dropout_work derive(mesh_shape const&, sharding const& x) {
    shared_dropout_work w;
    w.in = {x};
    w.out = x;
    ((w.shared[static_cast<std::size_t>(x.find(D::id))] = true), ...);
    return w;
  }
  template <class X>
  constexpr X operator()(X const& x) const {
    check_dropout_rate(rate);
    if (rate == 0) return x;
    using T = typename X::element_type;
    return run_as<typename X::description, shared_dropout_call>(shared_dropout_operation<T>{nullptr, key.bits(), rate},
                                                                x);
  }
};

}  // namespace detail

/// The same with one draw for all positions along the named dimensions, as for whole tokens, channels or paths
/// (TensorFlow's noise_shape): the mask is that of a tensor without them.
template <dimension First, dimension... More, operand X>
constexpr auto dropout(X const& x, double rate, random_key key) {
  return detail::operate(detail::shared_dropout_call<First, More...>{rate, key}, x);
}

}  // namespace mtf
