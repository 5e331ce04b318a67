// The server, with a model that needs no ranks: what it answers, and what it refuses.
// links: serve_tool
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <mtf/data/tokenizer.hpp>
#include <mtf/ops/create/random.hpp>

#include "../tools/chat.hpp"
#include "../tools/serve/options.hpp"
#include "../tools/serve/reply.hpp"
#include "../tools/serve/request.hpp"
#include "../tools/serve/served_model.hpp"
#include "../tools/serve/service.hpp"
#include "../tools/writing/sampling.hpp"
#include "../tools/writing/text_stream.hpp"
#include "support/events_of.hpp"
#include "support/http_client.hpp"
#include "support/remembering_model.hpp"
#include "support/running_service.hpp"

namespace {

using nlohmann::json;
using support::client, support::alone, support::events_of;
using running = support::running_service;
using namespace std::chrono_literals;

TEST_CASE("what is there, and what is not") {
  running const s;
  client c(s.port);  // one connection for all of it
  c.ask("GET", "/health");
  CHECK(c.read().body == R"({"status":"ok"})");
  c.ask("GET", "/v1/models");
  auto const models = json::parse(c.read().body);
  CHECK(models["object"] == "list");
  CHECK(models["data"][0]["id"] == "letters");
  CHECK(models["data"][0]["object"] == "model");
  c.ask("GET", "/metrics?x=1");
  CHECK(c.read().body.find("\nmtf:num_requests_running 0\n") != std::string::npos);
  c.ask("GET", "/nowhere");
  auto const none = c.read();
  CHECK(none.status == 404);
  CHECK(json::parse(none.body)["error"]["message"].get<std::string>().starts_with("there is no /nowhere here"));
  c.ask("GET", "/v1/completions");
  auto const other_method = c.read();
  CHECK(other_method.status == 405);
  CHECK(other_method.head.find("\r\nAllow: POST\r\n") != std::string::npos);
  c.ask("POST", "/health");
  CHECK(c.read().status == 405);
  c.send("GET /health HTTP/1.0\r\n\r\n");
  CHECK(c.read().status == 200);
  CHECK(c.is_closed());
}

TEST_CASE("a text is what the model writes alone, whole or as a stream") {
  running const s;
  for (double const temperature : {0.0, 0.8})
    for (int seed = 0; seed < 8; ++seed) {
      json ask{{"model", "letters"},         {"prompt", "Once"}, {"max_tokens", 40},         {"seed", seed},
               {"temperature", temperature}, {"top_k", 12},      {"repetition_penalty", 1.2}};
      auto const e = alone(s.model, "Once", static_cast<std::uint64_t>(seed),
                           {.repetition_penalty = 1.2, .temperature = temperature, .top_k = 12}, 40);
      auto const whole = json::parse(s.completion(ask).body);
      CHECK(whole["object"] == "text_completion");
      CHECK(whole["choices"][0]["text"] == e.text);
      CHECK(whole["choices"][0]["finish_reason"] == e.ended_by);
      CHECK(whole["usage"] ==
            json{{"prompt_tokens", 4}, {"completion_tokens", e.tokens}, {"total_tokens", 4 + e.tokens}});
      ask["stream"] = true;
      ask["stream_options"] = {{"include_usage", true}};
      auto const stream = s.completion(ask);
      CHECK(stream.head.find("Content-Type: text/event-stream") != std::string::npos);
      std::string text;
      auto const events = events_of(stream.body);
      for (std::size_t i = 0; i + 1 < events.size(); ++i) {
        CHECK(events[i]["id"] == events[0]["id"]);
        CHECK(events[i]["usage"].is_null());
        text += events[i]["choices"][0]["text"].get<std::string>();
        bool const last = i + 2 == events.size();
        CHECK(events[i]["choices"][0]["finish_reason"] == (last ? json(e.ended_by) : json()));
      }
      CHECK(text == e.text);
      CHECK(events.back()["choices"].empty());
      CHECK(events.back()["usage"]["completion_tokens"] == e.tokens);
    }
}

TEST_CASE("a conversation") {
  running const s;
  json ask{{"messages", {{{"role", "user"}, {"content", "Hi"}}}}, {"temperature", 0}, {"max_tokens", 12}};
  std::string const prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  auto const e = alone(s.model, prompt, 0, {.temperature = 0}, 12);
  auto const whole = json::parse(s.asked("/v1/chat/completions", ask).body);
  CHECK(whole["object"] == "chat.completion");
  CHECK(whole["choices"][0]["message"] == json{{"role", "assistant"}, {"content", e.text}});
  CHECK(whole["usage"]["prompt_tokens"] == prompt.size());
  ask["messages"][0]["content"] = {{{"type", "text"}, {"text", "H"}}, {{"type", "text"}, {"text", "i"}}};
  ask["max_tokens"] = nullptr;
  ask["max_completion_tokens"] = 12;
  ask["stream"] = true;
  auto const events = events_of(s.asked("/v1/chat/completions", ask).body);
  CHECK(events[0]["object"] == "chat.completion.chunk");
  CHECK(events[0]["choices"][0]["delta"] == json{{"role", "assistant"}, {"content", ""}});
  std::string text;
  for (auto const& event : events) text += event["choices"][0]["delta"].value("content", "");
  CHECK(text == e.text);
  CHECK(events.back()["choices"][0]["finish_reason"] == e.ended_by);
}

TEST_CASE("several texts, echoes, stop texts, ends that are not heeded") {
  running const s;
  json const ask{{"prompt", {"ab", {99, 100, 101}}}, {"n", 3}, {"seed", 5}, {"max_tokens", 20}, {"echo", true}};
  auto const choices = json::parse(s.completion(ask).body)["choices"];
  REQUIRE(choices.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(choices[i]["index"] == i);
    CHECK(choices[i]["text"].get<std::string>().starts_with(i < 3 ? "ab" : "cde"));
  }
  CHECK(choices[0]["text"] == "ab" + alone(s.model, "ab", 5, {}, 20).text);
  CHECK(choices[0]["text"] != choices[1]["text"]);
  CHECK(json::parse(s.completion(ask).body)["choices"] == choices);
  // A stop text that comes over two tokens: nothing of it is told, however the text is.
  auto const e = alone(s.model, "ab", 5, {}, 30);
  for (std::size_t at = 3; at + 2 < std::min<std::size_t>(e.text.size(), 12); ++at) {
    auto const stop = e.text.substr(at, 2);
    if (static_cast<unsigned char>(stop[0]) >= 128 || static_cast<unsigned char>(stop[1]) >= 128) continue;
    json with{{"prompt", "ab"}, {"seed", 5}, {"max_tokens", 30}, {"stop", {stop, "nowhere"}}};
    auto const before = alone(s.model, "ab", 5, {}, 30, stop);
    auto const choice = json::parse(s.completion(with).body)["choices"][0];
    CHECK(choice["text"] == before.text);
    CHECK(choice["finish_reason"] == "stop");
    with["stream"] = true;
    std::string text;
    for (auto const& event : events_of(s.completion(with).body)) text += event["choices"][0]["text"].get<std::string>();
    CHECK(text == before.text);
  }
  // An end of text that is likely: heeded, not heeded, not before the least number of tokens.
  json end{{"prompt", "ab"}, {"seed", 5}, {"max_tokens", 9}, {"logit_bias", {{"0", 100}}}};
  auto const first_of = [&](json const& of) { return json::parse(s.completion(of).body); };
  CHECK(first_of(end)["choices"][0]["text"] == "");
  CHECK(first_of(end)["choices"][0]["finish_reason"] == "stop");
  end["min_tokens"] = 4;
  CHECK(first_of(end)["usage"]["completion_tokens"] == 4);
  end["ignore_eos"] = true;
  CHECK(first_of(end)["usage"]["completion_tokens"] == 9);
  CHECK(first_of(end)["choices"][0]["finish_reason"] == "length");
  end = {{"prompt", "ab"}, {"max_tokens", 9}, {"logit_bias", {{"120", 100}}}, {"stop_token_ids", {120}}};
  CHECK(first_of(end)["choices"][0]["finish_reason"] == "stop");
  end = {{"prompt", "ab"}, {"max_tokens", 9}, {"min_tokens", 3}, {"logit_bias", {{"120", 100}}}, {"stop", "x"}};
  CHECK(first_of(end)["choices"][0]["text"] == "xx");
  CHECK(first_of(end)["choices"][0]["finish_reason"] == "stop");
}

TEST_CASE("probabilities") {
  running const s;
  json ask{{"prompt", "q"}, {"max_tokens", 5}, {"temperature", 0}, {"logprobs", 3}, {"logit_bias", {{"65", 100}}}};
  auto const told = json::parse(s.completion(ask).body)["choices"][0]["logprobs"];
  CHECK(told["tokens"] == json(std::vector<std::string>(5, "A")));
  CHECK(told["text_offset"] == json({0, 1, 2, 3, 4}));
  std::vector<std::int32_t> all{'q'};
  for (std::size_t i = 0; i < 5; ++i) {
    auto const z = s.model.behind(all);
    double sum = 0;
    for (auto const v : z) sum += std::exp(static_cast<double>(v));
    CHECK(told["token_logprobs"][i].get<double>() == doctest::Approx(z[65] - std::log(sum)).epsilon(1e-5));
    CHECK(told["top_logprobs"][i].contains("A"));  // whatever is likely
    CHECK(told["top_logprobs"][i].size() <= 4);
    all.push_back(65);
  }
  json chat{{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
            {"max_tokens", 4},
            {"logprobs", true},
            {"top_logprobs", 2},
            {"stream", true},
            {"ignore_eos", true}};
  int entries = 0;
  for (auto const& event : events_of(s.asked("/v1/chat/completions", chat).body)) {
    auto const& of = event["choices"][0]["logprobs"];
    if (of.is_null()) continue;
    for (auto const& entry : of["content"]) {
      ++entries;
      CHECK(entry["bytes"].size() == 1);
      CHECK(entry["logprob"].get<double>() <= 0);
      CHECK(entry["top_logprobs"].size() == 2);
    }
  }
  CHECK(entries == 4);
}

TEST_CASE("what is refused is said") {
  running const s([](auto& o, auto& model) {
    model.positions = 64;
    o.most_texts = 4;
    o.body = 4096;
  });
  struct {
    json body;
    int status;
    char const* says;
  } const cases[]{
      {{{"prompt", "a"}, {"best_of", 3}}, 400, "best_of: expected n, or 1"},
      {{{"prompt", "a"}, {"suffix", "b"}}, 400, "suffix: expected no suffix"},
      {{{"prompt", "a"}, {"guided_json", "b"}}, 400, "the field \\\"guided_json\\\" is not taken here"},
      {{{"model", "gpt-4"}, {"prompt", "a"}}, 404, "there is no model \\\"gpt-4\\\" here, but \\\"letters\\\""},
      {{{"max_tokens", 3}}, 400, "prompt: expected a text, found none"},
      {{{"prompt", 7}}, 400, "prompt: expected a text, texts, the numbers of tokens"},
      {{{"prompt", {256}}}, 400, "prompt: expected numbers of tokens, from 0 to 255, found 256"},
      {{{"prompt", ""}}, 400, "prompt: it has no tokens"},
      {{{"prompt", std::string(64, 'x')}}, 400, "the prompt has 64 tokens; there is room for 64"},
      {{{"prompt", "a"}, {"max_tokens", 0}}, 400, "max_tokens: expected a whole number from 1"},
      {{{"prompt", "a"}, {"max_tokens", 3}, {"min_tokens", 4}}, 400, "min_tokens: expected a whole number from 0 to 3"},
      {{{"prompt", "a"}, {"user", 7}}, 400, "user: expected a text"},
      {{{"prompt", "a"}, {"max_tokens", 1.5}}, 400, "max_tokens: expected a whole number"},
      {{{"prompt", "a"}, {"temperature", -1}}, 400, "temperature: expected a number from 0"},
      {{{"prompt", "a"}, {"temperature", "hot"}}, 400, "temperature: expected a number"},
      {{{"prompt", "a"}, {"top_p", 1.1}}, 400, "top_p: expected a number from 0 to 1"},
      {{{"prompt", "a"}, {"n", 5}}, 400, "n: expected a whole number from 1 to 4"},
      {{{"prompt", {"a", "b", "c"}}, {"n", 2}}, 400, "expected at most 4 texts, prompts times n; found 3 times 2"},
      {{{"prompt", "a"}, {"stop", ""}}, 400, "stop: expected a text that is not empty"},
      {{{"prompt", "a"}, {"logit_bias", {{"256", 1}}}}, 400, "logit_bias: expected the number of a token"},
      {{{"prompt", "a"}, {"logit_bias", {{"6", 101}}}}, 400, "logit_bias: expected a number from -100 to 100"},
      {{{"prompt", "a"}, {"seed", "x"}}, 400, "seed: expected a whole number"},
      {{{"prompt", "a"}, {"logprobs", 21}}, 400, "logprobs: expected a whole number from 0 to 20"},
      {{{"prompt", "a"}, {"logprobs", 1}, {"echo", true}}, 400, "leave echo or logprobs out"},
      {{{"prompt", "a"}, {"stream_options", {{"include_usage", true}}}},
       400,
       "stream_options: expected an object, beside"},
      {{{"messages", {{{"role", "user"}, {"content", "a"}}}}}, 400, "prompt: expected a text"},
  };
  for (auto const& c : cases) {
    CAPTURE(std::string(c.says));
    auto const a = s.completion(c.body);
    CHECK(a.status == c.status);
    CHECK(a.body.find(c.says) != std::string::npos);
    CHECK(json::parse(a.body)["error"]["code"] == c.status);
  }
  struct {
    json body;
    char const* says;
  } const chats[]{
      {{{"prompt", "a"}}, "messages: expected a list of messages"},
      {{{"messages", json::array()}}, "messages: expected a list of messages"},
      {{{"messages", {{{"role", "tool"}, {"content", "a"}}}}}, "a role that is system, user or assistant"},
      {{{"messages", {{{"role", "user"}}}}}, "a content that is a text"},
      {{{"messages", {{{"role", "user"}, {"content", {{{"type", "image_url"}}}}}}}}, "parts of content that are texts"},
      {{{"messages", {{{"role", "user"}, {"content", "a"}}}}, {"tools", {1}}}, "tools: expected no tools"},
      {{{"messages", {{{"role", "user"}, {"content", "a"}}}}, {"top_logprobs", 2}}, "top_logprobs: expected"},
      {{{"messages", {{{"role", "user"}, {"content", "a"}}}}, {"response_format", {{"type", "json_object"}}}},
       "response_format"},
  };
  for (auto const& c : chats) {
    CAPTURE(std::string(c.says));
    auto const a = s.asked("/v1/chat/completions", c.body);
    CHECK(a.status == 400);
    CHECK(a.body.find(c.says) != std::string::npos);
  }
  auto const raw = [&](std::string const& text) {
    client c(s.port);
    c.send(text);
    auto const a = c.read();
    CHECK(c.is_closed());
    return a.status;
  };
  CHECK(raw("rubbish\r\n\r\n") == 400);
  CHECK(raw(std::string(4, '\0') + "\r\n\r\n") == 400);
  CHECK(raw("POST /v1/completions HTTP/1.1\r\nContent-Length: 5000\r\n\r\n") == 413);
  CHECK(raw("GET /health HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n") == 431);
  CHECK(raw("POST /v1/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n") == 400);
  client c(s.port);
  c.ask("POST", "/v1/completions", "{\"prompt\": " + std::string(2000, '['));
  CHECK(c.read().body.find("nested more than 32 deep") != std::string::npos);
  for (char const* const body : {"", "{", "[]", "{\"prompt\": \"a\", \"seed\": 1e999}", "\xff"}) {
    c.ask("POST", "/v1/completions", body);
    CHECK(c.read().status == 400);
  }
  c.ask("POST", "/v1/completions", R"({"prompt": "a", "max_tokens": 2})");  // and the connection is good
  CHECK(c.read().status == 200);
}

/// A tokenizer whose text begins with a token.
TEST_CASE("a conversation begins once, and a directory's numbers hold where a request has none") {
  mtf::byte_tokenizer words;
  mtf::tools::served_model const model{.name = "letters",
                                       .words = &words,
                                       .before = {66},
                                       .first = 66,
                                       .ends = {0, 3},
                                       .how = {.repetition_penalty = 1.5, .temperature = 0.25, .top_k = 7},
                                       .chat = mtf::tools::chat_template{"<|start_header_id|>", "x"},
                                       .vocabulary = 256,
                                       .context = 400,
                                       .most_texts = 4};
  auto const asked = [&](mtf::tools::api by, json const& body) {
    return mtf::tools::request_from(body.dump(), by, model, 1);
  };
  auto const chat = asked(mtf::tools::api::chat, {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}});
  auto const& prompt = chat.texts.front()->prompt;  // the template begins with the token's text
  CHECK(prompt[0] == 66);
  CHECK(prompt[1] == '<');
  CHECK(chat.texts.front()->most == 400 - std::ssize(prompt));
  auto const text = asked(mtf::tools::api::completions, {{"prompt", "Hi"}});
  CHECK(text.texts.front()->prompt == std::vector<std::int32_t>{66, 'H', 'i'});
  CHECK(text.texts.front()->most == 16);
  CHECK(text.texts.front()->ends == std::vector<std::int32_t>{0, 3});
  CHECK(text.texts.front()->how.repetition_penalty == 1.5);
  CHECK(text.texts.front()->how.temperature == 0.25);
  CHECK(text.texts.front()->how.top_k == 7);
  CHECK(asked(mtf::tools::api::completions, {{"prompt", ""}}).texts.front()->prompt == std::vector<std::int32_t>{66});
  auto const own = asked(mtf::tools::api::completions,
                         {{"prompt", "Hi"}, {"temperature", 2}, {"top_k", -1}, {"repetition_penalty", 1}});
  CHECK(own.texts.front()->how.repetition_penalty == 1);
  CHECK(own.texts.front()->how.temperature == 2);
  CHECK(own.texts.front()->how.top_k == 0);
}

/// JSON has no infinity.
TEST_CASE("a probability of 0") {
  mtf::byte_tokenizer words;
  mtf::tools::served_model model;
  model.name = "letters";
  model.words = &words;
  model.vocabulary = 256;
  model.context = 40;
  model.most_texts = 4;
  auto const asked =
      mtf::tools::request_from(R"({"prompt": "a", "logprobs": 1})", mtf::tools::api::completions, model, 1);
  mtf::tools::reply says(model, asked, 1, 0);
  auto const none = -std::numeric_limits<float>::infinity();
  says.add(0, {.token = mtf::tools::drawn_token{65, none, {{66, none}}}, .text = "A", .ended_by = "length"});
  auto const told = json::parse(says.whole())["choices"][0]["logprobs"];
  CHECK(told["token_logprobs"][0] == -9999.0);
  CHECK(told["top_logprobs"][0] == json{{"A", -9999.0}, {"B", -9999.0}});
}

}  // namespace
