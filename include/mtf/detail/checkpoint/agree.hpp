#pragma once
// What ranks tell each other of files.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf::detail {

/// All ranks' numbers, `mine.size()` of each, in the order of the ranks.
template <class T>
std::vector<T> of_all_ranks(collectives& ranks, std::vector<T> const& mine) {
  auto const& mesh = ranks.mesh();
  if (mesh.size() == 1) return mine;
  std::vector<T> all(mine.size() * static_cast<std::size_t>(mesh.size()));
  ranks.communicate(
      collective::all_gather((axis_mask{1} << static_cast<unsigned>(mesh.ndim)) - 1U, element_of<T>, mine.size()),
      mine.data(), all.data());
  return all;
}

/// The first rank's text, of up to `N` bytes, that is not empty; all ranks call it.
template <std::size_t N = 1024>
std::string first_text(collectives& ranks, std::string const& mine) {
  std::vector<std::int32_t> letters(N / 4);
  auto* const to = reinterpret_cast<char*>(letters.data());
  std::copy_n(mine.data(), std::min(mine.size(), N - 1), to);
  auto const all = of_all_ranks(ranks, letters);
  auto const* const from = reinterpret_cast<char const*>(all.data());
  for (std::size_t r = 0; r < all.size() / letters.size(); ++r)
    if (std::string text(from + r * N); !text.empty()) return text;
  return {};
}

/// If some ranks give a sentence, throws the first one of them on all ranks, as a user_error. All ranks call it.
inline void agree(collectives& ranks, std::string const& failure) {
  constexpr std::size_t longest = 8192;  // a list of what does not fit
  if (ranks.any(!failure.empty())) throw user_error(first_text<longest>(ranks, failure));
}

/// What f throws as a user_error; empty if it does not.
template <class F>
std::string failure_of(F&& f) {
  try {
    f();
    return {};
  } catch (user_error const& e) {
    return e.what();
  }
}

}  // namespace mtf::detail
