#pragma once
// Requests in, work for the engine out, and back.
#include <cstdint>
#include <functional>
#include <memory>

#include "../writing/model_on_ranks.hpp"
#include "options.hpp"

namespace mtf::tools {

class service {
 public:
  service(serve_options const& o, model_on_ranks const& model);
  service(service const&) = delete;
  service& operator=(service const&) = delete;
  ~service();

  /// The rank that speaks: listens, and answers until it is told to end, by a signal or by stop(). ready(port): it
  /// listens. A signal that mtf::listen_for_stop() caught before ends it at once.
  void run(std::function<void(std::uint16_t port)> const& ready);
  /// The others, until it ends.
  void follow();
  /// By any thread, once it listens: takes no more requests, and ends when those that are there are answered. The
  /// second time: ends. Nothing once it has ended.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace mtf::tools
