// The server under many clients, of which some go away or send rubbish. With --seconds=N they go on for so long.
// links: serve_tool
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/http_client.hpp"
#include "support/running_service.hpp"

namespace {

int seconds_of_load = 0;

TEST_CASE("many clients: nothing is lost or mixed up when some go away or send rubbish") {
  support::running_service const s([](auto& o, auto& model) {
    model.step_takes = std::chrono::microseconds(200);
    o.rows = 8;
    o.chunk = 8;
    o.waiting = 64;
  });
  std::atomic<long> answered{0}, wrong{0}, left{0};
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_of_load);
  std::vector<std::thread> clients;
  for (int k = 0; k < 32; ++k)
    clients.emplace_back([&, k] {
      std::mt19937 random(static_cast<unsigned>(k));
      auto const drawn = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
      for (int i = 0; i < 12 || std::chrono::steady_clock::now() < until; ++i) try {
          support::client c(s.port);
          auto const what = drawn(0, 9);
          if (what == 0) {
            c.send(std::string(static_cast<std::size_t>(drawn(1, 300)), static_cast<char>(drawn(0, 255))));
            c.leave();
            continue;
          }
          std::string const prompt(static_cast<std::size_t>(drawn(1, 60)), static_cast<char>(drawn(97, 122)));
          auto const seed = drawn(0, 3);
          auto const most = drawn(1, 40);
          bool const streams = drawn(0, 1) == 0;
          nlohmann::json const ask{{"prompt", prompt}, {"max_tokens", most}, {"seed", seed}, {"stream", streams}};
          c.ask("POST", "/v1/completions", ask.dump());
          if (what == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(drawn(0, 20)));
            c.leave();
            ++left;
            continue;
          }
          auto const e =
              support::alone(s.model, prompt, static_cast<std::uint64_t>(seed), {}, static_cast<std::size_t>(most));
          auto const a = c.read();
          std::string text;
          if (streams) {
            for (std::size_t at = 0; (at = a.body.find("data: {", at)) != std::string::npos; ++at)
              text +=
                  nlohmann::json::parse(a.body.substr(at + 6, a.body.find("\n\n", at) - at - 6))["choices"][0]["text"]
                      .get<std::string>();
          } else {
            text = nlohmann::json::parse(a.body)["choices"][0]["text"].get<std::string>();
          }
          ++answered;
          if (a.status != 200 || text != e.text) ++wrong;
        } catch (std::exception const&) {
          ++wrong;
        }
    });
  for (auto& t : clients) t.join();
  CHECK(wrong == 0);
  CHECK(answered > 200);
  CHECK(s.comes_to("num_requests_running", 0));
  CHECK(s.metric("num_requests_waiting") == 0);
  MESSAGE(answered.load(), " answered, ", left.load(), " left");
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view const text = argv[i]; text.starts_with("--seconds="))
      seconds_of_load = std::atoi(argv[i] + 10);
  doctest::Context context(argc, argv);
  return context.run();
}
