#pragma once
// Rotary positions: pairs of elements are turned, by angles that positions and pairs have.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/tensor/extent.hpp>

namespace mtf {

/// Which elements of a dimension are a pair.
enum class rotary_pairs : std::uint8_t {
  halves,     // i and i + n/2, as Hugging Face's files have them
  neighbours  // 2i and 2i + 1, as the paper and Meta's files have them
};

namespace detail {

[[noreturn]] inline void is_no_pairs(std::string_view dim, std::int64_t extent) {
  throw user_error("rotary: the elements of " + std::string(dim) + " are turned in pairs, but they are " +
                   std::to_string(extent) + ", an odd number");
}

/// One of a pair, turned: x c - other s, or with the other sign.
struct turned {
  int sign;
  template <class X>
  MTF_FUNCTION constexpr X operator()(X x, X other, X cosine, X sine) const {
    return sign < 0 ? x * cosine - other * sine : x * cosine + other * sine;
  }
};
/// The same backward: each with the other's sine.
struct turned_back {
  int sign;
  template <class X>
  MTF_FUNCTION constexpr X operator()(X dy, X other, X cosine, X sine_of_other) const {
    return sign < 0 ? dy * cosine - other * sine_of_other : dy * cosine + other * sine_of_other;
  }
};

struct rotary_work : operation_work<3> {
  // Over the first of all pairs: the result, x, x again for the other of a pair, cosines, sines.
  loops<5> pairs;
  std::array<index, 4> other{};  // from the first of a pair to the other: of the result, x, cosines, sines
};

constexpr rotary_work derive_rotary(mesh_shape const& mesh, std::uint64_t dim, bool neighbours, sharding const& x,
                                    sharding const& cosines, sharding const& sines) {
  rotary_work w;
  w.in = {x, cosines, sines};
  w.out = x;
  w.complete = {0, cosines.partial, sines.partial};
  w.gradient_may_be_partial = ~0U;
  std::array<sharding const*, 4> const of{&w.out, &x, &cosines, &sines};
  auto& l = w.pairs;
  l.ndim = x.ndim;
  for (int d = 0; d < x.ndim; ++d) {
    auto const at = static_cast<std::size_t>(d);
    bool const turns = x[d].id == dim;
    auto const half = x[d].logical() / 2;  // it is not split, so that pads come last
    l.extent[at] = turns ? half : x.local_extent(d, mesh);
    for (std::size_t o = 0; o < of.size(); ++o) {
      int const e = of[o]->find(x[d].id);
      if (e < 0) continue;
      auto const stride = of[o]->local_stride(e, mesh);
      auto const step = turns && neighbours ? 2 * stride : stride;
      l.stride[o < 2 ? o : o + 1][at] = step;
      if (o == 1) l.stride[2][at] = step;
      if (turns) w.other[o] = neighbours ? stride : half * stride;
    }
  }
  l = collapsed(l);
  return w;
}

template <class T>
struct rotary_operation {
  rotary_work const* work;
  static constexpr std::size_t kept = 2;  // cosines and sines
  static constexpr char const* name() { return "rotary"; }

  constexpr void forward(auto& f) const {
    auto const& [y_other, x_other, c_other, s_other] = work->other;
    T* const y = f.y();
    T const *const x = f.x(), *const c = f.template x<1>(), *const s = f.template x<2>();
    f.run(primitives::map_of(turned{-1}, work->pairs, y, x, moved(x, x_other), c, s));
    f.run(primitives::map_of(turned{1}, work->pairs, moved(y, y_other), moved(x, x_other), x, moved(c, c_other),
                             moved(s, s_other)));
    f.kept = {f.template memory<1>(), f.template memory<2>()};
  }
  constexpr void backward(auto& g) const {
    // Of the result and x all strides are the same.
    auto const& [y_other, x_other, c_other, s_other] = work->other;
    T* const dx = g.dx();
    T const *const dy = g.dy(), *const c = data_of<T>(g.kept[0]), *const s = data_of<T>(g.kept[1]);
    g.run(primitives::map_of(turned_back{1}, work->pairs, dx, dy, moved(dy, y_other), c, moved(s, s_other)));
    g.run(primitives::map_of(turned_back{-1}, work->pairs, moved(dx, x_other), moved(dy, y_other), dy,
                             moved(c, c_other), s));
  }
};

template <class D, rotary_pairs Pairs>
struct rotary_rule {
  static constexpr bool takes_pads = true;
  static constexpr rotary_work derive(mesh_shape const& mesh, sharding const& x, sharding const& cosines,
                                      sharding const& sines) {
    return derive_rotary(mesh, D::id, Pairs == rotary_pairs::neighbours, x, cosines, sines);
  }
};

/// The verdict on a table: D, and besides only dimensions that x has.
template <class X, class D, class Table>
struct table_verdict;
template <class X, class D, class... Own>
struct table_verdict<X, D, shape<Own...>> {
  using type = first_failed_t<named_dims_t<shape<Own...>, D>, named_dims_t<X, Own...>>;
};

template <class D, rotary_pairs Pairs>
struct rotary_call {
  static constexpr char const* name = "rotary";
  template <class X, class C, class S>
  static auto verdict()
      -> first_failed_t<named_dims_t<typename X::shape_type, D>,
                        typename table_verdict<typename X::shape_type, D, typename C::shape_type>::type,
                        typename table_verdict<typename X::shape_type, D, typename S::shape_type>::type,
                        same_element_t<X, C, S>, floating_t<X>>;
  template <class X, class C, class S>
  constexpr auto operator()(X const& x, C const& cosines, S const& sines) const {
    using T = typename X::element_type;
    using rule = whole_along<D>;
    if (extent<D>(x) % 2 != 0) is_no_pairs(D::name, extent<D>(x));
    auto const whole = [](auto const& t) {
      return relaid_as<description_of<T, rule, typename std::remove_cvref_t<decltype(t)>::description>, rule>(name, t);
    };
    auto const a = whole(x);
    auto const c = whole(stop_gradient(cosines));
    auto const s = whole(stop_gradient(sines));
    auto const y = run_as<description_of<T, rotary_rule<D, Pairs>, typename decltype(a)::description,
                                         typename decltype(c)::description, typename decltype(s)::description>,
                          rotary_rule<D, Pairs>>(rotary_operation<T>{}, a, c, s);
    if constexpr (by_value<X>) {
      return relayout_call<typename X::layout_type>{}(y);
    } else if constexpr (X::spec[X::spec.find(D::id)].split.size == 0) {
      return y;
    } else {
      return relayout_call<typename X::layout_type>{}(y);
    }
  }
};

}  // namespace detail

/// Turns pairs of elements along D (Su et al. 2021, 3.2.2): the first of a pair becomes x c - y s, the other y c' + x
/// s', with the elements of `cosines` (c, c') and `sines` (s, s') at the place of each. These are tensors over D and
/// others of x's dimensions, [sequence, D] for angles that positions have; Llama's hold each angle twice. No gradient
/// goes to them. Linear in x: a partial x stays partial, nothing is sent. If D is split x is gathered along it first,
/// and what a rank does not keep is left out afterwards. Refused: a dimension that x lacks, integers or different
/// element types, operands split differently; an odd extent of D is a user_error.
template <dimension D, rotary_pairs Pairs = rotary_pairs::halves, operand X, operand Cosines, operand Sines>
constexpr auto rotary(X const& x, Cosines const& cosines, Sines const& sines) {
  return detail::operate(detail::rotary_call<D, Pairs>{}, x, cosines, sines);
}

}  // namespace mtf
