#pragma once
// A body that is applied at one position of a dimension after the other, with a state that it hands on.
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/autodiff/recompute.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/refused.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/tensor/arranged.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/train/scan.hpp>

namespace mtf {

/// The dimension along which scan goes is split.
template <class Dim, class Layout>
struct error_scanned_is_split : detail::failed {};
/// The body of a scan along a dimension returns no pair of a state and a tensor without the dimension.
template <class Returned>
struct error_step_is_no_pair : detail::failed {};
/// The body of a scan along a dimension returns a state of another type than it takes.
template <class Returned, class Taken>
struct error_carry_differs : detail::failed {};

/// What a step of a scan along a dimension returns: the state that it hands on, and what it finds. So is the scan's.
template <class Carry, class Result>
struct scanned {
  Carry carry;
  Result result;
  /// The state a tensor or a structure of tensors, the result a tensor.
  MTF_FIELDS(carry, result);
};
template <class Carry, class Result>
scanned(Carry, Result) -> scanned<Carry, Result>;

/// What is said of it, when a program is compiled, and when it runs.
#define MTF_SAYS_SCANNED_IS_SPLIT                                                                                 \
  "mtf: scan takes one position of a dimension after the other, so no axis may split it: bring it into a layout " \
  "that does not, by mtf::relayout<Layout>(x)"
#define MTF_TELLS_SCANNED_IS_SPLIT                                                                                \
  "mtf: scan takes one position of a dimension after the other, so no axis may split it: bring it into a layout " \
  "that does not, by a relayout"  ///< when it runs

namespace detail {

template <class D, class L, class... By>
struct require<error_scanned_is_split<D, L>, By...> {
  static_assert(never<D, L>, MTF_SENTENCE(MTF_SAYS_SCANNED_IS_SPLIT, D, L));
};
template <class R, class... By>
struct require<error_step_is_no_pair<R>, By...> {
  static_assert(never<R>,
                MTF_SENTENCE("mtf: the body of a scan along a dimension returns mtf::scanned{carry, result}, or a "
                             "std::pair of them: the state, as it was given, and a tensor without the dimension",
                             R));
};
template <class R, class C, class... By>
struct require<error_carry_differs<R, C>, By...> {
  static_assert(never<R, C>,
                MTF_SENTENCE("mtf: the body of a scan along a dimension hands on a state of the type that it is given; "
                             "reduce one that is partial, by mtf::complete; error_carry_differs<returned, given>",
                             R, C));
};

/// What reads or writes one position of a dimension, where that is not split.
template <std::size_t N, std::size_t Results = 1>
struct position_work : operation_work<N, Results> {
  rows x;  // the shard along the dimension

  constexpr void goes_along(std::uint64_t id, sharding const& s, mesh_shape const& mesh) {
    x = rows_along(s, s.find(id), mesh);
  }
  /// Between one position of the whole and a tensor of it alone.
  [[nodiscard]] constexpr loops<2> copied(bool from_whole) const {
    extents const in_whole{x.n * x.inner, 1}, alone{x.inner, 1};
    return collapsed(loops<2>{.ndim = 2,
                              .extent = {x.outer, x.inner},
                              .stride = {from_whole ? alone : in_whole, from_whole ? in_whole : alone}});
  }
};

/// x once more, in the same memory, and one position of it. Each position is read from what the step before returned:
/// so on the way back the gradient of all of x is one piece of memory, into which each step writes its part.
template <class T>
struct position_operation {
  position_work<1, 2> const* work;
  index at;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "scan"; }

