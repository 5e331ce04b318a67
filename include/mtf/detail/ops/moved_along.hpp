#pragma once
// Operations whose result is made, along one dimension, of stretches of their operands: what they derive, and both
// their passes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/growing_array.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/ops/new_dims.hpp>
#include <mtf/detail/ops/passes.hpp>
#include <mtf/detail/sharding/exchange.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/sharding/steps.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>

namespace mtf::detail {

/// A stretch of the result, and the operand that it comes from.
struct moved_stretch {
  stretch of;
  std::size_t operand = 0;
};
/// Those that are not used have `count` 0.
template <std::size_t M>
using moved_stretches = std::array<moved_stretch, M>;

/// Dimension number `dim` of the result is made of that of the operands; the others are the same in all.
template <std::size_t N>
struct moving_work : operation_work<N> {
  std::array<steps, N> gathers;  // brings all of its own dimension to each rank
  index outer = 1, inner = 1;
  int dim = 0;

  /// What follows from `in` and `out`.
  constexpr void along(mesh_shape const& mesh, int d) {
    dim = d;
    auto const r = rows_along(this->out, dim, mesh);
    outer = r.outer;
    inner = r.inner;
    axis_mask const whole = result().split.mask();
    axis_mask of_all = ~0U;
    for (std::size_t i = 0; i < N; ++i) {
      this->complete[i] = this->in[i].partial & ~this->out.partial;
      auto from = this->in[i];
      from.partial = this->out.partial;
      auto to = from;
      to[dim].split = {};
      gathers[i] = derive_relayout(mesh, from, to);
      of_all &= axes_of(i);
      this->gradient_sums[i] = whole & ~axes_of(i);
    }
    // Over an axis that splits all operands a partial gradient is reduced on its way back to them.
    this->gradient_may_be_partial = ~(axes() & ~of_all);
  }
  [[nodiscard]] constexpr dim_state const& result() const { return this->out[dim]; }
  /// The axes that split the dimension of one operand, of some, of all.
  [[nodiscard]] constexpr axis_mask axes_of(std::size_t i) const { return this->in[i][dim].split.mask(); }
  [[nodiscard]] constexpr axis_mask axes() const {
    axis_mask m = 0;
    for (std::size_t i = 0; i < N; ++i) m |= axes_of(i);
    return m;
  }
  [[nodiscard]] constexpr axis_mask axes_of_all() const {
    axis_mask m = ~0U;
    for (std::size_t i = 0; i < N; ++i) m &= axes_of(i);
    return m;
  }
  /// A stretch from an operand to the result, and back.
  [[nodiscard]] constexpr movement forward(moved_stretch const& s) const {
    return {s.of,
            dim_split_of(this->in[s.operand][dim]),
            dim_split_of(result()),
            axes_of(s.operand),
            static_cast<int>(s.operand),
            0};
  }
  [[nodiscard]] constexpr movement back(moved_stretch const& s) const {
    return {s.of.back(),
            dim_split_of(result()),
            dim_split_of(this->in[s.operand][dim]),
            result().split.mask() & axes_of(s.operand),
            0,
            static_cast<int>(s.operand)};
  }
};

/// Carries movements out on a rank, from and into tensors that have `outer` and `inner` beside their dimension.
template <class T, class Backend>
struct moving {
  Backend& b;
  movements all;
  index outer, inner;
  backend::growing_array<buffer<Backend> const*> from{}, into{};

  /// With the exchange that was derived for these movements.
  constexpr void run(exchange const& e) const {
    for (auto const& m : all) copy(m, rank(), rank(), nullptr, 0);
    index const each = outer * inner;
    for (auto const& p : e.permutes) {
      auto const out = make_buffer<T>(b, p.count * each), in = make_buffer<T>(b, p.count * each);
      pack(p.to, out, 0);
      b.communicate(collective::permute(p.axes, element_of<T>, static_cast<std::size_t>(p.count * each), p.to, p.from),
                    data_of<T>(out), data_of<T>(in));
      unpack(p.from, in, 0);
    }
    if (e.at_once()) all_at_once(e);
  }

 private:
  [[nodiscard]] constexpr mesh_shape const& mesh() const { return b.ranks().mesh(); }
  [[nodiscard]] constexpr int rank() const { return b.ranks().rank(); }

  constexpr void all_at_once(exchange const& e) const {
    auto const parts = static_cast<index>(e.sends.size());
    index const each = outer * inner, block = e.count * each;
    auto const out = make_buffer<T>(b, parts * block), in = make_buffer<T>(b, parts * block);
    auto sends = e.sends, receives = e.receives;
    for (auto& n : sends) n *= static_cast<std::size_t>(each);
    for (auto& n : receives) n *= static_cast<std::size_t>(each);
    for (int r = 0; r < mesh().size(); ++r)
      if (is_peer(e, r)) pack(r, out, mesh().index_within(r, e.axes) * block);
    b.communicate(
        collective::all_to_all(e.axes, element_of<T>, static_cast<std::size_t>(block), sends.begin(), receives.begin()),
        data_of<T>(out), data_of<T>(in));
    for (int r = 0; r < mesh().size(); ++r)
      if (is_peer(e, r)) unpack(r, in, mesh().index_within(r, e.axes) * block);
  }
  [[nodiscard]] constexpr bool is_peer(exchange const& e, int r) const {
    return r != rank() && (between(mesh(), r, rank()) & ~e.axes) == 0;
  }

