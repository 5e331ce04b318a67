#pragma once
// Replies to requests for texts, as OpenAI's interface has them.
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "../writing/completion.hpp"
#include "request.hpp"
#include "served_model.hpp"

namespace mtf::tools {

/// Pieces of a request's texts in, JSON out: all of it at the end, or an event for each piece.
class reply {
 public:
  /// `number`: of the request, in its id.
  reply(served_model const& model, text_request const& of, std::uint64_t number, std::time_t created);

  /// What is sent before anything is written: events of a stream, whole lines with their empty one.
  [[nodiscard]] std::string begin() const;
  /// A piece of the i-th text. Gives what a stream sends of it, which may be nothing.
  std::string add(std::size_t i, piece const& of);
  /// All texts have ended.
  [[nodiscard]] bool is_whole() const { return ended_ == texts_.size(); }
  /// Where one went wrong: what is said of it.
  [[nodiscard]] std::string const& error() const { return error_; }
  /// The end of a stream.
  [[nodiscard]] std::string end() const;
  /// The reply that is no stream.
  [[nodiscard]] std::string whole() const;

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t prompt_tokens() const { return prompt_tokens_; }
  /// Why the i-th text ended.
  [[nodiscard]] std::string const& ended_by(std::size_t i) const { return texts_[i].ended_by; }

 private:
  struct one_text {
    std::string text, ended_by;
    std::vector<drawn_token> tokens;
    std::size_t echoed = 0, letters = 0;  // of the prompt that is told, and of what came before the next token
  };
  [[nodiscard]] std::string head(char const* object) const;
  [[nodiscard]] std::string event(std::size_t i, std::string const& text, std::vector<drawn_token> const& tokens,
                                  std::size_t letters, std::string const& ended_by) const;
  [[nodiscard]] std::string usage() const;
  [[nodiscard]] std::string probabilities(std::vector<drawn_token> const& of, std::size_t letters) const;
  [[nodiscard]] std::string text_of(std::int32_t id) const;
  [[nodiscard]] std::size_t letters_of(std::int32_t id) const;

  served_model const* model_;
  api by_;
  bool streams_, usage_in_stream_, tells_probabilities_;
  std::string id_;
  std::time_t created_;
  std::vector<one_text> texts_;
  std::size_t ended_ = 0;
  std::int64_t prompt_tokens_, tokens_ = 0;
  std::string error_;
};

}  // namespace mtf::tools
