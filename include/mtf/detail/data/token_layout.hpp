#pragma once
// Where the tokens of a file lie: formats and their checks.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/core/error.hpp>

namespace mtf::detail {

static_assert(std::endian::native == std::endian::little, "token files are little-endian, and are mapped as they are");

/// The first bytes of mtf's token files. Then come the tokens, zeros up to a multiple of 8 bytes, and for each document
/// the number of the token behind its last one, as std::uint64_t. A document's last token is the end of text.
struct token_header {
  static constexpr std::array<char, 8> expected{'m', 't', 'f', 't', 'o', 'k', 'e', 'n'};
  static constexpr std::uint32_t no_end = 0xffffffff;

  std::array<char, 8> magic = expected;
  std::uint32_t version = 1;
  std::uint32_t token_bytes = 2;  // 2 or 4
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
  std::uint32_t vocabulary = 0;          // ids are below it
  std::uint32_t end_of_text = no_end;    // its id; no_end: nothing stands between documents
  std::array<std::uint64_t, 3> zeros{};  // for what may come: 64 bytes in all
};
static_assert(sizeof(token_header) == 64);

/// Of llm.c: 256 numbers of four bytes, the first of which are these; then tokens of two. Documents begin with GPT-2's
/// end of text.
struct llmc_header {
  static constexpr std::int32_t expected = 20240520;
  static constexpr std::size_t bytes = 1024;
  static constexpr std::uint32_t vocabulary = 50257, end_of_text = 50256;

  std::int32_t magic = expected;
  std::int32_t version = 1;
  std::int32_t tokens = 0;
};

/// Where the tokens are among a file's bytes.
struct token_layout {
  std::size_t first = 0;        // byte
  std::size_t token_bytes = 1;  // 1, 2 or 4
  std::uint64_t tokens = 0;
  std::uint32_t vocabulary = 256;
  std::optional<std::uint32_t> end_of_text;
  std::vector<std::uint64_t> ends;  // of documents; the last is `tokens`
};

template <class Header>
Header header_of(std::span<std::byte const> file) {
  Header h;
  std::memcpy(&h, file.data(), sizeof h);
  return h;
}
template <class T>
T number_at(std::span<std::byte const> file, std::size_t byte) {
  T x;
  std::memcpy(&x, file.data() + byte, sizeof x);
  return x;
}

inline void check_length(std::span<std::byte const> file, std::uint64_t expected, std::string const& path) {
  if (file.size() != expected)
    throw user_error(path + " has " + std::to_string(file.size()) + " bytes, but its header says " +
                     std::to_string(expected) + ": it is " + (file.size() < expected ? "truncated" : "damaged") +
                     "; prepare or copy it again");
}

inline token_layout own_layout(std::span<std::byte const> file, std::string const& path) {
  auto const h = header_of<token_header>(file);
  if (h.version != 1)
    throw user_error(path + " is a token file of version " + std::to_string(h.version) +
                     ", this program reads version 1: use a newer one, or prepare the file again");
  if (h.token_bytes != 2 && h.token_bytes != 4)
    throw user_error(path + " has tokens of " + std::to_string(h.token_bytes) +
                     " bytes by its header; 2 or 4 were expected: it is damaged");
  constexpr auto most = std::uint64_t{1} << 48U;  // so that nothing below overflows
  if (h.tokens > most || h.documents > h.tokens || (h.documents == 0) != (h.tokens == 0))
    throw user_error(path + " has " + std::to_string(h.documents) + " documents of " + std::to_string(h.tokens) +
                     " tokens by its header, which cannot be: it is damaged");
  auto const tokens_end = sizeof h + (h.tokens * h.token_bytes + 7) / 8 * 8;
  check_length(file, tokens_end + h.documents * 8, path);
  if (h.vocabulary == 0 || (h.end_of_text != token_header::no_end && h.end_of_text >= h.vocabulary))
    throw user_error(path + " has a vocabulary of " + std::to_string(h.vocabulary) +
                     " by its header and the end of text " + std::to_string(h.end_of_text) +
                     ", which cannot be: it is damaged");
  token_layout l{sizeof h, h.token_bytes, h.tokens, h.vocabulary, {}, {}};
  if (h.end_of_text != token_header::no_end) l.end_of_text = h.end_of_text;
  l.ends.resize(static_cast<std::size_t>(h.documents));
  if (!l.ends.empty()) std::memcpy(l.ends.data(), file.data() + tokens_end, l.ends.size() * 8);
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < l.ends.size(); ++i) {
    if (l.ends[i] <= before || l.ends[i] > h.tokens)
      throw user_error(path + ": document " + std::to_string(i) + " ends at token " + std::to_string(l.ends[i]) +
                       ", but one from " + std::to_string(before + 1) + " to " + std::to_string(h.tokens) +
                       " was expected: the file is damaged");
    before = l.ends[i];
  }
  if (before != h.tokens)
    throw user_error(path + ": the last document ends at token " + std::to_string(before) + " of " +
                     std::to_string(h.tokens) + ": the file is damaged");
  return l;
}

inline token_layout llmc_layout(std::span<std::byte const> file, std::string const& path) {
  auto const h = header_of<llmc_header>(file);
  if (h.version != 1)
    throw user_error(path + " is llm.c's token file of version " + std::to_string(h.version) +
                     "; version 1 was expected: write it by llm.c's current scripts");
  if (h.tokens < 0)
    throw user_error(path + " has " + std::to_string(h.tokens) + " tokens by its header: it is damaged");
  auto const tokens = static_cast<std::uint64_t>(h.tokens);
  check_length(file, llmc_header::bytes + 2 * tokens, path);
  token_layout l{llmc_header::bytes, 2, tokens, llmc_header::vocabulary, llmc_header::end_of_text, {}};
  for (std::uint64_t i = 1; i < tokens; ++i)
    if (number_at<std::uint16_t>(file, l.first + 2 * static_cast<std::size_t>(i)) == llmc_header::end_of_text)
      l.ends.push_back(i);
  if (tokens > 0) l.ends.push_back(tokens);
  return l;
}

/// The layout of a file by its first bytes; each thing that can be wrong with it is a user_error.
inline token_layout layout_of_tokens(std::span<std::byte const> file, std::string const& path) {
  if (file.empty()) throw user_error(path + ": the file is empty; tokens or a text were expected");
  if (file.size() >= sizeof(token_header) && header_of<token_header>(file).magic == token_header::expected)
    return own_layout(file, path);
  if (file.size() >= llmc_header::bytes && header_of<llmc_header>(file).magic == llmc_header::expected)
    return llmc_layout(file, path);
  if (std::string_view(path).ends_with(".bin")) {
    auto const n = file.size() < 4 ? 0 : number_at<std::uint32_t>(file, 0);
    throw user_error(path +
                     " is no token file: \"mtftoken\" or llm.c's number 20240520 was expected in its first bytes" +
                     (file.size() < 4 ? ", but it has only " + std::to_string(file.size())
                                      : ", found the number " + std::to_string(n)) +
                     "; `prepare` writes one (a text is any file whose name does not end in .bin)");
  }
  return {0, 1, file.size(), 256, {}, {file.size()}};
}

}  // namespace mtf::detail
