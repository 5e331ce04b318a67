#include "http_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <csignal>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <mtf/core/error.hpp>

#include "request.hpp"

namespace mtf::tools {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

std::string text(boost::beast::string_view of) { return {of.data(), of.size()}; }

}  // namespace

struct http_server::state {
  http_limits limits;
  handler handle;
  std::function<void(int)> refused;
  net::io_context io{1};
  net::executor_work_guard<net::io_context::executor_type> works{io.get_executor()};  // until it is told to end
  tcp::acceptor acceptor{io};
  net::signal_set signals{io};
  net::steady_timer again{io};
  std::set<std::shared_ptr<session>> sessions;
  std::function<void()> signalled;
  std::thread thread;

  void accept();
  void wait_for_signal();
};

/// A connection.
class http_server::session final : public http_reply, public std::enable_shared_from_this<session> {
 public:
  session(tcp::socket socket, state& of) : socket_(std::move(socket)), deadline_(of.io), of_(&of) {}

  void start() {
    error_code none;
    socket_.set_option(tcp::no_delay(true), none);
    probe();
    read();
  }
  /// As one connection too many.
  void refuse() {
    answers_ = true;
    closes_ = true;
    of_->refused(503);
    send(503, "application/json", api_error(503, "there are too many connections").body(), "Retry-After: 1\r\n");
  }

