#pragma once
// Requests for texts, as OpenAI's interface has them: /v1/completions and /v1/chat/completions.
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "../writing/completion.hpp"
#include "served_model.hpp"

namespace mtf::tools {

/// What is wrong with a request, as its reply says it.
class api_error : public std::exception {
 public:
  /// `status`: HTTP's. `param`: the field that is meant, or "".
  api_error(int status, std::string message, std::string param = "");

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] char const* what() const noexcept override { return message_.c_str(); }
  /// {"error": {"message", "type", "param", "code"}}
  [[nodiscard]] std::string body() const;

 private:
  int status_;
  std::string message_, param_;
};

enum class api : std::uint8_t { completions, chat };

/// A request. Its texts, of all prompts each as many as asked for, are in the order of the reply.
struct text_request {
  api by = api::completions;
  bool streams = false, usage_in_stream = false;
  std::vector<std::string> echoes;  // what stands before each text
  std::int64_t prompt_tokens = 0;   // of all prompts
  std::vector<std::shared_ptr<completion>> texts;
};

/// Of the body of a request. What is not a request, what the model cannot do, and any field that nothing is done with
/// here, is an api_error. `seed`: for a request without one.
text_request request_from(std::string const& body, api by, served_model const& model, std::uint64_t seed);

}  // namespace mtf::tools
