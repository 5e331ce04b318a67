// What a server of OpenAI's interface answers under many clients, beside one after the other: tokens a second, and the
// time to the first token and between tokens. Any server's; ours: examples/transformer/serve.
//   benchmark-serving PORT [CLIENTS REQUESTS PROMPT_TOKENS NEW_TOKENS MODEL]
// Prompts are numbers of tokens, each another. Each answer has NEW_TOKENS.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/http_client.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

double seconds(clock_type::time_point from, clock_type::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

struct answered {
  double to_first = 0, between = 0;  // between: the mean of a text
  int tokens = 0;
};

struct load {
  std::uint16_t port = 0;
  int prompt = 32, fresh = 64;
  std::string model;

  [[nodiscard]] answered ask(int number) const {
    nlohmann::json body{
        {"max_tokens", fresh}, {"temperature", 0}, {"ignore_eos", true}, {"stream", true}, {"logprobs", 0}};
    if (!model.empty()) body["model"] = model;
    for (int i = 0; i < prompt; ++i) body["prompt"].push_back(1000 + (number * 131 + i * 37) % 20000);
    support::client c(port);
    auto const begin = clock_type::now();
    c.ask("POST", "/v1/completions", body.dump());
    answered a;
    auto first = begin, last = begin;
    while (true) {
      auto const line = c.up_to("\n");
      if (line.starts_with("data: [DONE]")) break;
      if (line.starts_with("HTTP/1.1 ") && line.substr(9, 3) != "200") throw std::runtime_error(line);
      if (!line.starts_with("data: {")) continue;
      last = clock_type::now();
      if (a.tokens++ == 0) first = last;
    }
    a.to_first = seconds(begin, first);
    a.between = seconds(first, last) / std::max(a.tokens - 1, 1);
    return a;
  }

  void run(char const* name, int clients, int requests) const {
    std::vector<answered> all(static_cast<std::size_t>(requests));
    std::atomic<int> next{0};
    auto const begin = clock_type::now();
    std::vector<std::thread> threads;
    for (int k = 0; k < clients; ++k)
      threads.emplace_back([&] {
        for (int i = next++; i < requests; i = next++) try {
            all[static_cast<std::size_t>(i)] = ask(i);
          } catch (std::exception const& e) {
            std::fprintf(stderr, "request %d: %s\n", i, e.what());
            std::exit(1);
          }
      });
    for (auto& t : threads) t.join();
    auto const took = seconds(begin, clock_type::now());
    std::vector<double> first, between;
    int tokens = 0;
    for (auto const& a : all) {
      first.push_back(a.to_first);
      between.push_back(a.between);
      tokens += a.tokens;
    }
    std::sort(first.begin(), first.end());
    std::sort(between.begin(), between.end());
    auto const at = [](std::vector<double> const& x, double share) {
      return 1e3 * x[std::min(x.size() - 1, static_cast<std::size_t>(share * static_cast<double>(x.size())))];
    };
    std::printf(
        "%s: %d clients, %d requests, %d tokens: %.1f tokens/s; first token %.0f ms median, %.0f ms p95; "
        "between tokens %.1f ms median, %.1f ms p95\n",
        name, clients, requests, tokens, tokens / took, at(first, 0.5), at(first, 0.95), at(between, 0.5),
        at(between, 0.95));
  }
};

}  // namespace

int main(int argc, char** argv) {
  auto const number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  if (argc < 2) {
    std::fprintf(stderr, "usage: benchmark-serving PORT [CLIENTS REQUESTS PROMPT_TOKENS NEW_TOKENS MODEL]\n");
    return 2;
  }
  load const l{static_cast<std::uint16_t>(number(1, 0)), number(4, 32), number(5, 64), argc > 6 ? argv[6] : ""};
  int const clients = number(2, 32), requests = number(3, 64);
  l.run("warm", 1, 1);
  l.run("sequential", 1, std::max(1, requests / 8));
  l.run("together", clients, requests);
  return 0;
}
