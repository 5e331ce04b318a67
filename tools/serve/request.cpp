#include "request.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/ops/create/random.hpp>

#include "../chat.hpp"
#include "../text_of.hpp"
#include "../writing/text_stream.hpp"

namespace mtf::tools {

api_error::api_error(int status, std::string message, std::string param)
    : status_(status), message_(std::move(message)), param_(std::move(param)) {}

std::string api_error::body() const {
  nlohmann::ordered_json error;
  error["message"] = message_;
  error["type"] = status_ >= 500   ? "server_error"
                  : status_ == 404 ? "not_found_error"
                  : status_ == 429 ? "rate_limit_error"
                                   : "invalid_request_error";
  error["param"] = param_.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(param_);
  error["code"] = status_;
  return nlohmann::ordered_json{{"error", error}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

using json = nlohmann::json;

/// How deep objects and lists are within each other; it is told, and so walked, by functions that call themselves.
std::size_t nesting_of(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == '[' || c == '{'))
      deepest = std::max(deepest, ++depth);
    else if (!in_string && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return deepest;
}

/// The fields of a request, each of which is to be asked for.
class fields {
 public:
  explicit fields(json const& of) : of_(&of) {
    for (auto const& [key, value] : of.items())
      if (!value.is_null()) left_.insert(key);
  }

  /// Null: it is not there.
  json const* find(char const* key) {
    left_.erase(key);
    auto const at = of_->find(key);
    return at == of_->end() || at->is_null() ? nullptr : &*at;
  }
  double number(char const* key, double otherwise, double low, double high) {
    auto const* const x = find(key);
    if (x == nullptr) return otherwise;
    if (!x->is_number() || !(low <= x->get<double>() && x->get<double>() <= high))
      wrong(key, "a number from " + shown(low) + " to " + shown(high), *x);
    return x->get<double>();
  }
  std::int64_t whole(char const* key, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
    auto const* const x = find(key);
    if (x == nullptr) return otherwise;
    if (!is_whole(*x, low, high))
      wrong(key, "a whole number from " + std::to_string(low) + " to " + std::to_string(high), *x);
    return x->get<std::int64_t>();
  }
  bool flag(char const* key) {
    auto const* const x = find(key);
    if (x != nullptr && !x->is_boolean()) wrong(key, "true or false", *x);
    return x != nullptr && x->get<bool>();
  }
  /// What nobody asked for.
  void none_left() const {
    if (!left_.empty())
      throw api_error(400, "the field \"" + *left_.begin() + "\" is not taken here: leave it out", *left_.begin());
  }

  static bool is_whole(json const& x, std::int64_t low, std::int64_t high) {
    return x.is_number_integer() && !(x.is_number_unsigned() && x.get<std::uint64_t>() > INT64_MAX) &&
           low <= x.get<std::int64_t>() && x.get<std::int64_t>() <= high;
  }
  [[noreturn]] static void wrong(std::string const& key, std::string const& expected, json const& found) {
    auto shown = found.dump(-1, ' ', false, json::error_handler_t::replace);
    if (shown.size() > 80) shown = shown.substr(0, 80) + "...";
    throw api_error(400, key + ": expected " + expected + ", found " + shown, key);
  }

 private:
  static std::string shown(double x) { return text_of("%g", x); }

  json const* of_;
  std::set<std::string> left_;
};

std::vector<std::int32_t> ids_of(json const& list, std::string const& key, served_model const& model) {
  std::vector<std::int32_t> ids;
  for (auto const& id : list) {
    if (!fields::is_whole(id, 0, model.vocabulary - 1))
      fields::wrong(key, "numbers of tokens, from 0 to " + std::to_string(model.vocabulary - 1), id);
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

struct prompt {
  std::vector<std::int32_t> ids;
  std::string text;
};

std::vector<std::int32_t> encoded(served_model const& model, std::string const& text, bool begin) {
  std::vector<std::int32_t> ids;
  if (begin) ids = model.before;
  for (auto const id : model.words->encode(text)) ids.push_back(static_cast<std::int32_t>(id));
  if (ids.empty() && model.first) ids = {*model.first};
  return ids;
}
std::string decoded(served_model const& model, std::vector<std::int32_t> const& ids) try {
  return with_letters_alone(model.words->decode(std::vector<std::uint32_t>(ids.begin(), ids.end())));
} catch (mtf::user_error const& e) {
  throw api_error(400, std::string("prompt: expected tokens that the tokenizer has: ") + e.what(), "prompt");
}

std::vector<prompt> prompts_in(fields& of, served_model const& model) {
  auto const* const given = of.find("prompt");
  if (given == nullptr) throw api_error(400, "prompt: expected a text, found none", "prompt");
  std::vector<prompt> all;
  auto const add = [&](json const& one) {
    if (one.is_string())
      all.push_back({encoded(model, one.get<std::string>(), true), one.get<std::string>()});
    else if (one.is_array())
      all.push_back({ids_of(one, "prompt", model), ""});
    else
      fields::wrong("prompt", "a text, texts, the numbers of tokens, or several lists of them", one);
    if (!one.is_string()) all.back().text = decoded(model, all.back().ids);
  };
  if (given->is_array() && !given->empty() && !given->front().is_number())
    for (auto const& one : *given) add(one);
  else
    add(*given);
  return all;
}

std::string content_of(json const& message) {
  auto const at = message.find("content");
  if (at != message.end() && at->is_string()) return at->get<std::string>();
  if (at == message.end() || !at->is_array()) fields::wrong("messages", "a content that is a text", message);
  std::string text;
  for (auto const& part : *at) {
    if (!part.is_object() || part.value("type", json()) != "text" || !part.contains("text") ||
        !part["text"].is_string())
      fields::wrong("messages", "parts of content that are texts", part);
    text += part["text"].get<std::string>();
  }
  return text;
}

prompt conversation_in(fields& of, served_model const& model) {
  auto const* const given = of.find("messages");
  if (given == nullptr || !given->is_array() || given->empty())
    throw api_error(400, "messages: expected a list of messages with role and content", "messages");
  if (!model.chat) throw api_error(400, "the model has no chat template: it is none to talk with; ask /v1/completions");
  std::vector<message> messages;
  for (auto const& one : *given) {
    if (!one.is_object()) fields::wrong("messages", "messages with role and content", one);
    fields in(one);
    auto const* const role = in.find("role");
    if (role == nullptr || (*role != "system" && *role != "user" && *role != "assistant"))
      fields::wrong("messages", "a role that is system, user or assistant", one);
    messages.push_back({role->get<std::string>(), content_of(one)});
    in.find("content");
    in.none_left();
  }
  std::string begin;
  if (model.first) begin = model.words->decode(std::vector{static_cast<std::uint32_t>(*model.first)});
  try {
    auto const text = chat_text_by(*model.chat, messages, begin);
    return {encoded(model, text, false), text};  // the template writes the tokens that begin a text
  } catch (mtf::user_error const& e) {
    throw api_error(400, e.what(), "messages");
  }
}

std::vector<std::string> stops_in(fields& of, std::vector<std::int32_t>& ends, served_model const& model) {
  std::vector<std::string> stops;
  auto const* const given = of.find("stop");
  if (given == nullptr) return stops;
  auto const add = [&](json const& one) {
    if (!one.is_string() || one.get_ref<std::string const&>().empty())
      fields::wrong("stop", "a text that is not empty, or several", one);
    auto const& text = one.get_ref<std::string const&>();
    // A special token is no text: it is known by its number.
    if (auto const id = model.words->id_of(text); id && model.words->is_special(*id))
      ends.push_back(static_cast<std::int32_t>(*id));
    else
      stops.push_back(text);
  };
  if (given->is_array()) {
    if (given->size() > 16) fields::wrong("stop", "at most 16 texts", *given);
    for (auto const& one : *given) add(one);
  } else {
    add(*given);
  }
  return stops;
}

std::vector<std::pair<std::int32_t, float>> bias_in(fields& of, served_model const& model) {
  std::vector<std::pair<std::int32_t, float>> all;
  auto const* const given = of.find("logit_bias");
  if (given == nullptr) return all;
  if (!given->is_object()) fields::wrong("logit_bias", "numbers from -100 to 100 by tokens", *given);
  for (auto const& [key, by] : given->items()) {
    std::int32_t id = -1;
    auto const [last, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc{} || last != key.data() + key.size() || id < 0 || id >= model.vocabulary)
      fields::wrong("logit_bias", "the number of a token, from 0 to " + std::to_string(model.vocabulary - 1), key);
    if (!by.is_number() || !(by.get<double>() >= -100 && by.get<double>() <= 100))
      fields::wrong("logit_bias", "a number from -100 to 100", by);
    all.emplace_back(id, static_cast<float>(by.get<double>()));
  }
  return all;
}

sampling sampling_in(fields& of, sampling how) {
  constexpr double any = std::numeric_limits<float>::max();
  how.temperature = of.number("temperature", how.temperature, 0, any);
  how.top_p = of.number("top_p", how.top_p, 0, 1);
  how.min_p = of.number("min_p", how.min_p, 0, 1);
  how.top_k = std::max<std::int64_t>(of.whole("top_k", how.top_k, -1, INT32_MAX), 0);
  how.repetition_penalty = of.number("repetition_penalty", how.repetition_penalty, 1e-3, 1e3);
  how.frequency_penalty = of.number("frequency_penalty", 0, -2, 2);
  how.presence_penalty = of.number("presence_penalty", 0, -2, 2);
  return how;
}

/// How many of the most likely tokens are told; none: no probabilities are.
std::optional<std::int64_t> most_likely_in(fields& of, api by) {
  constexpr std::int64_t most = 20;
  if (by == api::completions) {
    auto const n = of.whole("logprobs", -1, 0, most);
    return n < 0 ? std::optional<std::int64_t>() : n;
  }
  auto const asked = of.flag("logprobs");
  auto const n = of.whole("top_logprobs", 0, 0, most);
  if (!asked && n > 0) throw api_error(400, "top_logprobs: expected \"logprobs\": true beside it", "top_logprobs");
  return asked ? std::optional(n) : std::nullopt;
}

void must_be_one_of(fields& of, char const* key, std::vector<json> const& values, char const* expected) {
  if (auto const* const x = of.find(key); x != nullptr && std::find(values.begin(), values.end(), *x) == values.end())
    fields::wrong(key, expected, *x);
}

}  // namespace

text_request request_from(std::string const& body, api by, served_model const& model, std::uint64_t seed) {
  if (nesting_of(body) > 32) throw api_error(400, "the body is nested more than 32 deep");
  auto const parsed = json::parse(body, nullptr, false);
  if (!parsed.is_object()) throw api_error(400, "the body is no JSON object");
  fields of(parsed);
  if (auto const* const name = of.find("model"); name != nullptr && *name != model.name)
    throw api_error(404,
                    "there is no model " + name->dump(-1, ' ', false, json::error_handler_t::replace) +
                        " here, but \"" + model.name + "\"",
                    "model");
  text_request r;
  r.by = by;
  bool const is_chat = by == api::chat;
  auto const prompts = is_chat ? std::vector{conversation_in(of, model)} : prompts_in(of, model);
  bool const echo = !is_chat && of.flag("echo");

  completion common;
  common.how = sampling_in(of, model.how);
  common.ends = of.flag("ignore_eos") ? std::vector<std::int32_t>() : model.ends;
  if (auto const* const ids = of.find("stop_token_ids"); ids != nullptr) {
    if (!ids->is_array()) fields::wrong("stop_token_ids", "a list of numbers of tokens", *ids);
    for (auto const id : ids_of(*ids, "stop_token_ids", model)) common.ends.push_back(id);
  }
  auto const stops = stops_in(of, common.ends, model);
  common.bias = bias_in(of, model);
  common.most_likely = most_likely_in(of, by);
  if (echo && common.most_likely)
    throw api_error(400, "logprobs: of a prompt that is echoed there are none; leave echo or logprobs out", "logprobs");
  constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
  auto const otherwise = is_chat ? any : std::int64_t{16};
  common.most = of.whole("max_tokens", otherwise, 1, any);
  if (is_chat) common.most = of.whole("max_completion_tokens", common.most, 1, any);
  common.least = of.whole("min_tokens", 0, 0, common.most);
  auto const n = of.whole("n", 1, 1, model.most_texts);
  if (auto const* const given = of.find("seed"); given != nullptr) {
    if (!fields::is_whole(*given, INT64_MIN, INT64_MAX)) fields::wrong("seed", "a whole number", *given);
    seed = static_cast<std::uint64_t>(given->get<std::int64_t>());
  }
  r.streams = of.flag("stream");
  if (auto const* const options = of.find("stream_options"); options != nullptr) {
    if (!options->is_object() || !r.streams)
      fields::wrong("stream_options", "an object, beside \"stream\": true", *options);
    fields in(*options);
    r.usage_in_stream = in.flag("include_usage");
    in.none_left();
  }
  // Fields that change nothing where they have these values.
  if (auto const* const user = of.find("user"); user != nullptr && !user->is_string())
    fields::wrong("user", "a text", *user);
  must_be_one_of(of, "best_of", {1, n}, "n, or 1");
  must_be_one_of(of, "suffix", {""}, "no suffix");
  if (is_chat) {
    must_be_one_of(of, "tools", {json::array()}, "no tools");
    must_be_one_of(of, "tool_choice", {"none"}, "\"none\"");
    must_be_one_of(of, "response_format", {json{{"type", "text"}}}, "{\"type\": \"text\"}");
  }
  of.none_left();

  if (static_cast<std::int64_t>(prompts.size()) * n > model.most_texts)
    throw api_error(400, "expected at most " + std::to_string(model.most_texts) + " texts, prompts times n; found " +
                             std::to_string(prompts.size()) + " times " + std::to_string(n));
  for (auto const& one : prompts) {
    if (one.ids.empty()) throw api_error(400, "prompt: it has no tokens, and the model none to begin with", "prompt");
    if (std::cmp_greater_equal(one.ids.size(), model.context))
      throw api_error(400,
                      "the prompt has " + std::to_string(one.ids.size()) + " tokens; there is room for " +
                          std::to_string(model.context) + ", of prompt and answer",
                      is_chat ? "messages" : "prompt");
    if (auto const worst = *std::max_element(one.ids.begin(), one.ids.end()); worst >= model.vocabulary)
      throw api_error(500, "the tokenizer has the token " + std::to_string(worst) + ", but the model's vocabulary " +
                               std::to_string(model.vocabulary));
    r.prompt_tokens += std::ssize(one.ids);
    for (std::int64_t i = 0; i < n; ++i) {
      auto text = std::make_shared<completion>();
      text->prompt = one.ids;
      text->how = common.how;
      text->key = mtf::random_key(seed);
      if (i > 0) text->key = text->key.of("sample").of(static_cast<std::uint64_t>(i));
      text->most = std::min(common.most, model.context - std::ssize(one.ids));
      text->least = common.least;
      text->ends = common.ends;
      text->bias = common.bias;
      text->most_likely = common.most_likely;
      text->stream.emplace(*model.words, one.ids, stops);
      r.texts.push_back(std::move(text));
      r.echoes.push_back(echo ? one.text : "");
    }
  }
  return r;
}

}  // namespace mtf::tools
