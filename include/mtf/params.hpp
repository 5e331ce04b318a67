#pragma once
// Structures of tensors: one description, `template <template <class...> class Tensor> struct mlp`, of which parameters,
// gradients and optimizer state are instances. MTF_FIELDS makes it a Boost.Hana Struct, so that it can be walked.
#include <array>
#include <string>
#include <string_view>

#include <boost/hana/accessors.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>

#include <mtf/tensor.hpp>

// Applies MACRO to each of up to 40 arguments, separated by commas.
#define MTF_PARENS ()
#define MTF_EXPAND(...) MTF_EXPAND3(MTF_EXPAND3(MTF_EXPAND3(MTF_EXPAND3(__VA_ARGS__))))
#define MTF_EXPAND3(...) MTF_EXPAND2(MTF_EXPAND2(MTF_EXPAND2(MTF_EXPAND2(__VA_ARGS__))))
#define MTF_EXPAND2(...) MTF_EXPAND1(MTF_EXPAND1(MTF_EXPAND1(MTF_EXPAND1(__VA_ARGS__))))
#define MTF_EXPAND1(...) __VA_ARGS__
#define MTF_FOR_EACH(MACRO, ...) __VA_OPT__(MTF_EXPAND(MTF_FOR_EACH_STEP(MACRO, __VA_ARGS__)))
#define MTF_FOR_EACH_STEP(MACRO, A, ...) MACRO(A) __VA_OPT__(, MTF_FOR_EACH_AGAIN MTF_PARENS(MACRO, __VA_ARGS__))
#define MTF_FOR_EACH_AGAIN() MTF_FOR_EACH_STEP

#define MTF_ACCESSOR(NAME)                                         \
  ::boost::hana::make_pair(BOOST_HANA_STRING(#NAME), [](auto&& s) -> decltype(auto) { \
    return (static_cast<decltype(s)&&>(s).NAME);                   \
  })

/// Inside a structure of tensors, names its fields in order: tensors, other such structures, or std::arrays of these.
#define MTF_FIELDS(...)                                                                      \
  struct hana_accessors_impl {                                                               \
    static constexpr auto apply() { return ::boost::hana::make_tuple(MTF_FOR_EACH(MTF_ACCESSOR, __VA_ARGS__)); } \
  }

namespace mtf {

namespace detail {

template <class S>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;

template <class S>
concept fields = requires { typename S::hana_accessors_impl; };

template <class F, class S, class... Rest>
void walk(F& f, std::string const& path, S& s, Rest&... rest) {
  using plain = std::remove_cv_t<S>;
  if constexpr ((std::is_same_v<plain, refused> || ... || std::is_same_v<std::remove_cv_t<Rest>, refused>)) {
    return;  // the gradients of a loss that was refused
  } else if constexpr (is_array<plain>) {
    for (std::size_t i = 0; i < s.size(); ++i) walk(f, path + "." + std::to_string(i), s[i], rest[i]...);
  } else if constexpr (fields<plain>) {
    boost::hana::for_each(boost::hana::accessors<plain>(), [&](auto const& accessor) {
      auto const get = boost::hana::second(accessor);
      std::string const name = boost::hana::first(accessor).c_str();
      walk(f, path.empty() ? name : path + "." + name, get(s), get(rest)...);
    });
  } else {
    f(std::string_view(path), s, rest...);
  }
}

}  // namespace detail

/// Calls f(name, field, same field of each other structure...) for every tensor of a structure, in order of declaration.
/// Names are paths such as "blocks.3.w1".
template <class F, class S, class... Rest>
void for_each_tensor(F&& f, S& s, Rest&... rest) {
  detail::walk(f, "", s, rest...);
}

/// The number of elements of all tensors of a structure, globally.
template <class S>
std::int64_t parameter_count(S const& s) {
  std::int64_t n = 0;
  for_each_tensor([&](auto, auto const& x) { n += std::remove_cvref_t<decltype(x)>::shape_type::size; }, s);
  return n;
}

}  // namespace mtf
