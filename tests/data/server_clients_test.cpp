// The server's clients: as many as there is room for, who waits, who goes away, and its end.
// links: serve_tool
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/events_of.hpp"
#include "support/http_client.hpp"
#include "support/running_service.hpp"

namespace {

using nlohmann::json;
using support::client, support::events_of;
using running = support::running_service;
using namespace std::chrono_literals;

TEST_CASE("as many as there is room for") {
  running const s([](auto& o, auto& model) {
    model.step_takes = 2ms;
    o.rows = 1;
    o.waiting = 2;
    o.connections = 6;
  });
  json const ask{{"prompt", "a"}, {"max_tokens", 100}, {"ignore_eos", true}, {"stream", true}};
  std::vector<std::unique_ptr<client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<client>(s.port));
    clients.back()->ask("POST", "/v1/completions", ask.dump());
    if (i == 0) clients.back()->up_to("data: ");  // it is written
  }
  CHECK(s.comes_to("num_requests_waiting", 2));
  auto const full = s.completion(ask);
  CHECK(full.status == 429);
  CHECK(full.head.find("Retry-After") != std::string::npos);
  CHECK(json::parse(full.body)["error"]["type"] == "rate_limit_error");
  for (int i = 0; i < 3; ++i) clients.push_back(std::make_unique<client>(s.port));
  std::this_thread::sleep_for(50ms);
  client one_too_many(s.port);
  CHECK(one_too_many.read().status == 503);
  clients.resize(3);
  for (auto& c : clients) CHECK(c->up_to("data: [DONE]").size() > 100);
}

TEST_CASE("a stream that waits says that it is alive") {
  running const s([](auto& o, auto& model) {
    model.step_takes = 2ms;
    o.rows = 1;
    o.silence = 0.02;
  });
  json const ask{{"prompt", "a"}, {"max_tokens", 100}, {"ignore_eos", true}, {"stream", true}, {"seed", 1}};
  client before(s.port), waits(s.port);
  before.ask("POST", "/v1/completions", ask.dump());
  before.up_to("data: ");
  waits.ask("POST", "/v1/completions", ask.dump());
  auto body = waits.read().body;
  std::string const comment = ": the text comes later\n\n";
  CHECK(body.starts_with(comment));
  int comments = 0;
  for (std::size_t at = 0; (at = body.find(comment)) != std::string::npos; ++comments) body.erase(at, comment.size());
  CHECK(comments >= 2);
  std::string text;
  for (auto const& event : events_of(body)) text += event["choices"][0]["text"].get<std::string>();
  auto const whole = s.completion({{"prompt", "a"}, {"max_tokens", 100}, {"ignore_eos", true}, {"seed", 1}});
  CHECK(text == json::parse(whole.body)["choices"][0]["text"].get<std::string>());
}

TEST_CASE("who goes away frees what was kept for him") {
  running const s([](auto& o, auto& model) {
    model.step_takes = 1ms;
    model.positions = 20000;
    o.context = 20000;
    o.rows = 2;
    o.chunk = 4;
  });
  json const long_one{{"prompt", "a"}, {"max_tokens", 10000}, {"ignore_eos", true}};
  auto streaming = long_one;
  streaming["stream"] = true;
  json const long_prompt{{"prompt", std::string(10000, 'x')}, {"max_tokens", 5}};
  {
    client stream(s.port), whole(s.port), queued(s.port), queued_stream(s.port);
    stream.ask("POST", "/v1/completions", streaming.dump());
    stream.up_to("data: ");
    whole.ask("POST", "/v1/completions", long_one.dump());
    CHECK(s.comes_to("num_requests_running", 2));
    queued.ask("POST", "/v1/completions", long_one.dump());
    queued_stream.ask("POST", "/v1/completions", streaming.dump());
    CHECK(s.comes_to("num_requests_waiting", 2));
    queued.leave();
    CHECK(s.comes_to("num_requests_waiting", 1));
    whole.leave();
    CHECK(s.comes_to("num_requests_waiting", 0));
    queued_stream.leave();
    CHECK(s.comes_to("num_requests_running", 1));
    stream.leave();
    CHECK(s.comes_to("num_requests_running", 0));
  }
  {  // while its prompt is read
    client c(s.port);
    c.ask("POST", "/v1/completions", long_prompt.dump());
    CHECK(s.comes_to("num_requests_running", 1));
    c.leave();
    CHECK(s.comes_to("num_requests_running", 0));
  }
  // With its next request already sent; and with many.
  for (int const more : {1, 2000}) {
    client c(s.port);
    c.ask("POST", "/v1/completions", long_one.dump());
    for (int i = 0; i < more; ++i) c.ask("GET", "/health");
    CHECK(s.comes_to("num_requests_running", 1));
    c.leave();
    CHECK(s.comes_to("num_requests_running", 0));
  }
  {  // in the middle of a request
    client c(s.port);
    c.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 500\r\n\r\n{\"prompt\"");
    c.leave();
  }
  // Requests one after the other, sent at once.
  client c(s.port);
  c.ask("POST", "/v1/completions", R"({"prompt": "a", "max_tokens": 3, "temperature": 0, "ignore_eos": true})");
  c.ask("GET", "/health");
  CHECK(json::parse(c.read().body)["usage"]["completion_tokens"] == 3);
  CHECK(c.read().body == R"({"status":"ok"})");
}

TEST_CASE("told to end, it answers whom it has") {
  std::thread asking;
  std::atomic<int> status{0};
  {
    running const s([](auto&, auto& model) { model.step_takes = 1ms; });
    asking = std::thread([&status, port = s.port] {
      client c(port);
      c.ask("POST", "/v1/completions", R"({"prompt": "a", "max_tokens": 100, "ignore_eos": true})");
      status = c.read().status;
    });
    CHECK(s.comes_to("num_requests_running", 1));
  }
  asking.join();
  CHECK(status == 200);
}

}  // namespace
