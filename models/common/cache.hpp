#pragma once
// Keys and values of the tokens so far, which a model that writes on looks back at.
#include <cstdint>
#include <utility>

#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>

namespace mtf::models {

/// Of one layer. Written in place, a token after the other; split as heads and batch are, or along Memory.
template <class Batch, class Heads, class Memory, class Head>
struct keys_and_values {
  template <template <class...> class Tensor>
  struct of {
    Tensor<Batch, Heads, Memory, Head> k, v;
    MTF_FIELDS(k, v);
  };
};

/// Where the next tokens are, of all rows at the same position.
struct all_rows_at {
  std::int64_t start;

  /// see(visible): what their queries see.
  constexpr auto seen_by(auto const& see) const { return see(mtf::visible::causal(start)); }
};
/// Of each row, which has one token, at a position of its own. start: int32 [Batch]; length: start + 1.
template <class Rows>
struct each_row_at {
  Rows start, length;

  /// see(visible, lengths).
  constexpr auto seen_by(auto const& see) const { return see(mtf::visible::everything(), length); }
};

/// What queries see of a layer's keys and values, once those of the new tokens are among them. see(k, v, visible,
/// lengths...).
template <class Memory, class Sequence>
constexpr auto attend(auto& kept, auto const& k, auto const& v, auto const& at, auto const& see) {
  kept.k = mtf::update<Memory, Sequence>(std::move(kept.k), k, at.start);
  kept.v = mtf::update<Memory, Sequence>(std::move(kept.v), v, at.start);
  return at.seen_by([&](auto const&... seen) { return see(kept.k, kept.v, seen...); });
}

}  // namespace mtf::models
