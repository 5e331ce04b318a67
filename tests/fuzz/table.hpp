#pragma once
// The operations that programs are made of: each with operands of certain kinds, so that it is compiled once for the
// ranks and once for plans.
#include "universe.hpp"

namespace fuzz {

/// A tensor of a type that only its entry knows.
using erased = std::shared_ptr<void const>;

struct entry {
  std::string text;  // C++, of operands x, y, z
  std::vector<kind> in;
  kind out;
  definition means;
  erased (*on_ranks)(erased const*) = nullptr;
  erased (*in_plan)(erased const*) = nullptr;
};

using table = std::vector<entry>;
table const& entries();

/// Whether operations are also called on more kinds of operands: for one element type, as kernels are made for element
/// types and not for dimensions.
template <class T>
inline constexpr bool more = std::is_same_v<T, double>;

/// An operand of an entry.
template <class T, class... D>
struct arg {
  using element = T;
  using shape = mtf::shape<D...>;
  template <class Backend>
  using on = on_any<T, shape, Backend>;
};

template <class X>
erased erase(X const& x) {
  using plain = first_layout<X>;
  if constexpr (std::is_same_v<X, plain>)
    return std::make_shared<plain const>(x);
  else
    return std::make_shared<plain const>(x.value(), x.where());
}
template <class X>
X const& restore(erased const& x) {
  return *static_cast<X const*>(x.get());
}

template <class Backend, class F, class... Arg, std::size_t... I>
erased call(erased const* x, std::index_sequence<I...>) {
  return erase(F{}(restore<typename Arg::template on<Backend>>(x[I])...));
}
template <class Backend, class F, class... Arg>
erased call(erased const* x) {
  return call<Backend, F, Arg...>(x, std::index_sequence_for<Arg...>{});
}

template <class... Arg, class F>
entry& add(table& all, std::string text, F, definition means) {
  using out = decltype(F{}(std::declval<typename Arg::template on<counted> const&>()...));
  static_assert(!std::is_same_v<out, mtf::refused>);
  return all.emplace_back(entry{.text = std::move(text),
                                .in = {kind_of<typename Arg::element, typename Arg::shape>()...},
                                .out = kind_of<typename out::element_type, typename out::shape_type>(),
                                .means = std::move(means),
                                .on_ranks = &call<counted, F, Arg...>,
                                .in_plan = &call<mtf::trace, F, Arg...>});
}

// FUZZ_OF_TWO((arg<T, a, b>, arg<T, b>), definition, x + y): adds it to `all`.
#define FUZZ_LIST(...) __VA_ARGS__
#define FUZZ_OF_ONE(IN, DEFINITION, ...) \
  add<FUZZ_LIST IN>(all, #__VA_ARGS__, [](auto const& x) { return __VA_ARGS__; }, DEFINITION)
#define FUZZ_OF_TWO(IN, DEFINITION, ...) \
  add<FUZZ_LIST IN>(all, #__VA_ARGS__, [](auto const& x, auto const& y) { return __VA_ARGS__; }, DEFINITION)
#define FUZZ_OF_THREE(IN, DEFINITION, ...) \
  add<FUZZ_LIST IN>(                       \
      all, #__VA_ARGS__, [](auto const& x, auto const& y, auto const& z) { return __VA_ARGS__; }, DEFINITION)

// The families, each in a file of its own, for each floating element type.
template <class T>
void add_elementwise(table& all);
template <class T>
void add_contractions(table& all);
template <class T>
void add_reductions(table& all);
template <class T>
void add_movements(table& all);
template <class T>
void add_nn(table& all);
template <class T>
void add_created(table& all);
void add_integers(table& all);

}  // namespace fuzz
