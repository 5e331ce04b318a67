#pragma once
// Dropout.
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/random.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/random.hpp>

namespace mtf {

namespace detail {

/// Dropout is its own gradient: the mask is drawn again from the key, not stored.
template <class Backend, class T>
class dropout_node {
 public:
  constexpr dropout_node(sharding const& s, std::uint64_t key, double rate, ref<gradient_slot<Backend, T>> const& in,
                         ref<gradient_slot<Backend, T>> const& out)
      : s_(&s), key_(key), rate_(rate), in_(in), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "dropout", *s_);
    auto const g = out_->take();
    if (!g.memory) return;
    auto const& mesh = b.ranks().mesh();
    auto dx = make_buffer<T>(b, s_->local_size(mesh));
    b.run(primitives::dropout<T>{placement_of(*s_, mesh, b.ranks().rank()), key_, rate_, data_of<T>(dx),
                                 data_of<T>(g.memory)});
    in_->add({std::move(dx), g.partial});
  }

 private:
  sharding const* s_;
  std::uint64_t key_;
  double rate_;
  ref<gradient_slot<Backend, T>> in_, out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_dropout(sharding const& s, std::uint64_t key, double rate, value<Backend, T> const& x) {
  Backend& b = x.backend();
  operation<Backend> const here(b, "dropout", s);
  auto const& mesh = b.ranks().mesh();
  auto out = make_value<T>(b, s.local_size(mesh));
  b.run(primitives::dropout<T>{placement_of(s, mesh, b.ranks().rank()), key, rate, out.data(), x.data()});
  record(tape_of(x), out, s, [&](auto const& slot) { return dropout_node<Backend, T>(s, key, rate, x.slot, slot); });
  return out;
}

}  // namespace detail

/// Each element is 0 with probability `rate`, else divided by 1 - rate (Srivastava et al. 2014); rate 0 is the
/// identity, rate 1 gives zeros. The rate, in [0, 1] or a user_error, is rounded to a multiple of 2^-16, in both
/// places, so that one random word serves two elements. The mask depends on the key and the global position only. A
/// partial tensor stays partial; nothing is sent.
template <operand X>
constexpr auto dropout(X const& x, double rate, random_key key) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else if constexpr (!detail::floating_t<X>::value) {
    detail::require<detail::floating_t<X>>{};
    return refused{};
  } else {
    if (!(rate >= 0 && rate <= 1))
      throw user_error("dropout: the rate is " + std::to_string(rate) + "; a probability, from 0 to 1, was expected");
    if (rate == 0) return x;
    return X(detail::run_dropout(X::spec, key.bits(), rate, x.value()));
  }
}

}  // namespace mtf
