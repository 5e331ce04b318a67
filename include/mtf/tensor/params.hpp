#pragma once
// Structures of tensors: one description, `template <template <class...> class Tensor> struct mlp`, of which
// parameters, gradients and optimizer state are instances. MTF_FIELDS lists its fields, so that it can be walked, and
// makes it a Boost.Hana Struct.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/hana/fwd/core/make.hpp>
#include <boost/hana/fwd/pair.hpp>
#include <boost/hana/fwd/tuple.hpp>

#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/tensor/placeholder.hpp>
#include <mtf/tensor/stack.hpp>

// Applies MACRO to each of up to 40 arguments, separated by commas.
#define MTF_FOR_EACH(MACRO, ...) __VA_OPT__(MTF_EXPAND(MTF_FOR_EACH_STEP(MACRO, __VA_ARGS__)))
#define MTF_PARENS ()
#define MTF_EXPAND(...) MTF_EXPAND3(MTF_EXPAND3(MTF_EXPAND3(MTF_EXPAND3(__VA_ARGS__))))
#define MTF_EXPAND3(...) MTF_EXPAND2(MTF_EXPAND2(MTF_EXPAND2(MTF_EXPAND2(__VA_ARGS__))))
#define MTF_EXPAND2(...) MTF_EXPAND1(MTF_EXPAND1(MTF_EXPAND1(MTF_EXPAND1(__VA_ARGS__))))
#define MTF_EXPAND1(...) __VA_ARGS__
#define MTF_FOR_EACH_STEP(MACRO, A, ...) MACRO(A) __VA_OPT__(, MTF_FOR_EACH_AGAIN MTF_PARENS(MACRO, __VA_ARGS__))
#define MTF_FOR_EACH_AGAIN() MTF_FOR_EACH_STEP

