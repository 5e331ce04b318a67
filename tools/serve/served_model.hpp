#pragma once
// What a server knows of its model.
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include <mtf/data/tokenizer.hpp>

#include "../chat.hpp"
#include "../writing/sampling.hpp"

namespace mtf::tools {

struct served_model {
  std::string name;                   // what requests call it
  mtf::tokenizer* words = nullptr;    // used by one thread
  std::vector<std::int32_t> before;   // the tokens that begin a text
  std::optional<std::int32_t> first;  // what stands for an empty one
  std::vector<std::int32_t> ends;     // tokens that end a text
  sampling how;                       // where a request does not say it
  std::optional<chat_template> chat;
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;     // tokens of a prompt and its answer
  std::int64_t most_texts = 0;  // that one request may ask for
  std::time_t since = 0;
};

}  // namespace mtf::tools
