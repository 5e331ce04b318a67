#include "reply.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../writing/text_stream.hpp"

namespace mtf::tools {
namespace {

using json = nlohmann::ordered_json;

std::string dumped(json const& x) { return x.dump(-1, ' ', false, json::error_handler_t::replace); }

/// JSON has no infinity; OpenAI writes this.
float finite(float log_probability) { return std::isfinite(log_probability) ? log_probability : -9999.0F; }

std::size_t letters_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string as_event(std::string const& data) { return "data: " + data + "\n\n"; }

}  // namespace

reply::reply(served_model const& model, text_request const& of, std::uint64_t number, std::time_t created)
    : model_(&model),
      by_(of.by),
      streams_(of.streams),
      usage_in_stream_(of.usage_in_stream),
      tells_probabilities_(of.texts.front()->most_likely.has_value()),
      id_((of.by == api::chat ? "chatcmpl-" : "cmpl-") + std::to_string(model.since) + "-" + std::to_string(number)),
      created_(created),
      texts_(of.texts.size()),
      prompt_tokens_(of.prompt_tokens) {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    texts_[i].text = of.echoes[i];
    texts_[i].letters = texts_[i].echoed = letters_in(of.echoes[i]);
  }
}

/// Empty, of a token that the tokenizer lacks: a model may have more.
std::string reply::text_of(std::int32_t id) const try {
  return model_->words->decode(std::vector{static_cast<std::uint32_t>(id)});
} catch (mtf::user_error const&) {
  return {};
}

/// How many letters a token adds to the text: a special one none, a part of a letter none behind its first.
std::size_t reply::letters_of(std::int32_t id) const {
  return model_->words->is_special(static_cast<std::uint32_t>(id)) ? 0 : letters_in(text_of(id));
}

/// An object without its closing brace.
std::string reply::head(char const* object) const {
  json h;
  h["id"] = id_;
  h["object"] = object;
  h["created"] = created_;
  h["model"] = model_->name;
  auto text = dumped(h);
  text.pop_back();
  return text;
}

std::string reply::usage() const {
  json u;
  u["prompt_tokens"] = prompt_tokens_;
  u["completion_tokens"] = tokens_;
  u["total_tokens"] = prompt_tokens_ + tokens_;
  return dumped(u);
}

std::string reply::probabilities(std::vector<drawn_token> const& of, std::size_t letters) const {
  if (!tells_probabilities_) return "null";
  json all;
  if (by_ == api::chat) {
    auto const entry = [&](std::int32_t id, float log_probability) {
      auto const text = text_of(id);
      json e;
      e["token"] = with_letters_alone(text);
      e["logprob"] = finite(log_probability);
      e["bytes"] = std::vector<int>();
      for (char const c : text) e["bytes"].push_back(static_cast<unsigned char>(c));
      return e;
    };
    all["content"] = json::array();
    for (auto const& t : of) {
      auto e = entry(t.id, t.log_probability);
      e["top_logprobs"] = json::array();
      for (auto const& [id, p] : t.most_likely) e["top_logprobs"].push_back(entry(id, p));
      all["content"].push_back(e);
    }
    return dumped(all);
  }
  for (char const* const key : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) all[key] = json::array();
  for (auto const& t : of) {
    auto const text = with_letters_alone(text_of(t.id));
    all["tokens"].push_back(text);
    all["token_logprobs"].push_back(finite(t.log_probability));
    all["text_offset"].push_back(letters);
    letters += letters_of(t.id);
    auto likely = json::object();
    for (auto const& [id, p] : t.most_likely) likely[with_letters_alone(text_of(id))] = finite(p);
    likely[text] = finite(t.log_probability);  // always among them
    all["top_logprobs"].push_back(likely);
  }
  return dumped(all);
}

std::string reply::event(std::size_t i, std::string const& text, std::vector<drawn_token> const& tokens,
                         std::size_t letters, std::string const& ended_by) const {
  bool const is_chat = by_ == api::chat;
  auto const ended = ended_by.empty() ? std::string("null") : dumped(ended_by);
  json const content = is_chat && !text.empty() ? json{{"content", text}} : json::object();
  return as_event(head(is_chat ? "chat.completion.chunk" : "text_completion") + ",\"choices\":[{\"index\":" +
                  std::to_string(i) + (is_chat ? ",\"delta\":" + dumped(content) : ",\"text\":" + dumped(text)) +
                  ",\"logprobs\":" + (tokens.empty() ? "null" : probabilities(tokens, letters)) +
                  ",\"finish_reason\":" + ended + "}]" + (usage_in_stream_ ? ",\"usage\":null" : "") + "}");
}

std::string reply::begin() const {
  std::string events;
  if (!streams_) return events;
  for (std::size_t i = 0; i < texts_.size(); ++i)
    if (by_ == api::chat)
      events += as_event(head("chat.completion.chunk") + ",\"choices\":[{\"index\":" + std::to_string(i) +
                         R"(,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}])" +
                         (usage_in_stream_ ? ",\"usage\":null" : "") + "}");
    else if (!texts_[i].text.empty())
      events += event(i, texts_[i].text, {}, 0, "");
  return events;
}

std::string reply::add(std::size_t i, piece const& of) {
  auto& t = texts_[i];
  std::vector<drawn_token> fresh;
  auto const letters = t.letters;
  if (of.token) {
    ++tokens_;
    if (tells_probabilities_) {
      fresh.push_back(*of.token);
      t.letters += letters_of(of.token->id);
    }
  }
  if (!of.ended_by.empty()) {
    t.ended_by = of.ended_by;
    ++ended_;
    if (t.ended_by == "error") {
      error_ = of.text;
      return streams_ ? as_event(api_error(500, error_).body()) : "";
    }
  }
  if (streams_) {
    if (of.text.empty() && fresh.empty() && of.ended_by.empty()) return "";
    return event(i, of.text, fresh, letters, t.ended_by);
  }
  t.text += of.text;
  t.tokens.insert(t.tokens.end(), fresh.begin(), fresh.end());
  return "";
}

std::string reply::end() const {
  std::string events;
  if (usage_in_stream_)
    events += as_event(head(by_ == api::chat ? "chat.completion.chunk" : "text_completion") +
                       ",\"choices\":[],\"usage\":" + usage() + "}");
  return events + as_event("[DONE]");
}

std::string reply::whole() const {
  bool const is_chat = by_ == api::chat;
  std::string choices;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    auto const& t = texts_[i];
    json message;
    message["role"] = "assistant";
    message["content"] = t.text;
    choices += (i > 0 ? "," : "") + ("{\"index\":" + std::to_string(i)) +
               (is_chat ? ",\"message\":" + dumped(message) : ",\"text\":" + dumped(t.text)) +
               ",\"logprobs\":" + probabilities(t.tokens, t.echoed) + ",\"finish_reason\":" + dumped(t.ended_by) + "}";
  }
  return head(is_chat ? "chat.completion" : "text_completion") + ",\"choices\":[" + choices + "],\"usage\":" + usage() +
         "}";
}

}  // namespace mtf::tools