  constexpr void forward(auto& f) const {
    f.out = f.memory();
    f.run(primitives::copy<T, T>{work->copied(true), f.template y<1>(), data_of<T>(f.memory(), at * work->x.inner)});
  }
  constexpr void backward(auto& g) const {
    auto const& so_far = g.g.memory;
    index const n = work->in[0].local_size(g.mesh());
    if (!so_far) {
      g.run(primitives::fill<T>{g.dx(), n, T(0)});
    } else if (so_far.unique()) {
      so_far->sum.forget();
      g.set_dx(so_far);
    } else {
      g.set_dx(copy_of<T>(so_far, n));
    }
    if (!g.template arrived<1>()) return;
    g.run(primitives::copy<T, T>{work->copied(false), moved(g.dx(), at * work->x.inner), g.template dy<1>()});
  }
};
template <class D>
struct position_rule {
  static constexpr bool takes_pads = true;
  static constexpr position_work<1, 2> derive(mesh_shape const& mesh, sharding const& x) {
    position_work<1, 2> w;
    w.in = {x};
    w.goes_along(D::id, x, mesh);
    w.out = x;
    for (int d = 0; d < x.ndim; ++d)
      if (x[d].id != D::id) w.further[0].push(x[d]);
    w.further[0].partial = x.partial;
    return w;
  }
};

/// The first of the tensors that become one along a dimension. Of the other operand only how long that is is asked.
template <class T>
struct first_position_operation {
  position_work<2> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "scan"; }

  constexpr void forward(auto& f) const {
    T* const y = f.y();
    f.run(primitives::fill<T>{y, work->out.local_size(f.mesh()), T(0)});
    f.run(primitives::copy<T, T>{work->copied(false), y, f.template x<1>()});
  }
  constexpr void backward(auto& g) const {
    if (g.template wants<1>()) g.run(primitives::copy<T, T>{work->copied(true), g.template dx<1>(), g.dy()});
  }
};
template <class D>
struct first_position_rule {
  static constexpr bool takes_pads = true;
  static constexpr finding wrong(auto const&...) { return {}; }
  static constexpr position_work<2> derive(mesh_shape const& mesh, sharding const& like, sharding const& x) {
    position_work<2> w;
    w.in = {like, x};
    w.out.push(like[like.find(D::id)]);
    for (int d = 0; d < x.ndim; ++d) w.out.push(x[d]);
    w.out.partial = x.partial;
    w.goes_along(D::id, w.out, mesh);
    return w;
  }
};
/// One more of them, written where those before it are. Backward the gradient of these is the same memory: they do not
/// read this position.
template <class T>
struct next_position_operation {
  position_work<2> const* work;
  index at;
  static constexpr std::size_t kept = 0;
  static constexpr bool uses_up = true;
  static constexpr char const* name() { return "scan"; }

  constexpr void forward(auto& f) const {
    f.y_from_x();
    f.run(primitives::copy<T, T>{work->copied(false), data_of<T>(f.out, at * work->x.inner), f.template x<1>()});
  }
  constexpr void backward(auto& g) const {
    if (g.wants()) g.set_dx(g.g.memory);
    if (g.template wants<1>())
      g.run(primitives::copy<T, T>{work->copied(true), g.template dx<1>(),
                                   static_cast<T const*>(data_of<T>(g.g.memory, at * work->x.inner))});
  }
};
template <class D>
struct next_position_rule {
  static constexpr bool takes_pads = true;
  static constexpr position_work<2> derive(mesh_shape const& mesh, sharding const& all, sharding const& x) {
    position_work<2> w;
    w.in = {all, x};
    w.out = all;
    w.out.partial = all.partial & x.partial;
    w.complete = {all.partial & ~w.out.partial, x.partial & ~w.out.partial};
    w.goes_along(D::id, all, mesh);
    return w;
  }
};

/// The positions of a tensor, or of several, one after the other.
template <class D, class X>
class positions_read {
  using T = typename X::element_type;
  using whole = decltype(complete(std::declval<X const&>()));
  using described_x = typename whole::description;
  using rule = position_rule<D>;
  using one =
      typename result_description<T, out_of<rule, 1, described_x>, concat_t<typename X::shape_type>, described_x>::type;

 public:
  constexpr explicit positions_read(X const& x) : x_(complete(x)) {}
  constexpr auto next(index at) {
    auto [all, here] = run_as<list<described_x, one>, rule>(position_operation<T>{nullptr, at}, x_);
    x_ = all;
    return here;
  }
  [[nodiscard]] constexpr whole const& first() const { return x_; }
  template <class F>
  constexpr void each(F const& f) const {
    f(x_);
  }