  constexpr void pack(int receiver, buffer<Backend> const& message, index at) const {
    if (receiver == collective::nobody) return;
    for (auto const& m : all) at += copy(m, receiver, rank(), &message, at);
  }
  constexpr void unpack(int sender, buffer<Backend> const& message, index at) const {
    if (sender == collective::nobody) return;
    for (auto const& m : all) at += copy(m, rank(), sender, &message, at);
  }
  /// What goes from sender to receiver, one of which this rank is: into a message or out of one, or, without one, from
  /// tensor to tensor. Returns how many elements.
  constexpr index copy(movement const& m, int receiver, int sender, buffer<Backend> const* message, index at) const {
    auto const part = m.part(mesh(), receiver, sender);
    if (part.count == 0) return 0;
    index const n = outer * part.count * inner;
    auto const& s = m.of;
    auto const& target = *into[static_cast<std::size_t>(m.target)];
    auto const& source = *from[static_cast<std::size_t>(m.source)];
    loops<2> l{.ndim = 3, .extent = {outer, part.count, inner}};
    bool const packs = message != nullptr && sender == rank(), unpacks = message != nullptr && !packs;
    extents const dense{part.count * inner, inner, 1};
    l.stride = {extents{m.to.part(mesh()) * inner, s.to_step * inner, 1},
                extents{m.from.part(mesh()) * inner, s.from_step * inner, 1}};
    index to = (s.to + part.first * s.to_step - m.to.begin(mesh(), receiver)) * inner;
    index of = (s.from + part.first * s.from_step - m.from.begin(mesh(), sender)) * inner;
    if (packs) {
      l.stride[0] = dense;
      to = at;
    } else if (unpacks) {
      l.stride[1] = dense;
      of = at;
    }
    b.run(primitives::copy<T, T>{collapsed(l), data_of<T>(packs ? *message : target, to),
                                 data_of<T>(unpacks ? *message : source, of)});
    return n;
  }
};

/// The result of stretches of the operands; elsewhere it is `outside`. Each rank gets what it lacks from those that
/// have it; where gathering what is split sends less, or as much in fewer collectives, as it does where each rank wants
/// all of it, that.
template <class T, std::size_t N, std::size_t M, class Pass>
constexpr void move_forward(Pass& f, moving_work<N> const& w, moved_stretches<M> const& parts, T outside) {
  using Backend = std::remove_cvref_t<decltype(f.backend)>;
  std::array<movement, M> all{};
  std::array<index, N> used{};
  index filled = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (parts[i].of.count > 0) {
      all[i] = w.forward(parts[i]);
      used[parts[i].operand] += parts[i].of.count;
      filled += parts[i].of.count;
    }
  T* const y = f.y();
  if (filled < w.result().extent) f.run(primitives::fill<T>{y, w.out.local_size(f.mesh()), outside});

  std::uint64_t gathered = 0;
  int gathers = 0;
  bool wanted_whole = w.result().split.size == 0;
  for (std::size_t i = 0; i < N; ++i) {
    gathered += bytes_of(w.gathers[i], f.mesh(), sizeof(T));
    for (int s = 0; s < w.gathers[i].size; ++s) gathers += w.gathers[i][s].kind != step_kind::slice ? 1 : 0;
    wanted_whole = wanted_whole && used[i] == w.in[i][w.dim].logical();
  }
  if (gathers > 0 && !wanted_whole) {
    exchange const e(f.mesh(), all, f.rank());
    auto const sent = static_cast<std::uint64_t>(e.sent() * w.outer * w.inner) * sizeof(T);
    bool const as_many = sent == gathered && e.collectives() == gathers && !e.at_once();
    if (sent < gathered || as_many || (sent == gathered && e.collectives() < gathers)) {
      moving<T, Backend> go{f.backend, all, w.outer, w.inner};
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (go.from.push_back(&f.template memory<I>()), ...);
      }(std::make_index_sequence<N>{});
      go.into.push_back(&f.out);
      return go.run(e);
    }
  }
  auto const from_gathered = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    auto const whole = execute<T>(f.backend, w.gathers[I], f.template memory<I>());
    std::array<movement, M> here{};
    for (std::size_t i = 0; i < all.size(); ++i)
      if (parts[i].of.count > 0 && parts[i].operand == I) {
        here[i] = all[i];
        here[i].from.split = {};
        here[i].along = 0;
        here[i].source = 0;
      }
    moving<T, Backend> go{f.backend, here, w.outer, w.inner};
    go.from.push_back(&whole);
    go.into.push_back(&f.out);
    go.run(exchange(f.mesh(), here, f.rank()));
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (from_gathered(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<N>{});
}

/// Operand I's gradient where that of the result arrived partial over an axis that splits the operand: a rank has the
/// gradient of its positions, zeros elsewhere, and the sum of all ranks' is reduced as it is split.
template <class T, std::size_t I, std::size_t N, std::size_t M, class Pass>
constexpr void sum_back(Pass& g, moving_work<N> const& w, moved_stretches<M> const& parts, axis_mask arrived) {
  using Backend = std::remove_cvref_t<decltype(g.backend)>;
  auto from = w.in[I], to = w.in[I];
  from[w.dim].split = {};
  from.partial = arrived | w.result().split.mask();
  to.partial = from.partial & ~to.split_axes();
  index const size = from.local_size(g.mesh());
  auto const whole = make_buffer<T>(g.backend, size);
  std::array<movement, M> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (parts[i].of.count > 0 && parts[i].operand == I) {
      all[i] = w.back(parts[i]);
      all[i].to.split = {};
      all[i].along = 0;
      all[i].target = 0;
    }
  exchange const e(g.mesh(), all, g.rank());
  if (e.arrives(0) < from[w.dim].extent) g.run(primitives::fill<T>{data_of<T>(whole), size, T(0)});
  moving<T, Backend> go{g.backend, all, w.outer, w.inner};
  go.from.push_back(&g.g.memory);
  go.into.push_back(&whole);
  go.run(e);
  g.template set_dx<I>(execute<T>(g.backend, derive_relayout(g.mesh(), from, to), whole));
}

/// The gradients of the operands: each rank gets those of its positions from the ranks that have them, zeros of what
/// the result lacks. They are partial over the axes that split the result alone.
template <class T, std::size_t N, std::size_t M, class Pass>
constexpr void move_back(Pass& g, moving_work<N> const& w, moved_stretches<M> const& parts) {
  using Backend = std::remove_cvref_t<decltype(g.backend)>;
  axis_mask const arrived = g.g.partial;
  g.g.partial &= ~w.axes_of_all();
  auto const each_wanted = [&](auto const& f) {
    auto const one = [&]<std::size_t I>(std::integral_constant<std::size_t, I> i) {
      if (g.template wants<I>()) f(i);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (one(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<N>{});
  };
  if ((arrived & w.axes()) != 0) {
    each_wanted([&]<std::size_t I>(std::integral_constant<std::size_t, I>) { sum_back<T, I>(g, w, parts, arrived); });
    return;
  }
  std::array<movement, M> all{};
  std::array<buffer<Backend>, N> made{};
  moving<T, Backend> go{g.backend, all, w.outer, w.inner};
  go.from.push_back(&g.g.memory);
  for (auto const& memory : made) go.into.push_back(&memory);
  each_wanted([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (parts[i].of.count > 0 && parts[i].operand == I) all[i] = w.back(parts[i]);
    made[I] = make_buffer<T>(g.backend, w.in[I].local_size(g.mesh()));
  });
  exchange const e(g.mesh(), all, g.rank());
  each_wanted([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    index const size = w.in[I].local_size(g.mesh());
    if (e.arrives(I) * w.outer * w.inner < size) g.run(primitives::fill<T>{data_of<T>(made[I]), size, T(0)});
  });
  go.run(e);
  each_wanted([&]<std::size_t I>(std::integral_constant<std::size_t, I>) { g.template set_dx<I>(made[I]); });
}

/// An operation of one operand whose result is made of stretches that are known when it is called.
template <class T>
struct moving_operation {
  moving_work<1> const* work;
  char const* called;
  moved_stretches<2> parts;
  T outside{};
  static constexpr std::size_t kept = 0;
  [[nodiscard]] constexpr char const* name() const { return called; }

  constexpr void forward(auto& f) const { move_forward<T>(f, *work, parts, outside); }
  constexpr void backward(auto& g) const { move_back<T>(g, *work, parts); }
};

/// What operands come to in `out`, along its dimension d.
template <class... X>
constexpr auto derive_moving(mesh_shape const& mesh, int d, sharding const& out, X const&... x) {
  moving_work<sizeof...(X)> w;
  w.in = {x...};
  w.out = out;
  w.along(mesh, d);
  return w;
}
/// `To` in the place of D, as long and split as the layout says. What is not linear is complete.
template <class D, class To, bool Linear = true>
struct replacing_rule {
  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  using adds = shape<To>;

  static constexpr sharding target(auto const& layout, sharding const& x) {
    auto to = with_dim(x, x.find(D::id), dim_from<To>(layout, layout.split_of(To::id, To::kin)));
    to.partial = Linear ? x.partial & ~to.split_axes() : 0;
    return to;
  }
  static constexpr moving_work<1> derive_under(auto const& layout, mesh_shape const& mesh, sharding const& x) {
    return derive_moving(mesh, x.find(D::id), target(layout, x), x);
  }
};

}  // namespace mtf::detail
