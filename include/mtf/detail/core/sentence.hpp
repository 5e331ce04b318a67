#pragma once
// The sentences of refusals. Where static_assert takes a computed message (C++26: Clang from 17, GCC from 14) the
// sentence itself ends with the names in the verdict: dimensions with their extents, axes with their sizes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Clang 21 announces it in C++20 too, as an extension that it warns of.
#if __cplusplus > 202302L && defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
#define MTF_SENTENCE(TEXT, ...) ::mtf::detail::sentence<__VA_ARGS__>(TEXT)
#else
#define MTF_SENTENCE(TEXT, ...) TEXT
#endif

// What a layout can make wrong: said by the compiler, and, of layouts that are values, by a user_error.
#define MTF_SAYS_AXIS_TWICE "mtf: a mesh, or one split, names an axis twice: each axis may appear once"
#define MTF_SAYS_TWO_DIMS_ON_ONE_AXIS                                                                               \
  "mtf: the layout is not injective: two dimensions of one tensor are split over one mesh axis; split one of them " \
  "over another axis, or not at all"
#define MTF_SAYS_SPLIT_WHERE_PARTIAL \
  "mtf: a tensor cannot be partial over a mesh axis that also splits one of its dimensions"
#define MTF_SAYS_NOT_DIVISIBLE                                                                                    \
  "mtf: the processors that split a dimension do not divide its extent: take one that fits, or pad it, by "       \
  "mtf::pad_to<processors>, among extents by \"name:extent/processors\"; error_not_divisible<dimension, extent, " \
  "processors, nearest extents that fit>"
#define MTF_SAYS_AXIS_NOT_IN_MESH "mtf: a layout splits a dimension over an axis that its mesh lacks"
#define MTF_SAYS_NO_SUCH_AXIS "mtf: an optimizer's state is split over an axis that the parameters' mesh lacks"
#define MTF_SAYS_TWO_RULES \
  "mtf: a layout has two rules for one dimension; to split it over two axes write one split<dim, outer, inner>"
#define MTF_SAYS_SPLIT_DIFFERENTLY \
  "mtf: two operands split one dimension differently; bring one into the other's layout by mtf::relayout<Layout>(x)"
#define MTF_SAYS_PADDED "mtf: an operation does not take a padded dimension"
#define MTF_SAYS_PART_TOO_LONG "mtf: a part of a dimension is at most as long as the dimension"
#define MTF_SAYS_EXTENTS_DO_NOT_MULTIPLY \
  "mtf: a dimension that becomes two, or is made of two, is as long as the product of their extents"
#define MTF_SAYS_PADS_NOT_OF_THE_OUTER                                                                               \
  "mtf: where a dimension becomes two, or is made of two, pads are whole rows: the inner one has none, and the one " \
  "is padded to as many as the inner extent times what is stored of the outer one"
#define MTF_SAYS_EXTENTS_DO_NOT_ADD \
  "mtf: a dimension that is made of others, one after the other, is as long as all together"
#define MTF_SAYS_TWO_EXTENTS "mtf: one dimension name has two extents in one operation"
#define MTF_SAYS_DIFFERENT_MESHES "mtf: two operands live on different meshes; a program's tensors share one mesh"
#define MTF_SAYS_AXIS_WITHOUT_SIZE "mtf: a textual mesh gives an axis no number of processors: write data:2;model:4"
#define MTF_SAYS_UNKNOWN_NAME                                                                                   \
  "mtf: a textual layout names a dimension or an axis that is not in the list; error_unknown_name<name, known " \
  "names...>"
#define MTF_SAYS_UNUSED_RULE \
  "mtf: a layout splits a dimension that no tensor of the planned program has: drop the rule, or change the program"

// Those of the above that speak of types, for layouts that are values, such as of a command line.
#define MTF_TELLS_NOT_DIVISIBLE                                                                                      \
  "mtf: the ranks that split a dimension do not divide its extent: take one that fits, or pad it, as vocab:50257/8 " \
  "does"
#define MTF_TELLS_TWO_RULES \
  "mtf: a layout has two rules for one dimension; to split it over two axes write one, such as batch:data+model"
#define MTF_TELLS_SPLIT_DIFFERENTLY \
  "mtf: two operands split one dimension differently; bring one into the other's layout by a relayout"
#define MTF_TELLS_AXIS_WITHOUT_SIZE "mtf: a textual mesh gives an axis no number of ranks: write data:2;model:4"
#define MTF_TELLS_UNKNOWN_NAME "mtf: a textual layout names a dimension or an axis that is not in the list behind it"

namespace mtf::detail {

class sentence_text {  // of up to 1000 characters
 public:
  constexpr void add(std::string_view text) {
    for (char const c : text)
      if (size_ < chars_.size()) chars_[size_++] = c;
  }
  constexpr void add(std::int64_t number) {  // above 0
    std::array<char, 20> digits{};
    std::size_t n = 0;
    for (; number > 0; number /= 10) digits[n++] = static_cast<char>('0' + number % 10);
    while (n > 0) add({&digits[--n], 1});
  }
  [[nodiscard]] constexpr char const* data() const { return chars_.data(); }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }

 private:
  std::array<char, 1000> chars_{};
  std::size_t size_ = 0;
};

/// Adds "batch 64" for a dimension or an axis, "batch" for one whose extent is a value, "[batch 64, hidden 32]" for
/// what is made of them; else returns false.
template <class T>
struct name_in_sentence {
  static constexpr bool add_to(sentence_text& text) {
    if constexpr (requires { T::name.size() + T::id; }) {
      text.add(T::name);
      if constexpr (requires { T::extent; } || requires { T::size; }) text.add(" ");
      if constexpr (requires { T::extent; })
        text.add(std::int64_t{T::extent});
      else if constexpr (requires { T::size; })
        text.add(std::int64_t{T::size});
      return true;
    }
    return false;
  }
};
template <template <class...> class L, class... T>
struct name_in_sentence<L<T...>> {
  static constexpr bool add_to(sentence_text& text) {
    text.add("[");
    bool first = true;
    ((text.add(first ? "" : ", "), first = !name_in_sentence<T>::add_to(text) && first), ...);
    text.add("]");
    return true;
  }
};

/// The text, and after it the names in these types.
template <class... Named>
constexpr sentence_text sentence(std::string_view text) {
  sentence_text all;
  all.add(text);
  bool first = true;
  auto const add = [&]<class T>(name_in_sentence<T>) {
    sentence_text name;
    if (!name_in_sentence<T>::add_to(name)) return;
    all.add(first ? "; here: " : ", ");
    all.add({name.data(), name.size()});
    first = false;
  };
  (add(name_in_sentence<Named>{}), ...);
  return all;
}

}  // namespace mtf::detail
