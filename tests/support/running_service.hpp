#pragma once
// A server of tools/serve in this process, of a model that needs no ranks, and what it should answer.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include <mtf/ops/create/random.hpp>

#include "../../tools/model_source.hpp"
#include "../../tools/serve/options.hpp"
#include "../../tools/serve/service.hpp"
#include "../../tools/writing/sampling.hpp"
#include "../../tools/writing/text_stream.hpp"
#include "http_client.hpp"
#include "remembering_model.hpp"

namespace support {

/// A service that runs.
class running_service {
 public:
  remembering_model model;

  explicit running_service(std::function<void(mtf::tools::serve_options&, remembering_model&)> const& change =
                               [](auto&, auto&) {}) {
    auto const directory = std::filesystem::temp_directory_path() / ("mtf-server-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "chat_template.jinja") << "<|im_start|>";
    options.on.model = std::make_shared<mtf::tools::model_source const>(directory.string());
    options.on.tokenizer = "bytes";
    options.name = "letters";
    options.port = 0;
    options.rows = 4;
    options.chunk = 16;
    options.said.ends = {0};
    change(options, model);
    of_.emplace(options, model.on_ranks());
    std::promise<std::uint16_t> ready;
    auto port_then = ready.get_future();
    thread_ = std::thread([this, &ready] { of_->run([&](std::uint16_t p) { ready.set_value(p); }); });
    port = port_then.get();
  }
  running_service(running_service const&) = delete;
  running_service& operator=(running_service const&) = delete;
  ~running_service() {
    of_->stop();
    thread_.join();
    std::error_code none;
    std::filesystem::remove_all(options.on.model->path(), none);
  }

  client::answer asked(std::string const& path, nlohmann::json const& body) const {
    client c(port);
    c.ask("POST", path, body.dump());
    return c.read();
  }
  client::answer completion(nlohmann::json const& body) const { return asked("/v1/completions", body); }
  /// A number of /metrics.
  [[nodiscard]] long metric(std::string const& name) const {
    client c(port);
    c.ask("GET", "/metrics");
    auto const text = c.read().body;
    auto const at = text.find("\nmtf:" + name + " ");
    return at == std::string::npos ? -1 : std::stol(text.substr(at + name.size() + 6));
  }
  [[nodiscard]] bool comes_to(std::string const& name, long value) const {
    for (int i = 0; i < 500; ++i) {
      if (metric(name) == value) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  mtf::tools::serve_options options;
  std::uint16_t port = 0;

 private:
  std::optional<mtf::tools::service> of_;
  std::thread thread_;
};

/// What a prompt goes on with by itself, as the server would say it.
struct expected_text {
  std::string text, ended_by = "length";
  std::size_t tokens = 0;
};
inline expected_text alone(remembering_model const& model, std::string const& prompt, std::uint64_t seed,
                           mtf::tools::sampling const& how, std::size_t most, std::string const& stop = "") {
  std::vector<std::int32_t> all, answer;
  for (char const c : prompt) all.push_back(static_cast<unsigned char>(c));
  auto const given = all;
  expected_text e;
  std::string bytes;
  while (answer.size() < most) {
    auto z = model.behind(all);
    auto const bits = mtf::random_key(seed).of("token").of(all.size()).bits();
    auto const id = mtf::tools::sampler()(how, z, given, answer, static_cast<double>(bits >> 11U) * 0x1p-53);
    if (id == 0) {
      e.ended_by = "stop";
      break;
    }
    all.push_back(id);
    answer.push_back(id);
    bytes += static_cast<char>(id);
    auto const at = stop.empty() ? std::string::npos : bytes.find(stop);
    if (at != std::string::npos) {
      bytes.erase(at);
      e.ended_by = "stop";
      break;
    }
  }
  e.tokens = answer.size();
  e.text = mtf::tools::with_letters_alone(bytes);
  return e;
}

}  // namespace support