  void send(int status, std::string const& type, std::string const& body, std::string const& further) override {
    write(head(status, type) + "Content-Length: " + std::to_string(body.size()) + "\r\n" + further + "\r\n" +
          (of_head_ ? "" : body));
    finish();
  }
  void begin(std::string const& type) override {
    streams_ = true;
    chunked_ = version_ >= 11;
    if (!chunked_) closes_ = true;
    write(head(200, type) + "Cache-Control: no-cache\r\n" + (chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n"));
  }
  void add(std::string const& data) override {
    if (data.empty()) return;
    if (!chunked_) {
      write(data);
      return;
    }
    std::string size;
    for (auto n = data.size(); n > 0; n /= 16) size += "0123456789abcdef"[n % 16];
    std::reverse(size.begin(), size.end());
    write(size + "\r\n" + data + "\r\n");
  }
  void end() override {
    streams_ = false;
    if (chunked_) write("0\r\n\r\n");
    finish();
  }
  void close() {
    if (closed_) return;
    closed_ = true;
    deadline_.cancel();
    error_code none;
    socket_.shutdown(tcp::socket::shutdown_both, none);
    socket_.close(none);
    if (answers_)
      if (auto const f = std::exchange(gone, nullptr)) f();
    answers_ = false;
    of_->sessions.erase(shared_from_this());
  }
  /// Nothing of a reply is left to be written.
  [[nodiscard]] bool is_done() const { return !answers_ && out_.empty(); }

 private:
  /// The system asks now and then whether the client is there: one that has sent all that it sends and has gone, while
  /// nothing is written to it, is not seen otherwise.
  void probe() {
    error_code none;
    socket_.set_option(net::socket_base::keep_alive(true), none);
#if defined(TCP_KEEPIDLE) && defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    auto const set = [&](int option, int value) {
      ::setsockopt(socket_.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
    };
    set(TCP_KEEPIDLE, 10);
    set(TCP_KEEPINTVL, 10);
    set(TCP_KEEPCNT, 3);
#endif
  }
  [[nodiscard]] std::string head(int status, std::string const& type) const {
    return "HTTP/1.1 " + std::to_string(status) + " " + text(http::obsolete_reason(static_cast<http::status>(status))) +
           "\r\nContent-Type: " + type + "\r\nConnection: " + (closes_ ? "close" : "keep-alive") + "\r\n";
  }

  /// After that time the connection is over; none: no time is set.
  void within(std::optional<int> seconds) {
    deadline_.cancel();
    if (!seconds) return;
    deadline_.expires_after(std::chrono::seconds(*seconds));
    deadline_.async_wait([self = shared_from_this()](error_code e) {
      if (!e) self->close();
    });
  }

  /// What stands between a server and its clients closes a connection on which nothing comes: a comment comes.
  void keep_alive() {
    deadline_.cancel();
    deadline_.expires_after(
        std::chrono::duration_cast<net::steady_timer::duration>(std::chrono::duration<double>(of_->limits.silence)));
    deadline_.async_wait([self = shared_from_this()](error_code e) {
      if (!e && self->streams_) self->add(": the text comes later\n\n");
    });
  }

  void read() {
    if (closed_) return;
    reads_ = true;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(of_->limits.header));
    parser_->body_limit(of_->limits.body);
    within(of_->limits.seconds);
    http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](error_code e, std::size_t) {
      if (e) return self->failed(e);
      auto const& expects = self->parser_->get()[http::field::expect];
      if (!expects.empty() && !self->parser_->is_done()) self->write("HTTP/1.1 100 Continue\r\n\r\n");
      self->read_body();
    });
  }
  void read_body() {
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code e, std::size_t) {
      if (e) return self->failed(e);
      self->answer();
    });
  }
  void failed(error_code const& e) {
    bool const of_http = e.category() == http::make_error_code(http::error::bad_method).category();
    bool const went = !of_http || e == http::error::end_of_stream || e == http::error::partial_message;
    int const status = e == http::error::body_limit ? 413 : e == http::error::header_limit ? 431 : went ? 0 : 400;
    if (status == 0 || closed_) return close();
    reads_ = false;
    answers_ = true;
    closes_ = true;  // what follows cannot be told from what is wrong
    auto const words = status == 413   ? "the body has more than " + std::to_string(of_->limits.body) + " bytes"
                       : status == 431 ? "the head has more than " + std::to_string(of_->limits.header) + " bytes"
                                       : "this is no HTTP request: " + e.message();
    of_->refused(status);
    send(status, "application/json", api_error(status, words).body(), "");
  }
  void answer() {
    if (closed_) return;
    auto request = parser_->release();
    version_ = static_cast<int>(request.version());
    closes_ = !request.keep_alive();
    of_head_ = request.method() == http::verb::head;  // its answers have no body (RFC 9110, 9.3.2)
    reads_ = false;
    answers_ = true;
    within({});
    watch();
    of_->handle({text(request.method_string()), text(request.target()), std::move(request.body())}, shared_from_this());
  }

  /// Reads on while a reply is made: a client that goes away is seen. What else it sends is its next request.
  void watch() {
    if (watches_ || closed_) return;
    if (buffer_.size() >= of_->limits.header + of_->limits.body) return close();  // more than one request ahead
    watches_ = true;
    socket_.async_read_some(buffer_.prepare(1024), [self = shared_from_this()](error_code e, std::size_t n) {
      self->watches_ = false;
      // (Where the end came first, whoever reads the request that is there meets it again.)
      bool const broken_off =
          std::exchange(self->resumes_, false) && (e == net::error::operation_aborted || e == net::error::eof);
      bool const sends_no_more = e == net::error::eof && !self->lingers_ && !broken_off;
      if (sends_no_more && (self->answers_ || !self->out_.empty())) return self->answer_still();
      if (e && !broken_off) return self->close();
      self->buffer_.commit(n);
      if (self->lingers_)
        self->drain();
      else if (self->answers_ || !self->out_.empty())
        self->watch();
      else
        self->read();
    });
  }

  /// The client sends nothing more: it waits for its answer, or has gone. Only what is sent to it tells, so something
  /// is that says nothing: where nobody is left, it is refused.
  void answer_still() {
    socket_.async_wait(tcp::socket::wait_error, [self = shared_from_this()](error_code e) {
      if (e != net::error::operation_aborted) self->close();
    });
    if (streams_)
      add(": the text comes\n\n");
    else if (answers_ && version_ >= 11)
      write("HTTP/1.1 100 Continue\r\n\r\n");
  }

  void finish() {
    answers_ = false;
    gone = nullptr;
    if (out_.empty()) over();
  }
  /// A reply is written.
  void over() {
    if (closed_) return;
    if (closes_) return linger();
    within(of_->limits.seconds);
    if (!watches_) return read();
    if (buffer_.size() == 0) return;  // what comes next is read as a request
    resumes_ = true;
    error_code none;
    socket_.cancel(none);
  }
  /// Tells that nothing more comes, and reads what is still on its way: else the system would throw away what the
  /// client has not read.
  void linger() {
    error_code none;
    socket_.shutdown(tcp::socket::shutdown_send, none);
    within(5);
    lingers_ = true;
    drain();
  }
  void drain() {
    if (watches_ || closed_) return;
    buffer_.clear();
    watches_ = true;
    socket_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](error_code e, std::size_t) {
      self->watches_ = false;
      if (e) return self->close();
      self->drain();
    });
  }

  void write(std::string data) {
    if (closed_) return;
    waiting_ += data.size();
    if (waiting_ > of_->limits.backlog) return close();  // a client that does not read
    out_.push_back(std::move(data));
    if (out_.size() == 1) write_first();
  }
  void write_first() {
    within(of_->limits.seconds);
    net::async_write(socket_, net::buffer(out_.front()), [self = shared_from_this()](error_code e, std::size_t) {
      if (self->closed_) return;
      if (e) return self->close();
      self->waiting_ -= self->out_.front().size();
      self->out_.pop_front();
      if (!self->out_.empty()) return self->write_first();
      if (self->streams_)
        self->keep_alive();
      else if (self->answers_)
        self->within({});
      else if (!self->reads_)
        self->over();
    });
  }

  tcp::socket socket_;
  net::steady_timer deadline_;
  state* of_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::deque<std::string> out_;
  std::size_t waiting_ = 0;
  int version_ = 0;
  // It reads a request, makes a reply, closes behind it, as a stream, in chunks; reads on meanwhile, or only until the
  // client is done.
  bool reads_ = false, answers_ = false, closes_ = false, streams_ = false, chunked_ = false, of_head_ = false,
       watches_ = false;
  bool lingers_ = false;
  bool resumes_ = false, closed_ = false;
};

