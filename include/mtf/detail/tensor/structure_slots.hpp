#pragma once
// The slots of several tensors, or of all in a structure, whatever their elements.
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <vector>

#include <mtf/backend/ref.hpp>
#include <mtf/core/element.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/stack.hpp>

namespace mtf::detail {

/// The slots of a structure's tensors in the order of a walk, null where a tensor is not tracked. Tensors of integers
/// have none.
template <class Backend>
class structure_slots {
  template <class T>
  using slots = std::vector<ref<gradient_slot<Backend, T>>>;

 public:
  template <class T>
  constexpr void push(ref<gradient_slot<Backend, T>> const& slot) {
    std::get<slots<T>>(all_).push_back(slot);
  }
  /// f(slot), of those of one element type after those of another.
  template <class F>
  constexpr void each(F const& f) const {
    auto const of_type = [&](auto const& some) {
      for (auto const& slot : some) f(slot);
    };
    std::apply([&](auto const&... some) { (of_type(some), ...); }, all_);
  }
  /// Visits slots beside the tensors of another structure like that which they are from.
  class reader {
   public:
    constexpr explicit reader(structure_slots const& of) : of_(&of) {}
    template <class T>
    constexpr ref<gradient_slot<Backend, T>> const& next() {
      return std::get<slots<T>>(of_->all_)[std::get<position<T>>(at_).now++];
    }

   private:
    template <class T>
    struct position {
      std::size_t now = 0;
    };
    structure_slots const* of_;
    std::tuple<position<double>, position<float>, position<bfloat16>> at_{};
  };

 private:
  std::tuple<slots<double>, slots<float>, slots<bfloat16>> all_{};
};

/// f(tensor) for each tensor of a structure, or of other tensors beside them: in constant expressions too.
template <class F, class S, class... Rest>
constexpr void each_tensor(F const& f, S& s, Rest&... rest) {
  auto const visit = [&](path const&, auto&... x) { f(x...); };
  walk(static_cast<void*>(nullptr), visit, nullptr, s, rest...);
}

/// What holds and computes the tensors of a structure; void if it has none.
template <class X>
struct backend_in {
  using type = void;
};
template <class X>
using backend_in_t = typename backend_in<std::remove_cv_t<X>>::type;
template <class X>
  requires requires { typename X::backend_type; }
struct backend_in<X> {
  using type = typename X::backend_type;
};
template <class T, std::size_t N>
struct backend_in<std::array<T, N>> : backend_in<T> {};
template <class Count, class T>
struct backend_in<stack<Count, T>> : backend_in<T> {};
template <fields X>
struct backend_in<X> {
  template <class... Field>
  static auto first(list<Field...>) {
    using found =
        concat_t<std::conditional_t<std::is_void_v<backend_in_t<Field>>, list<>, list<backend_in_t<Field>>>...,
                 list<void>>;
    return std::type_identity<typename found::template at<0>>{};
  }
  using type = typename decltype(first(field_types<X>{}))::type;
};

}  // namespace mtf::detail
