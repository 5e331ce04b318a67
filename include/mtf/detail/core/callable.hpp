#pragma once
// Whether a user's function takes what it would be given.
#include <type_traits>
#include <utility>

#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>

namespace mtf {

/// A function cannot be called with the arguments that it would get.
template <class Function, class... Arguments>
struct error_not_callable : detail::failed {};

}  // namespace mtf

namespace mtf::detail {

template <class F, class... A, class... By>
struct require<error_not_callable<F, A...>, By...> {
  static_assert(never<F, A...>, MTF_SENTENCE("mtf: a function cannot be called with the arguments that it would get; "
                                             "error_not_callable<function, arguments...>",
                                             F, A...));
};

struct none_fits {};
/// F with one more overload, which takes anything and is the compiler's last choice.
template <class F>
struct or_none_fits : F {
  using F::operator();
  none_fits operator()(...) const;
};
/// The verdict on a call that is chosen but whose function does not compile. `require` makes the call, so that the
/// compiler reports that error; Clang does not repeat one that it has reported before.
template <class F, class... Args>
struct call_fails : failed {};
template <class F, class... Args, class... By>
struct require<call_fails<F, Args...>, By...> {
  using said = decltype(std::declval<or_none_fits<F> const&>()(std::declval<Args>()...));
};
template <class F, class... Args>
auto callable_verdict() {
  if constexpr (sizeof...(Args) > 0 && std::is_class_v<F> && !std::is_final_v<F>) {
    if constexpr (!std::is_invocable_v<or_none_fits<F> const&, Args...>)
      return call_fails<F, Args...>{};
    else if constexpr (std::is_same_v<std::invoke_result_t<or_none_fits<F> const&, Args...>, none_fits>)
      return error_not_callable<F, std::remove_cvref_t<Args>...>{};
    else
      return ok{};
  } else {
    return std::conditional_t<std::is_invocable_v<F const&, Args...>, ok,
                              error_not_callable<F, std::remove_cvref_t<Args>...>>{};
  }
}
/// The verdict on calling f: error_not_callable where none of its call operators takes such arguments. is_invocable
/// cannot tell that from a function whose body does not compile.
template <class F, class... Args>
using callable_t = decltype(callable_verdict<F, Args...>());

}  // namespace mtf::detail