void http_server::state::accept() {
  acceptor.async_accept([this](error_code e, tcp::socket socket) {
    if (e == net::error::operation_aborted) return;
    if (e) {  // the process has no more files: one may be closed soon
      again.expires_after(std::chrono::milliseconds(100));
      again.async_wait([this](error_code stopped) {
        if (!stopped) accept();
      });
      return;
    }
    auto const one = std::make_shared<session>(std::move(socket), *this);
    auto const open = static_cast<int>(sessions.size());
    constexpr int most_refused = 64;  // that are told so; others find their connection closed
    if (open < limits.connections + most_refused) {
      sessions.insert(one);
      if (open < limits.connections)
        one->start();
      else
        one->refuse();
    }
    accept();
  });
}

http_server::http_server(std::string const& host, std::uint16_t port, http_limits const& limits, handler handle,
                         std::function<void(int)> refused)
    : state_(std::make_unique<state>()) {
  auto& s = *state_;
  s.limits = limits;
  s.handle = std::move(handle);
  s.refused = std::move(refused);
  error_code e;
  auto const address = net::ip::make_address(host, e);
  if (e) throw mtf::user_error("--host " + host + ": an address was expected, such as 127.0.0.1");
  tcp::endpoint const at(address, port);
  s.acceptor.open(at.protocol(), e);
  if (!e) s.acceptor.set_option(tcp::acceptor::reuse_address(true), e);
  if (!e) s.acceptor.bind(at, e);
  if (!e) s.acceptor.listen(tcp::acceptor::max_listen_connections, e);
  if (e)
    throw mtf::user_error("cannot listen on " + host + " port " + std::to_string(port) + ": " + e.message() +
                          "; another --port may be free");
  s.accept();
  s.thread = std::thread([&s] { s.io.run(); });
}

http_server::~http_server() {
  auto& s = *state_;
  // What has ended is written, for a second at most.
  net::post(s.io, [&s] {
    error_code none;
    s.acceptor.close(none);
    s.signals.cancel(none);
    s.again.cancel();
  });
  for (int i = 0; i < 100; ++i) {
    std::promise<bool> done;
    net::post(s.io, [&] {
      done.set_value(std::all_of(s.sessions.begin(), s.sessions.end(), [](auto const& one) { return one->is_done(); }));
    });
    if (done.get_future().get()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  net::post(s.io, [&s] {
    s.works.reset();
    for (auto const all = s.sessions; auto const& one : all) one->close();
  });
  s.thread.join();
}

std::uint16_t http_server::port() const {
  error_code none;
  return state_->acceptor.local_endpoint(none).port();
}
void http_server::post(std::function<void()> f) { net::post(state_->io, std::move(f)); }
void http_server::on_signal(std::function<void()> f) {
  net::post(state_->io, [this, f = std::move(f)] {
    state_->signalled = f;
    error_code none;
    for (int const one : {SIGINT, SIGTERM, SIGUSR1}) state_->signals.add(one, none);
    state_->wait_for_signal();
  });
}
void http_server::state::wait_for_signal() {
  signals.async_wait([this](error_code e, int) {
    if (e) return;
    signalled();
    wait_for_signal();
  });
}

}  // namespace mtf::tools
