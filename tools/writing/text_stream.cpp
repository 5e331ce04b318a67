#include "text_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/data/tokenizer.hpp>

namespace mtf::tools {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

/// How many bytes the letter has that begins here, as far as its first byte says; 0: none begins.
std::size_t announced(char first) {
  auto const lead = static_cast<unsigned char>(first);
  return lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}
/// How many bytes of those a letter has that are there: as many as announced, if it is whole.
std::size_t there(std::string_view text) {
  std::size_t const size = announced(text.front());
  std::size_t n = std::min<std::size_t>(size, 1);
  auto const lead = static_cast<unsigned char>(text.front());
  while (n < size && n < text.size()) {
    auto const byte = static_cast<unsigned char>(text[n]);
    // Of some first bytes not all second ones make a letter (Unicode 15, table 3-7).
    unsigned const low = n > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned const high = n > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte < low || byte > high) break;
    ++n;
  }
  return n;
}
/// Where a letter begins at the text's end of which bytes may be still to come.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    auto const at = text.size() - back;
    if (announced(text[at]) > back && there(text.substr(at)) == back) return at;
  }
  return text.size();
}

/// Whether a token has a text: no special one has, and none that the tokenizer lacks, as a model may have more.
bool has_text(mtf::tokenizer const& words, std::int32_t id) {
  auto const one = static_cast<std::uint32_t>(id);
  if (words.is_special(one)) return false;
  try {
    static_cast<void>(words.decode(std::span(&one, 1)));
    return true;
  } catch (mtf::user_error const&) {
    return false;
  }
}

}  // namespace

std::string with_letters_alone(std::string const& text) {
  std::string letters;
  for (std::size_t at = 0; at < text.size();) {
    auto const rest = std::string_view(text).substr(at);
    auto const n = there(rest);
    bool const whole = n > 0 && n == announced(rest.front());
    letters += whole ? rest.substr(0, n) : replacement;
    at += std::max<std::size_t>(n, 1);
  }
  return letters;
}

text_stream::text_stream(mtf::tokenizer const& words, std::vector<std::int32_t> const& before,
                         std::vector<std::string> stops)
    : words_(&words), stops_(std::move(stops)) {
  // A few are enough to know how a token's text begins behind others: some are without their space at a text's begin.
  // Of these none may end within a letter, as all of it would be said again.
  auto const first = before.size() > 8 ? before.end() - 8 : before.begin();
  for (auto at = first; at != before.end(); ++at)
    if (has_text(words, *at)) ids_.push_back(static_cast<std::uint32_t>(*at));
  end_ = ids_.size();
}

std::string text_stream::decoded(std::size_t from, std::size_t to) const {
  return words_->decode(std::span(ids_).subspan(from, to - from));
}

std::string text_stream::add(std::int32_t id, bool may_stop) {
  if (stopped_by_ || !has_text(*words_, id)) return {};
  ids_.push_back(static_cast<std::uint32_t>(id));
  auto const given = decoded(begin_, end_).size();
  auto text = decoded(begin_, ids_.size());
  if (text.size() <= given || unfinished(text) < text.size()) return {};
  begin_ = end_;
  end_ = ids_.size();
  return released(with_letters_alone(text.substr(given)), false, may_stop);
}

std::string text_stream::finish() {
  if (stopped_by_) return {};
  auto const given = decoded(begin_, end_).size();
  auto const text = decoded(begin_, ids_.size());
  begin_ = end_ = ids_.size();
  return released(text.size() > given ? with_letters_alone(text.substr(given)) : "", true);
}

std::string text_stream::released(std::string text, bool all, bool may_stop) {
  held_ += text;
  if (!may_stop) return std::exchange(held_, {});
  auto first = std::string::npos;
  for (auto const& stop : stops_)
    if (auto const at = held_.find(stop); at < first) {
      first = at;
      stopped_by_ = stop;
    }
  if (stopped_by_) return std::exchange(held_, {}).substr(0, first);
  std::size_t keep = 0;  // the longest end of the text that is the begin of a stop string
  if (!all)
    for (auto const& stop : stops_)
      for (auto n = std::min(stop.size() - 1, held_.size()); n > keep; --n)
        if (held_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
  auto const now = held_.substr(0, held_.size() - keep);
  held_.erase(0, now.size());
  return now;
}

}  // namespace mtf::tools
