// The server at the edges of HTTP: clients that send no more, requests that never reach it, signals before it listens.
// links: serve_tool
#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <nlohmann/json.hpp>

#include <mtf/train/stop_signal.hpp>

#include "support/http_client.hpp"
#include "support/remembering_model.hpp"
#include "support/running_service.hpp"

namespace {

using nlohmann::json;
using running = support::running_service;
using tcp = boost::asio::ip::tcp;

/// What comes of a whole request behind which the client closes its sending side, up to the server's end.
std::string told_behind_an_end(std::uint16_t port, std::string const& request) {
  boost::asio::io_context io;
  tcp::socket socket(io);
  socket.connect({boost::asio::ip::make_address("127.0.0.1"), port});
  boost::asio::write(socket, boost::asio::buffer(request));
  socket.shutdown(tcp::socket::shutdown_send);
  std::string all;
  boost::system::error_code e;
  boost::asio::read(socket, boost::asio::dynamic_buffer(all), e);
  CHECK(e == boost::asio::error::eof);
  return all;
}
std::string post(json const& body, std::string const& version = "1.1") {
  auto const text = body.dump();
  return "POST /v1/completions HTTP/" + version + "\r\nHost: x\r\nContent-Length: " + std::to_string(text.size()) +
         "\r\n\r\n" + text;
}
/// Behind what says nothing.
std::string without_continue(std::string const& text) {
  constexpr std::string_view none = "HTTP/1.1 100 Continue\r\n\r\n";
  return text.starts_with(none) ? text.substr(none.size()) : text;
}

TEST_CASE("a client that sends no more gets its answers") {
  for (int const slow : {0, 2000}) {
    running const s([&](auto&, auto& model) { model.step_takes = std::chrono::microseconds(slow); });
    for (auto const* const version : {"1.0", "1.1"}) {
      CAPTURE(version);
      for (int i = 0; i < 10; ++i) {
        json const body{{"prompt", "once"}, {"max_tokens", 20}, {"seed", 5}, {"ignore_eos", true}};
        auto const all = without_continue(told_behind_an_end(s.port, post(body, version)));
        CHECK(all.starts_with("HTTP/1.1 200 OK\r\n"));
        auto const at = all.find("\r\n\r\n");
        REQUIRE(at != std::string::npos);
        CHECK(json::parse(all.substr(at + 4))["usage"]["completion_tokens"] == 20);
      }
      json const body{{"prompt", "once"}, {"max_tokens", 20}, {"stream", true}};
      auto const all = without_continue(told_behind_an_end(s.port, post(body, version)));
      CHECK(all.starts_with("HTTP/1.1 200 OK\r\n"));
      CHECK(all.find("data: [DONE]\n\n") != std::string::npos);
    }
    // Several requests, one behind the other.
    json const body{{"prompt", "once"}, {"max_tokens", 3}, {"seed", 5}};
    auto all = told_behind_an_end(s.port, post(body) + post(body) + "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    int answers = 0;
    for (std::size_t at = 0; (at = all.find("HTTP/1.1 200 OK", at)) != std::string::npos; ++at) ++answers;
    CHECK(answers == 3);
    CHECK(told_behind_an_end(s.port, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n").ends_with(R"({"status":"ok"})"));
    // Half a request has no answer.
    CHECK(told_behind_an_end(s.port, post(body).substr(0, 80)).empty());
    CHECK(s.comes_to("num_requests_running", 0));
    CHECK(s.metric("request_success_total{finished_reason=\"abort\"}") == -1);
  }
}

TEST_CASE("one that has gone is told from one that sends no more") {
  running const s([](auto& o, auto& model) {
    o.rows = 1;
    model.step_takes = std::chrono::microseconds(5000);
    model.positions = 1 << 20;
    o.context = 1 << 20;
  });
  for (bool const streams : {false, true}) {
    support::client written(s.port), waits(s.port);
    json const body{{"prompt", "once"}, {"max_tokens", 100000}, {"ignore_eos", true}, {"stream", streams}};
    written.ask("POST", "/v1/completions", body.dump());
    REQUIRE(s.comes_to("num_requests_running", 1));
    waits.ask("POST", "/v1/completions", body.dump());
    REQUIRE(s.comes_to("num_requests_waiting", 1));
    waits.leave();
    CHECK(s.comes_to("num_requests_waiting", 0));
    CHECK(s.metric("num_requests_running") == 1);
    written.leave();
    CHECK(s.comes_to("num_requests_running", 0));
  }
}

TEST_CASE("requests that are refused before they are read are counted, by status") {
  running const s([](auto& o, auto&) { o.body = 300; });
  auto const refused = [&](int status) {
    return s.metric("request_refused_total{status=\"" + std::to_string(status) + "\"}");
  };
  for (long n = 1; n <= 3; ++n) {
    {
      support::client c(s.port);
      c.ask("POST", "/v1/completions", std::string(301, ' '));
      CHECK(c.read().status == 413);
    }
    CHECK(refused(413) == n);
    {
      support::client c(s.port);
      c.send("GET /" + std::string(1 << 15, 'a') + " HTTP/1.1\r\n\r\n");
      CHECK(c.read().status == 431);
    }
    CHECK(refused(431) == n);
    {
      support::client c(s.port);
      c.send("this is none\r\n\r\n");
      CHECK(c.read().status == 400);
    }
    CHECK(refused(400) == n);
  }
  running const small([](auto& o, auto&) { o.connections = 2; });
  {
    support::client a(small.port), b(small.port);
    a.ask("GET", "/health");
    b.ask("GET", "/health");
    CHECK(a.read().status == 200);
    CHECK(b.read().status == 200);
    support::client c(small.port);
    CHECK(c.read().status == 503);
  }
  long counted = -1;  // by /metrics, which is refused too until the others' ends are seen
  for (int i = 0; i < 500 && counted < 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    counted = small.metric("request_refused_total{status=\"503\"}");
  }
  CHECK(counted >= 1);
}

TEST_CASE("a signal that came before it listens ends it") {
  running other;  // whose directory is read
  mtf::listen_for_stop();
  REQUIRE(std::raise(SIGTERM) == 0);
  auto const options = other.options;
  mtf::tools::service of(options, other.model.on_ranks());
  auto const ended = std::async(std::launch::async, [&] { of.run([](std::uint16_t) {}); });
  CHECK(ended.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  of.stop();  // of one that has ended: nothing, as for `other`, which saw the signal or not
  mtf::detail::stop_signal_came = 0;
}

}  // namespace