 private:
  whole x_;
};
template <class D, class... X>
class positions_read<D, std::tuple<X...>> {
 public:
  constexpr explicit positions_read(std::tuple<X...> const& x) : each_(x) {}
  constexpr auto next(index at) {
    return std::apply([&](auto&... one) { return std::tuple(one.next(at)...); }, each_);
  }
  [[nodiscard]] constexpr auto const& first() const { return std::get<0>(each_).first(); }
  template <class F>
  constexpr void each(F const& f) const {
    std::apply([&](auto const&... one) { (one.each(f), ...); }, each_);
  }

 private:
  std::tuple<positions_read<D, X>...> each_;
};

/// Tensors, each at one position, as one.
template <class D, class Like, class X>
class positions_written {
  using T = typename X::element_type;
  using first_rule = first_position_rule<D>;
  using dims = concat_t<shape<D>, typename X::shape_type>;
  using out = typename result_description<T, out_of<first_rule, 0, typename Like::description, typename X::description>,
                                          dims, typename X::description, typename Like::description>::type;

 public:
  using type = typename out::template on<typename X::backend_type>;
  constexpr void put(Like const& like, X const& x, index at) {
    if (at == 0)
      all_ = run_as<out, first_rule>(first_position_operation<T>{nullptr}, like, x);
    else
      all_ = run_as<out, next_position_rule<D>>(next_position_operation<T>{nullptr, at}, std::move(all_), x);
  }
  [[nodiscard]] constexpr type const& all() const { return all_; }

 private:
  type all_;
};

/// What a body returns.
template <class Returned>
struct step_types {
  static constexpr bool are = false;
};
template <class C, class R>
struct step_types<std::pair<C, R>> {
  static constexpr bool are = tensor_type<R>;
  using carry = C;
  using result = R;
};
template <class C, class R>
struct step_types<scanned<C, R>> : step_types<std::pair<C, R>> {};
template <class C, class R>
constexpr C const& carry_in(std::pair<C, R> const& step) {
  return step.first;
}
template <class C, class R>
constexpr C const& carry_in(scanned<C, R> const& step) {
  return step.carry;
}
template <class C, class R>
constexpr R const& result_in(std::pair<C, R> const& step) {
  return step.second;
}
template <class C, class R>
constexpr R const& result_in(scanned<C, R> const& step) {
  return step.result;
}

/// The verdict on a tensor along which a scan goes.
template <class D, class X>
auto scanned_verdict() {
  using names = named_dims_t<typename X::shape_type, D>;
  if constexpr (!names::value)
    return names{};
  else if constexpr (by_value<X>)
    return ok{};
  else
    return std::conditional_t<X::spec[X::spec.find(D::id)].split.size == 0, ok,
                              error_scanned_is_split<D, typename X::layout_type>>{};
}
template <class D, class Xs>
struct scanned_verdicts {
  using type = decltype(scanned_verdict<D, Xs>());
};
template <class D, class... X>
struct scanned_verdicts<D, std::tuple<X...>> {
  using type = first_failed_t<decltype(scanned_verdict<D, X>())...>;
};

/// The steps of a scan along a dimension, in the place of layers.
template <class Look>
struct time_steps {
  Look const* look;  // the tape on which a step is recorded
  std::size_t n;
  struct step {
    Look const* look;
    constexpr auto* tape_at(auto const& x) const { return (*look)(x); }
  };
  [[nodiscard]] constexpr std::size_t size() const { return n; }
  constexpr step operator[](std::size_t) const { return {look}; }
};

