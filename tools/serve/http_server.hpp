#pragma once
// HTTP/1.1 for a server of few, long replies: whole ones, and streams of events that end when the client goes away.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace mtf::tools {

struct http_limits {
  std::size_t body = 1 << 20, header = 16 << 10;  // bytes of a request
  std::size_t backlog = 4 << 20;                  // bytes that a client has not read
  int connections = 512;
  int seconds = 60;     // for a request to come, or for a client to read
  double silence = 15;  // seconds after which a stream in which nothing comes tells that it is alive
};

struct http_request {
  std::string method, target, body;
};

/// A request's reply. Called in the server's thread alone; where the client has gone, nothing happens.
class http_reply {
 public:
  virtual ~http_reply() = default;
  http_reply() = default;
  http_reply(http_reply const&) = delete;
  http_reply& operator=(http_reply const&) = delete;

  /// All of it. `further`: more lines of its head, each with its end.
  virtual void send(int status, std::string const& type, std::string const& body, std::string const& further = "") = 0;
  /// Or in pieces.
  virtual void begin(std::string const& type) = 0;
  virtual void add(std::string const& data) = 0;
  virtual void end() = 0;
  /// Called at most once, when the client goes away before the end.
  std::function<void()> gone;
};

/// Listens, in a thread of its own, which calls all that it is given.
class http_server {
 public:
  using handler = std::function<void(http_request const&, std::shared_ptr<http_reply> const&)>;

  /// `port` 0: any that is free. What cannot be listened to is a user_error. `refused(status)`: a request was refused
  /// that `handle` has not seen, as it is none, or too large, or one connection too many.
  http_server(
      std::string const& host, std::uint16_t port, http_limits const& limits, handler handle,
      std::function<void(int)> refused = [](int) {});
  http_server(http_server const&) = delete;
  http_server& operator=(http_server const&) = delete;
  /// Replies that have ended are sent; others are broken off.
  ~http_server();

  [[nodiscard]] std::uint16_t port() const;
  /// Has the server's thread call f. By any thread.
  void post(std::function<void()> f);
  /// f(): SIGINT, SIGTERM or SIGUSR1 came.
  void on_signal(std::function<void()> f);

 private:
  class session;
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace mtf::tools
