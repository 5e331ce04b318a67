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

/// Adds "batch 64" for a dimension or an axis, "[batch 64, hidden 32]" for what is made of them; else returns false.
template <class T>
struct name_in_sentence {
  static constexpr bool add_to(sentence_text& text) {
    if constexpr (requires { T::name.size() + T::id; }) {
      text.add(T::name);
      text.add(" ");
      if constexpr (requires { T::extent; })
        text.add(std::int64_t{T::extent});
      else
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
