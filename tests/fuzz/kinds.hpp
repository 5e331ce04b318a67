#pragma once
// All kinds of tensors that programs have.
#include "universe.hpp"

namespace fuzz {

template <class... D>
using over = mtf::shape<D...>;
using real_shapes = mtf::detail::list<over<>, over<a>, over<b>, over<c>, over<k>, over<a, b>, over<b, a>, over<b, c>,
                                      over<a, b, c>, over<a, c>, over<c, a>, over<c, b>, over<c, a, b>, over<a, k>,
                                      over<k, b>, over<b, k>, over<a, one>>;

/// f<T, Shape>() for each.
template <class F>
void for_each_kind(F const& f) {
  auto const each = [&]<class T, class... Shape>(T*, mtf::detail::list<Shape...>) {
    (f.template operator()<T, Shape>(), ...);
  };
  each(static_cast<double*>(nullptr), real_shapes{});
  each(static_cast<float*>(nullptr), real_shapes{});
  each(static_cast<mtf::bfloat16*>(nullptr), real_shapes{});
  each(static_cast<double*>(nullptr), mtf::detail::list<over<a, wide>, over<b, wide>, over<wide>>{});
  each(static_cast<std::int32_t*>(nullptr), mtf::detail::list<over<a>, over<c>, over<a, b>, over<a, k>>{});
  each(static_cast<std::int64_t*>(nullptr), mtf::detail::list<over<a>>{});
  each(static_cast<bool*>(nullptr), mtf::detail::list<over<a>, over<a, b>, over<a, k>>{});
}
/// f(null of the tensor's type) for the kind `of`.
template <class Backend, class F>
void with_kind(kind const& of, F const& f) {
  for_each_kind([&]<class T, class Shape>() {
    if (kind_of<T, Shape>() == of) f(static_cast<on_any<T, Shape, Backend>*>(nullptr));
  });
}

}  // namespace fuzz
