#include "service.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/data/tokenizer.hpp>
#include <mtf/train/stop_signal.hpp>

#include "../chat.hpp"
#include "../model_source.hpp"
#include "../writing/engine.hpp"
#include "http_server.hpp"
#include "metrics.hpp"
#include "options.hpp"
#include "reply.hpp"
#include "request.hpp"
#include "served_model.hpp"

namespace mtf::tools {
namespace {

using clock_type = std::chrono::steady_clock;
constexpr char const* json_type = "application/json";

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

}  // namespace

/// In the server's thread, but for the engine's steps.
struct service::state {
  state(serve_options const& o, model_on_ranks const& model)
      : o_(o),
        engine_(model, {.rows = o.rows, .chunk = o.chunk, .waiting = o.waiting}),
        words_(o.on.model->tokenizer(o.on.tokenizer)) {
    served_ = {.name = o.name,
               .words = words_.get(),
               .before = ids_before(*words_),
               .first = o.said.first,
               .ends = o.said.ends,
               .how = o.how,
               .chat = chat_template_of(*o.on.model),
               .vocabulary = model.vocabulary,
               .context = std::min(o.context, model.positions),
               .most_texts = std::min(o.most_texts, static_cast<std::int64_t>(o.waiting)),
               .since = std::time(nullptr)};
  }

  /// Where it cannot listen the other ranks end too.
  std::unique_ptr<http_server> listening() try {
    return std::make_unique<http_server>(
        o_.host, o_.port, http_limits{.body = o_.body, .connections = o_.connections, .silence = o_.silence},
        [this](http_request const& asked, std::shared_ptr<http_reply> const& to) { handle(asked, to); },
        [this](int status) { ++metrics_.refused[status]; });
  } catch (...) {
    engine_.end();
    throw;
  }
  /// As long as it lives the server can be told to end.
  class while_there {
   public:
    while_there(state& of, http_server& server) : of_(of) { set(&server); }
    while_there(while_there const&) = delete;
    while_there& operator=(while_there const&) = delete;
    ~while_there() { set(nullptr); }

   private:
    void set(http_server* server) {
      std::scoped_lock const lock(of_.mutex_);
      of_.server_ = server;
    }
    state& of_;
  };
  /// By any thread.
  void ask_to_stop() {
    std::scoped_lock const lock(mutex_);
    if (server_ != nullptr) server_->post([this] { stop(); });
  }
  /// Until it is told to end.
  void run(std::function<void(std::uint16_t port)> const& ready) {
    auto const server = listening();
    while_there const there(*this, *server);
    server->on_signal([this] { stop(); });
    server->post([this] {  // one that came before
      if (mtf::stop_asked()) stop();
    });
    ready(server->port());
    while (true) {
      if (engine_.step()) continue;
      if (ending_ && engine_.waiting() == 0) break;
      engine_.wait(std::chrono::milliseconds(5));
    }
    engine_.end();
  }
  /// The second time what is under way is given up.
  void stop() {
    if (ending_.exchange(true)) cancel_all();
    engine_.wake();
  }

  /// A request that is answered.
  struct answering {
    std::shared_ptr<http_reply> to;
    text_request of;
    reply says;
    clock_type::time_point began = clock_type::now();
    std::vector<clock_type::time_point> newest;  // of each text, when its newest token came
    std::size_t ended = 0;
  };

  void handle(http_request const& asked, std::shared_ptr<http_reply> const& to) try {
    auto const path = asked.target.substr(0, asked.target.find('?'));
    bool const completions = path == "/v1/completions", chat = path == "/v1/chat/completions";
    bool const known = completions || chat || path == "/health" || path == "/v1/models" || path == "/metrics";
    if (!known)
      throw api_error(404, "there is no " + path +
                               " here, but /v1/completions, /v1/chat/completions, /v1/models, /health, /metrics");
    auto const* const method = completions || chat ? "POST" : "GET";
    if (asked.method != method)
      return refuse(api_error(405, path + ": expected " + method + ", found " + asked.method), to,
                    std::string("Allow: ") + method + "\r\n");
    if (path == "/health") return to->send(200, json_type, R"({"status":"ok"})");
    if (path == "/v1/models") return to->send(200, json_type, models());
    if (path == "/metrics")
      return to->send(200, "text/plain; version=0.0.4",
                      metrics_.text(static_cast<std::size_t>(engine_.running()), engine_.waiting()));
    if (ending_) throw api_error(503, "the server is ending");
    begin(request_from(asked.body, chat ? api::chat : api::completions, served_, random_()), to);
  } catch (api_error const& e) {
    refuse(e, to);
  } catch (std::exception const& e) {
    refuse(api_error(500, e.what()), to);
  }

