#pragma once
// What custom_vjp puts on the tape.
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/autodiff/gradient.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/ops/derived.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/structure_slots.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/tensor/stack.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// What a forward returns: the result, and what it gives its backward.
struct nothing_besides {};
template <class Found>
struct found_forward {
  using result = Found;
  using residuals = nothing_besides;
};
template <class Y, class R>
struct found_forward<std::pair<Y, R>> {
  using result = Y;
  using residuals = R;
};
template <class Found>
constexpr auto residuals_in(Found const&) {
  return nothing_besides{};
}
template <class Y, class R>
constexpr R residuals_in(std::pair<Y, R> const& found) {
  return found.second;
}

/// Has an argument of this type a gradient?
template <class A>
constexpr bool is_differentiable() {
  if constexpr (tensor_type<A>)
    return is_floating<typename A::element_type>;
  else
    return (fields<A> || are_layers<A>) && !std::is_void_v<backend_in_t<A>>;
}
template <class... A>
using differentiable_t = concat_t<list<>, std::conditional_t<is_differentiable<A>(), list<A>, list<>>...>;

// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void cotangent_lies_differently(dim_state const& d) {
  throw user_error("custom_vjp: the cotangent of an operand is split along " + std::string(d.name) +
                   " as the operand is not, or has another extent there: bring it into the operand's layout by "
                   "mtf::relayout<Layout>(x)");
}

/// Where the sum of a tensor's terms lies.
template <class X>
constexpr tensor_place<whole_t<X>> whole_place_of(X const& x) {
  if constexpr (by_value<X>)
    return tensor_place<whole_t<X>>(*derived_for<complete_call>(nullptr, x).out);
  else
    return {};
}

/// The tensors that cotangents are for: their slots, and how each lies. (A slot's own sharding may be another:
/// split_dim and merge_dims that send nothing give their operand's slot.)
template <class Backend>
class vjp_operands {
 public:
  template <class X>
  constexpr void push(X const& x) {
    ref<gradient_slot<Backend, typename X::element_type>> slot;
    if (!x.empty()) slot = x.value().slot;
    slots_.push(slot);
    lie_.push_back(x.empty() ? nullptr : &place_of(x).spec());
  }
  class reader {
   public:
    constexpr explicit reader(vjp_operands const& of) : slots_(of.slots_), lies_(of.lie_.begin()) {}
    template <class T>
    constexpr auto next() {
      return std::pair(slots_.template next<T>(), *lies_++);
    }

   private:
    typename structure_slots<Backend>::reader slots_;
    std::vector<sharding const*>::const_iterator lies_;
  };

 private:
  structure_slots<Backend> slots_;
  std::vector<sharding const*> lie_;
};

/// A call on the tape with a backward of its own.
template <class Back, class Residuals, class Backend, class Y, class Operands>
class custom_vjp_node {
 public:
  /// `like_y`: the result, in memory of no bytes.
  constexpr custom_vjp_node(Back const& back, Residuals const& residuals, Y const& like_y, structure_slots<Backend> out,
                            vjp_operands<Backend> in)
      : back_(back), residuals_(residuals), like_y_(like_y), out_(std::move(out)), in_(std::move(in)) {}
  constexpr void run() {
    bool wanted = false;
    out_.each([&](auto const& slot) { slot->each([&](auto const&) { wanted = true; }); });
    if (!wanted) return;
    reader from(out_);
    operands to(in_);
    if constexpr (std::is_same_v<Residuals, nothing_besides>)
      deliver_all(back_(gradient_of_result(from)), to);
    else
      deliver_all(back_(std::as_const(residuals_), gradient_of_result(from)), to);
  }

 private:
  using reader = typename structure_slots<Backend>::reader;
  using operands = typename vjp_operands<Backend>::reader;

  constexpr auto gradient_of_result(reader& from) const {
    if constexpr (tensor_type<Y>) {
      return gradient_of(like_y_, from);
    } else {
      Y g = like_y_;
      each_tensor([&](auto& tensor) { tensor = gradient_of(tensor, from); }, g);
      return g;
    }
  }
  /// Reduced; zeros where none arrived, and of what has none.
  template <class X>
  static constexpr whole_t<X> gradient_of(X const& like_x, reader& from) {
    using T = typename X::element_type;
    auto& b = like_x.backend();
    auto const place = whole_place_of(like_x);
    operation<Backend> const here(b, "custom_vjp", place.spec());
    if constexpr (is_floating<T>) {
      auto g = from.template next<T>()->take(0);
      if (g.memory) return place.tensor(value<Backend, T>(g.memory));
    }
    return filled(b, place, 0);
  }

  template <class Returned>
  constexpr void deliver_all(Returned const& cotangents, operands& to) const {
    if constexpr (is_tuple<Returned>)
      std::apply([&](auto const&... one) { each(static_cast<Operands const*>(nullptr), to, one...); }, cotangents);
    else
      each(static_cast<Operands const*>(nullptr), to, cotangents);
  }
  template <class... X, class... C>
  static constexpr void each(list<X...> const*, operands& to, C const&... cotangents) {
    (deliver<X>(cotangents, to), ...);
  }
  template <class X, class C>
  static constexpr void deliver(C const& cotangent, operands& to) {
    if constexpr (tensor_type<X>) {
      deliver_tensor<X>(cotangent, to);
    } else {
      each_tensor(
          [&](auto const& tensor) {
            using U = std::remove_cvref_t<decltype(tensor)>;
            if constexpr (is_floating<typename U::element_type>) deliver_tensor<U>(tensor, to);
          },
          cotangent);
    }
  }
  template <class X, class C>
  static constexpr void deliver_tensor(C const& cotangent, operands& to) {
    using T = typename X::element_type;
    auto const [slot, operand] = to.template next<T>();
    if (!slot || cotangent.empty()) return;
    auto const g = transposed(static_cast<typename X::shape_type const*>(nullptr), cotangent);
    auto const& lies = place_of(g).spec();
    for (int d = 0; d < lies.ndim; ++d)
      if (auto const& wanted = (*operand)[d]; !(wanted.split == lies[d].split) || wanted.extent != lies[d].extent)
        cotangent_lies_differently(wanted);
    if constexpr (!Backend::holds_data)
      if (slot->parameter >= 0) g.backend().differentiated(slot->parameter, slot->where(), sizeof(T));
    slot->add({g.value().memory, lies.partial});
  }

  Back back_;
  Residuals residuals_;
  Y like_y_;
  structure_slots<Backend> out_;
  vjp_operands<Backend> in_;
};

/// An argument's tensors, if it has a gradient.
template <class Backend, class A>
constexpr void push_operands([[maybe_unused]] vjp_operands<Backend>& all, [[maybe_unused]] A const& a) {
  if constexpr (is_differentiable<A>())
    each_tensor(
        [&](auto const& x) {
          if constexpr (is_floating<typename std::remove_cvref_t<decltype(x)>::element_type>) all.push(x);
        },
        a);
}

}  // namespace mtf::detail
