// serve_test PROMPTS EXPECTED -- COMMAND...: starts a server by the command, and asks it for what `generate` wrote on
// from the prompts: EXPECTED has its line for each. All at once, some as streams, with others that go away; then ends
// it.
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/http_client.hpp"

namespace {

using nlohmann::json;

/// The command, whose output is read.
class process {
 public:
  explicit process(char** command) {
    std::array<int, 2> out{};
    if (::pipe(out.data()) != 0) throw std::runtime_error("no pipe");
    id_ = ::fork();
    if (id_ == 0) {
      ::dup2(out[1], 1);
      ::close(out[0]);
      ::close(out[1]);
      ::execvp(command[0], command);
      std::_Exit(127);
    }
    ::close(out[1]);
    from_ = ::fdopen(out[0], "r");
  }
  process(process const&) = delete;
  process& operator=(process const&) = delete;
  ~process() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
    }
    if (from_ != nullptr) std::fclose(from_);
  }
  std::string line() {
    std::string text;
    for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_)) text += static_cast<char>(c);
    return text;
  }
  /// Its exit code, once it was asked to end.
  int ended() {
    ::kill(id_, SIGUSR1);  // mpirun ends all by itself at SIGTERM
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  ::pid_t id_ = 0;
  std::FILE* from_ = nullptr;
};

std::vector<std::string> lines_of(char const* path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string streamed(std::string const& body) {
  std::string text;
  for (std::size_t at = 0; (at = body.find("data: {", at)) != std::string::npos; ++at)
    text += json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6))["choices"][0]["text"].get<std::string>();
  return text;
}

int test(char** argv) {
  auto const prompts = lines_of(argv[1]), expected = lines_of(argv[2]);
  if (prompts.empty() || prompts.size() != expected.size()) throw std::runtime_error("no prompts");
  process server(argv + 4);
  auto const said = server.line();
  auto const port = static_cast<std::uint16_t>(std::stoi(said.substr(said.rfind(':') + 1)));
  std::atomic<int> wrong{0}, right{0};
  std::vector<std::thread> clients;
  for (std::size_t k = 0; k < 4 * prompts.size(); ++k)
    clients.emplace_back([&, k] {
      try {
        auto const i = k % prompts.size();
        bool const streams = k % 2 == 0;
        json const ask{{"prompt", prompts[i]}, {"max_tokens", 24},  {"temperature", 0.9}, {"seed", 7},
                       {"ignore_eos", true},   {"stream", streams}, {"min_p", 0},         {"top_p", 1}};
        support::client c(port);
        c.ask("POST", "/v1/completions", ask.dump());
        if (k % 7 == 3) return c.leave();
        auto const a = c.read();
        auto const text = streams ? streamed(a.body) : json::parse(a.body)["choices"][0]["text"].get<std::string>();
        auto const theirs = json::parse(expected[i])["text"].get<std::string>();
        if (text == theirs) {
          ++right;
          return;
        }
        std::fprintf(stderr, "%s: %s\nnot %s\n", prompts[i].c_str(), text.c_str(), theirs.c_str());
      } catch (std::exception const& e) {
        std::fprintf(stderr, "client %zu: %s\n", k, e.what());
      }
      ++wrong;
    });
  for (auto& c : clients) c.join();
  auto const code = server.ended();
  std::printf("%d right, %d wrong, exit code %d\n", right.load(), wrong.load(), code);
  return wrong == 0 && right > 0 && code == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argv[3] != std::string_view("--")) return 2;
  try {
    return test(argv);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