template <class D, class Carry, class Xs, class Body>
constexpr auto scan_positions(Carry const& from, Xs const& xs, Body const& body) {
  positions_read<D, Xs> read(xs);
  using like = std::remove_cvref_t<decltype(read.first())>;
  using returned = std::remove_cvref_t<decltype(body(from, read.next(0), std::size_t{}))>;
  using result = typename step_types<returned>::result;
  using backend_type = typename result::backend_type;
  index n = -1;
  read.each([&](auto const& x) {
    auto const& along = place_of(x).spec()[place_of(x).spec().find(D::id)];
    if constexpr (by_value<std::remove_cvref_t<decltype(x)>>)
      if (along.split.size > 0) layout_is_wrong(MTF_TELLS_SCANNED_IS_SPLIT, named(along), "scan");
    if (n >= 0 && n != along.logical())
      layout_is_wrong(MTF_SAYS_TWO_EXTENTS, named(along) + ", " + std::to_string(n), "scan");
    n = along.logical();
  });
  positions_written<D, like, result> written;
  auto const step = [&](auto const&, Carry const& carry, std::size_t at) -> Carry {
    auto const made = body(carry, read.next(static_cast<index>(at)), at);
    written.put(read.first(), result_in(made), static_cast<index>(at));
    return carry_in(made);
  };
  auto const steps = static_cast<std::size_t>(n);
  Carry carry = from;
  if constexpr (std::is_same_v<backend_type, trace>) {
    trace& b = read.first().backend();
    if (n > 1) b.found_layers_to_differ();  // the first step makes memory that the others use
    auto const look = [&](Carry const& x) {
      auto* t = tape_of_argument<trace>(x);
      if (t == nullptr && !written.all().empty()) t = tape_of_argument<trace>(written.all());
      return t;
    };
    carry = scan_traced(b, time_steps<decltype(look)>{&look, steps}, from, step);
  } else {
    for (std::size_t at = 0; at < steps; ++at) carry = step(0, carry, at);
  }
  return scanned<Carry, typename positions_written<D, like, result>::type>{carry, written.all()};
}

}  // namespace detail

/// A recurrence: body(carry, x, i) is called for each position of D in order, with the state that it returned for the
/// one before, first `from`, and with xs at that position; `auto const [last, ys] = mtf::scan<time>(state, xs, cell)`.
/// It returns mtf::scanned{carry, result}, or a std::pair. The scan's is the last state, and the results as one tensor
/// whose first dimension is D. The state is a tensor or a structure of tensors (MTF_FIELDS), of one type; xs a tensor
/// or a std::tuple of them, of which body gets a std::tuple; its number is for naming random numbers.
///
/// Gradients flow through the states, and each step keeps what its operations keep: of `recompute(cell{}, p, carry, x)`
/// inside of body the arguments alone. xs is reduced first, and each step copies its part; nothing else is sent but by
/// body. In a plan of many steps they are a loop.
///
/// Refused: a D that xs lacks, or that is split (where layouts are values that is a user_error); a state of another
/// type than was given; results that have D.
template <dimension D, class Carry, class Xs, class Body>
constexpr auto scan(Carry const& from, Xs const& xs, Body const& body) {
  if constexpr (std::is_same_v<Carry, refused> || std::is_same_v<Xs, refused>) {
    return scanned{refused{}, refused{}};
  } else {
    using names = typename detail::scanned_verdicts<D, Xs>::type;
    if constexpr (!names::value) {
      detail::require<names>{};
      return scanned{refused{}, refused{}};
    } else {
      using x = decltype(std::declval<detail::positions_read<D, Xs>&>().next(0));
      using callable = detail::callable_t<Body, Carry const&, x const&, std::size_t const&>;
      if constexpr (!callable::value) {
        detail::require<callable>{};
        return scanned{refused{}, refused{}};
      } else {
        using returned = std::remove_cvref_t<decltype(body(from, std::declval<x const&>(), std::size_t{}))>;
        using step = detail::step_types<returned>;
        if constexpr (std::is_same_v<returned, refused>) {
          return scanned{refused{}, refused{}};
        } else if constexpr (!step::are) {
          detail::require<error_step_is_no_pair<returned>>{};
          return scanned{refused{}, refused{}};
        } else if constexpr (!std::is_same_v<typename step::carry, Carry>) {
          detail::require<error_carry_differs<typename step::carry, Carry>>{};
          return scanned{refused{}, refused{}};
        } else if constexpr (step::result::shape_type::template has<D>) {
          detail::require<error_dim_already_there<D, typename step::result::shape_type>>{};
          return scanned{refused{}, refused{}};
        } else {
          return detail::scan_positions<D>(from, xs, body);
        }
      }
    }
  }
}

}  // namespace mtf
