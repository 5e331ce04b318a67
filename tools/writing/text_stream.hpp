#pragma once
// The text of an answer as its tokens come: whole letters alone, up to a stop string.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mtf/data/tokenizer.hpp>

namespace mtf::tools {

/// Tokens in, text out. A letter whose bytes come in several tokens is given when it is whole; what may be the
/// beginning of a stop string is held back until that is known. Special tokens are no text.
class text_stream {
 public:
  /// `before`: the tokens that the answer goes on from; `stops`: where it ends, none of them empty.
  text_stream(mtf::tokenizer const& words, std::vector<std::int32_t> const& before, std::vector<std::string> stops);

  /// The text that a further token brings. Unless it `may_stop` there, no stop string is looked for up to it.
  std::string add(std::int32_t id, bool may_stop = true);
  /// What was held back, when no more tokens come. Bytes that are no letter become U+FFFD.
  std::string finish();
  /// The stop string that was met: what is behind it is not given, nor is itself.
  [[nodiscard]] std::optional<std::string> const& stopped_by() const { return stopped_by_; }

 private:
  [[nodiscard]] std::string decoded(std::size_t from, std::size_t to) const;
  std::string released(std::string text, bool all, bool may_stop = true);

  mtf::tokenizer const* words_;
  std::vector<std::string> stops_;
  std::vector<std::uint32_t> ids_;   // without special ones
  std::size_t begin_ = 0, end_ = 0;  // the tokens whose text was given last: decoding begins with them
  std::string held_;
  std::optional<std::string> stopped_by_;
};

/// `text` with U+FFFD for what is no letter of UTF-8.
std::string with_letters_alone(std::string const& text);

}  // namespace mtf::tools