  void refuse(api_error const& e, std::shared_ptr<http_reply> const& to, std::string further = "") {
    ++metrics_.refused[e.status()];
    if (e.status() == 429 || e.status() == 503) further += "Retry-After: 1\r\n";
    to->send(e.status(), json_type, e.body(), further);
  }

  [[nodiscard]] std::string models() const {
    nlohmann::ordered_json model;
    model["id"] = served_.name;
    model["object"] = "model";
    model["created"] = served_.since;
    model["owned_by"] = "mtf";
    model["max_model_len"] = served_.context;
    return nlohmann::ordered_json{{"object", "list"}, {"data", nlohmann::ordered_json::array({model})}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void begin(text_request asked, std::shared_ptr<http_reply> const& to) {
    auto const n = asked.texts.size();
    auto const texts = asked.texts;
    reply says(served_, asked, ++requests_, std::time(nullptr));
    auto const one =
        std::make_shared<answering>(answering{to, std::move(asked), std::move(says), clock_type::now(), {}, 0});
    one->newest.assign(n, one->began);
    for (std::size_t i = 0; i < n; ++i)
      texts[i]->tell = [this, i, one](piece const& p) { server_->post([this, i, one, p] { add(*one, i, p); }); };
    for (std::size_t i = 0; i < n; ++i)
      if (!engine_.add(texts[i])) {
        for (auto const& text : texts) text->gone = true;
        one->of.texts.clear();
        throw api_error(429, "as many texts wait as the server takes; ask again later");
      }
    all_.insert(all_.end(), texts.begin(), texts.end());
    metrics_.prompt_tokens += static_cast<std::uint64_t>(one->of.prompt_tokens);
    to->gone = [this, texts, one] {
      for (auto const& text : texts) text->gone = true;
      metrics_.ended["abort"] += texts.size() - one->ended;
      forget(*one);
      engine_.wake();
    };
    if (one->of.streams) {
      to->begin("text/event-stream");
      to->add(one->says.begin());
    }
  }

  void add(answering& one, std::size_t i, piece const& p) {
    if (one.of.texts.empty()) return;  // it is over
    if (p.token) {
      ++metrics_.generation_tokens;
      bool const is_first = one.newest[i] == one.began;
      (is_first ? metrics_.first_token : metrics_.between_tokens).add(seconds_since(one.newest[i]));
      one.newest[i] = clock_type::now();
    }
    auto const event = one.says.add(i, p);
    if (!p.ended_by.empty()) {
      ++metrics_.ended[std::string(p.ended_by)];
      ++one.ended;
    }
    if (one.of.streams) one.to->add(event);
    if (!one.says.error().empty()) {
      for (auto const& text : one.of.texts) text->gone = true;
      if (one.of.streams)
        one.to->end();
      else
        refuse(api_error(500, one.says.error()), one.to);
      forget(one);
    } else if (one.says.is_whole()) {
      metrics_.whole_request.add(seconds_since(one.began));
      if (one.of.streams) {
        one.to->add(one.says.end());
        one.to->end();
      } else {
        one.to->send(200, json_type, one.says.whole());
      }
      forget(one);
    }
  }

  /// It is over. (What tells of a text has the request: they must not hold each other.)
  void forget(answering& one) {
    std::erase_if(all_, [&](auto const& text) {
      return std::find(one.of.texts.begin(), one.of.texts.end(), text) != one.of.texts.end();
    });
    one.of.texts.clear();
  }
  void cancel_all() {
    for (auto const& text : all_) text->gone = true;
  }

  serve_options o_;
  engine engine_;
  std::unique_ptr<mtf::tokenizer> words_;
  served_model served_;
  metrics metrics_;
  std::mutex mutex_;  // of server_, which is set and reset by the thread that runs
  http_server* server_ = nullptr;
  std::vector<std::shared_ptr<completion>> all_;  // that are answered
  std::uint64_t requests_ = 0;
  std::mt19937_64 random_{std::random_device()()};
  std::atomic<bool> ending_ = false;
};

service::service(serve_options const& o, model_on_ranks const& model) : state_(std::make_unique<state>(o, model)) {}
service::~service() = default;
void service::run(std::function<void(std::uint16_t port)> const& ready) { state_->run(ready); }
void service::follow() { state_->engine_.follow(); }
void service::stop() { state_->ask_to_stop(); }

}  // namespace mtf::tools