#define MTF_ACCESSOR(NAME)                                                  \
  ::boost::hana::make_pair(::mtf::detail::field_name{[] { return #NAME; }}, \
                           [](auto&& s) -> decltype(auto) { return (static_cast<decltype(s)&&>(s).NAME); })

#define MTF_VISIT(NAME) visit(#NAME, of.NAME...)
#define MTF_FIELD_TYPE(NAME) decltype(Structure::NAME)

/// Inside a structure of tensors, names its fields in order: tensors, other such structures, or std::arrays or stacks
/// of these. It is then a Boost.Hana Struct (hana::for_each, hana::keys and so on, with their headers and
/// <boost/hana/tuple.hpp>; a program that uses none of them compiles nothing of Hana's). mtf itself calls visit_fields:
/// a function for each visitor instead of several for each field, name and accessor.
#define MTF_FIELDS(...)                                                                                           \
  struct hana_accessors_impl {                                                                                    \
    template <class Tuple = ::boost::hana::tuple_tag>                                                             \
    static constexpr auto apply() {                                                                               \
      return ::boost::hana::make<Tuple>(__VA_OPT__(MTF_FOR_EACH(MTF_ACCESSOR, __VA_ARGS__)));                     \
    }                                                                                                             \
    template <class Visit, class... Structures>                                                                   \
    static constexpr void visit_fields([[maybe_unused]] Visit const& visit, [[maybe_unused]] Structures&... of) { \
      __VA_OPT__(MTF_FOR_EACH(MTF_VISIT, __VA_ARGS__);)                                                           \
    }                                                                                                             \
    template <class Structure>                                                                                    \
    static auto field_types() -> ::mtf::detail::list<__VA_OPT__(MTF_FOR_EACH(MTF_FIELD_TYPE, __VA_ARGS__))>;      \
  }

namespace mtf {

/// A structure of tensors has no MTF_FIELDS.
template <template <template <class...> class> class Structure>
struct error_without_fields : detail::failed {};
/// The MTF_FIELDS of a structure do not name each of its tensors once.
template <template <template <class...> class> class Structure, std::size_t Tensors, std::size_t Listed>
struct error_fields : detail::failed {};

namespace detail {

template <template <template <class...> class> class S, class... By>
struct require<error_without_fields<S>, By...> {
  static_assert(never<S<list>>, "mtf: a structure of tensors does not name its fields: write MTF_FIELDS(w, b) in it");
};
template <template <template <class...> class> class S, std::size_t T, std::size_t L, class... By>
struct require<error_fields<S, T, L>, By...> {
  static_assert(
      never<S<list>>,
      "mtf: the MTF_FIELDS of a structure do not name each of its tensors once; error_fields<structure, tensors "
      "in it, tensors named>");
};

/// What a field is called, as a type: `Name`, a function without state, returns it. (Hana's own strings take a
/// character for a template argument, and longer to include.)
template <class Name>
struct field_name {
  constexpr explicit field_name(Name) {}
  static constexpr char const* c_str() { return Name{}(); }
};

template <class S>
inline constexpr bool is_structure = false;
template <template <template <class...> class> class Structure, template <class...> class Tensor>
inline constexpr bool is_structure<Structure<Tensor>> = true;

/// Stands for each tensor of a structure, so that the structure's size tells how many there are: the sizes of two such
/// structures differ by `weight` for each, whatever else is in it and however it is aligned.
inline constexpr std::size_t weight = 1 << 16;
template <std::size_t Bytes>
struct weighed {
  struct tensor_like {
    static constexpr bool counts_as_a_tensor = true;
    char bytes[Bytes];
  };
  template <class...>
  using tensor = tensor_like;
};

template <class S>
struct fields_verdict;

/// The verdict on a structure of tensors, and on those in it.
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct structure_verdict {
  using light = Structure<weighed<1>::template tensor>;
  using heavy = Structure<weighed<1 + weight>::template tensor>;

  template <class... Field, class... Light, class... Heavy>
  static auto find(list<Field...>, list<Light...>, list<Heavy...>) {
    using inside = first_failed_t<typename fields_verdict<Field>::type...>;
    constexpr std::size_t there = (sizeof(heavy) - sizeof(light)) / weight;
    constexpr std::size_t named = (std::size_t{0} + ... + ((sizeof(Heavy) - sizeof(Light)) / weight));
    if constexpr (!inside::value || there == named)
      return inside{};
    else
      return error_fields<Structure, there, named>{};
  }
  static auto find() {
    if constexpr (fields<Structure<Tensor>>)
      return find(field_types<Structure<Tensor>>{}, field_types<light>{}, field_types<heavy>{});
    else
      return error_without_fields<Structure>{};
  }
  using type = decltype(find());
};

template <class S>
struct fields_verdict {
  using type = ok;
};
template <class T, std::size_t N>
struct fields_verdict<std::array<T, N>> : fields_verdict<T> {};
template <class Count, class T>
struct fields_verdict<stack<Count, T>> : fields_verdict<T> {};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct fields_verdict<Structure<Tensor>> : structure_verdict<Structure, Tensor> {};
template <class S>
using fields_verdict_t = typename fields_verdict<S>::type;

/// Where a walk is: the names and indices on the way, innermost first.
struct path {
  path const* up = nullptr;
  char const* name = nullptr;  // null: element `index` of an array
  std::size_t index = 0;

  [[nodiscard]] std::string text() const {
    auto const here = name == nullptr ? std::to_string(index) : std::string(name);
    return up == nullptr ? here : up->text() + "." + here;
  }
  /// The last three names, innermost first, without indices.
  [[nodiscard]] constexpr parameter_path names() const {
    parameter_path last{};
    std::size_t n = 0;
    for (path const* p = this; p != nullptr && n < last.size(); p = p->up)
      if (p->name != nullptr) last[n++] = p->name;
    return last;
  }
};

/// Equal layers are an array or a stack. Where nothing is computed, only a few are visited, so that a plan's cost does
/// not grow with depth. One of them stands for all others. By `alike_layers` those that are visited besides are none,
/// the last one, or the first and the last two.
class layer_groups {
 public:
  struct group {
    std::size_t at = 0, count = 0;
  };
  constexpr layer_groups(trace const& on, std::size_t layers)
      : layers_(layers),
        first_(on.alike() == alike_layers::some ? 1 : 0),
        last_(on.alike() == alike_layers::some           ? 2
              : on.alike() == alike_layers::all_but_last ? 1
                                                         : 0) {}

  [[nodiscard]] constexpr std::size_t size() const { return apart() ? layers_ : first_ + 1 + last_; }
  [[nodiscard]] constexpr group operator[](std::size_t i) const {
    if (apart() || i < first_) return {i, 1};
    if (i == first_) return {first_, layers_ - first_ - last_};
    return {layers_ - size() + i, 1};
  }
  /// f(i) for each layer for which another one, `first_alike`, stands.
  template <class F>
  constexpr void each_not_visited(F const& f) const {
    for (std::size_t i = first_ + 1; i + last_ < layers_; ++i) f(i);
  }
  [[nodiscard]] constexpr std::size_t first_alike() const { return first_; }

 private:
  [[nodiscard]] constexpr bool apart() const { return layers_ <= first_ + last_; }
  std::size_t layers_, first_, last_;
};

// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void numbers_of_layers_differ(path const* up, std::string_view count, std::size_t a,
                                                  std::size_t b) {
  throw user_error("structures that are taken together have other numbers of layers; here: " + std::string(count) +
                   " " + std::to_string(a) + ", " + std::string(count) + " " + std::to_string(b) +
                   (up == nullptr ? "" : "; in " + up->text()));
}

/// Of stacks that are walked together: those that do not know their number of layers yet get that of the others, or of
/// the extents that `on`, a backend, was given.
template <class On, class S, class... Rest>
constexpr void size_alike([[maybe_unused]] On* on, path const* up, S& s, Rest&... rest) {
  using count = typename S::count_type;
  bool known = false;
  std::size_t n = 0;
  auto const look_at = [&](auto const& x) {
    if (!x.is_sized()) return;
    if (known && x.size() != n) numbers_of_layers_differ(up, count::name, n, x.size());
    known = true;
    n = x.size();
  };
  (look_at(s), ..., look_at(rest));
  if constexpr (!std::is_void_v<On>)
    if (!known && on != nullptr) {
      auto const given = on->layouts().extents().find(count::id, count::kin);
      if (!given) extents_here::no_extent_of(count::name);
      known = true;
      n = static_cast<std::size_t>(*given);
    }
  auto const size = [&]<class X>(X& x) {
    if (x.is_sized()) return;
    if constexpr (std::is_const_v<X>)
      not_sized(count::name);
    else if (known)
      x.resize(n);
    else
      not_sized(count::name);
  };
  (size(s), ..., size(rest));
}

template <class S>
constexpr void fill_between(layer_groups const& groups, S& s);

/// Calls f(path, field...) for each tensor. On a trace equal layers are walked by groups, as loops of its plan;
/// elements that a group's first stands for become its placeholders. `on`: a backend, or null, if there is none.
template <class On, class F, class S, class... Rest>
constexpr void walk([[maybe_unused]] On* on, F& f, path const* up, S& s, Rest&... rest) {
  using plain = std::remove_cv_t<S>;
  if constexpr ((std::is_same_v<plain, refused> || ... || std::is_same_v<std::remove_cv_t<Rest>, refused>)) {
    return;  // the gradients of a loss that was refused
  } else if constexpr (!fields_verdict_t<plain>::value) {
    require<fields_verdict_t<plain>>{};
  } else if constexpr (are_layers<plain>) {
    if constexpr (is_resizable<plain>) size_alike(on, up, s, rest...);
    if constexpr (std::is_same_v<On, trace>) {
      layer_groups const groups(*on, s.size());
      for (std::size_t g = 0; g < groups.size(); ++g) {
        auto const [at, count] = groups[g];
        path const here{up, nullptr, at};
        on->begin_loop(count);
        walk(on, f, &here, s[at], rest[at]...);
        on->end_loop();
      }
      fill_between(groups, s);
      (fill_between(groups, rest), ...);
    } else {
      for (std::size_t i = 0; i < s.size(); ++i) {
        path const here{up, nullptr, i};
        walk(on, f, &here, s[i], rest[i]...);
      }
    }
  } else if constexpr (fields<plain>) {
    auto const visit = [&](char const* name, auto&... field) {
      path const here{up, name};
      walk(on, f, &here, field...);
    };
    plain::hana_accessors_impl::visit_fields(visit, s, rest...);
  } else if (up != nullptr) {
    f(*up, s, rest...);
  } else {  // a tensor by itself
    f(path{}, s, rest...);
  }
}

/// The elements that are not walked, as another stands for them, become placeholders for it: one for all of them.
template <class S>
constexpr void fill_between([[maybe_unused]] layer_groups const& groups, [[maybe_unused]] S& s) {
  if constexpr (!std::is_const_v<S>) {
    auto const fill = [](path const&, auto& x, auto const& from) { x = placeholder_of(from); };
    std::size_t const from = groups.first_alike();
    groups.each_not_visited([&](std::size_t i) {
      if (i == from + 1)
        walk(static_cast<void*>(nullptr), fill, nullptr, s[i], std::as_const(s[from]));
      else
        s[i] = s[from + 1];
    });
  }
}

/// As for_each_tensor, for a backend; f takes the path as it is.
template <class Backend, class F, class S, class... Rest>
constexpr void walk_tensors(Backend& b, F&& f, S& s, Rest&... rest) {
  walk(&b, f, nullptr, s, rest...);
}

/// The extents that a backend was given, for walks that record nothing.
struct given_extents {
  backend::layout_table const* table;
  [[nodiscard]] constexpr backend::layout_table const& layouts() const { return *table; }
};

}  // namespace detail

/// Calls f(name, field, same field of each other structure...) for every tensor of a structure, in order of
/// declaration. Names are paths such as "blocks.3.w1".
template <class F, class S, class... Rest>
void for_each_tensor(F&& f, S& s, Rest&... rest) {
  auto const named = [&](detail::path const& p, auto&... x) { f(std::string_view(p.text()), x...); };
  detail::walk(static_cast<void*>(nullptr), named, nullptr, s, rest...);
}

/// A structure whose stacks have as many layers as the backend was given, and whose tensors have no values yet: what
/// initial values are put into. Not given: a user_error.
template <class Structure, class Backend>
constexpr Structure sized([[maybe_unused]] Backend& b) {
  Structure p{};
  if constexpr (detail::has_resizable<Structure>::value) {
    detail::given_extents given{&b.layouts()};
    auto const nothing = [](detail::path const&, auto const&) {};
    detail::walk(&given, nothing, nullptr, p);
  }
  return p;
}

/// The number of elements of all tensors of a structure, globally.
template <class S>
std::int64_t parameter_count(S const& s) {
  std::int64_t n = 0;
  for_each_tensor(
      [&]<class X>(auto, X const& x) {
        if constexpr (X::shape_type::has_extents)
          n += X::shape_type::size;
        else
          n += detail::place_of(x).spec().global_size();
      },
      s);
  return n;
}

}  // namespace mtf
