#pragma once
// A client of a server on this machine.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace support {

/// A connection.
class client {
 public:
  explicit client(std::uint16_t port) { socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port}); }

  void send(std::string const& text) { boost::asio::write(socket_, boost::asio::buffer(text)); }
  void ask(std::string const& method, std::string const& path, std::string const& body = "") {
    send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body);
  }
  struct answer {
    int status = 0;
    std::string head, body;
  };
  /// A whole reply, in chunks or not.
  answer read() {
    answer a;
    a.head = up_to("\r\n\r\n");
    a.status = std::stoi(a.head.substr(9, 3));
    if (a.head.find("chunked") != std::string::npos) {
      while (true) {
        auto const size = std::stoul(up_to("\r\n"), nullptr, 16);
        a.body += bytes(size);
        bytes(2);
        if (size == 0) return a;
      }
    }
    auto const at = a.head.find("Content-Length: ");
    if (at == std::string::npos) throw std::runtime_error("no length: " + a.head);
    a.body = bytes(std::stoul(a.head.substr(at + 16)));
    return a;
  }
  std::string up_to(std::string const& end) {
    auto const n = boost::asio::read_until(socket_, boost::asio::dynamic_buffer(buffer_), end);
    return taken(n);
  }
  bool is_closed() {
    char c = 0;
    boost::system::error_code e;
    return buffer_.empty() && socket_.read_some(boost::asio::buffer(&c, 1), e) == 0;
  }
  void leave() { socket_.close(); }

 private:
  std::string bytes(std::size_t n) {
    while (buffer_.size() < n) {
      char some[4096];
      buffer_.append(some, socket_.read_some(boost::asio::buffer(some)));
    }
    return taken(n);
  }
  std::string taken(std::size_t n) {
    auto text = buffer_.substr(0, n);
    buffer_.erase(0, n);
    return text;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  std::string buffer_;
};

}  // namespace support
