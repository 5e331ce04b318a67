#include "metrics.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../text_of.hpp"

namespace mtf::tools {
namespace {

std::string head(std::string const& name, std::string const& help, char const* type) {
  return "# HELP mtf:" + name + " " + help + "\n# TYPE mtf:" + name + " " + type + "\n";
}
std::string line(std::string const& name, std::string const& labels, std::uint64_t value) {
  return "mtf:" + name + labels + " " + std::to_string(value) + "\n";
}

}  // namespace

void seconds_histogram::add(double seconds) {
  auto const at = std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin();
  ++counts_[static_cast<std::size_t>(at)];
  sum_ += seconds;
}

std::string seconds_histogram::lines(std::string const& name, std::string const& help) const {
  auto text = head(name, help, "histogram");
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    so_far += counts_[i];
    auto const bound = i < bounds.size() ? text_of("%g", bounds[i]) : std::string("+Inf");
    text += line(name + "_bucket", "{le=\"" + bound + "\"}", so_far);
  }
  return text + text_of("mtf:%s_sum %.9g\n", name.c_str(), sum_) + line(name + "_count", "", so_far);
}

std::string metrics::text(std::size_t running, std::size_t waiting) const {
  auto all =
      head("num_requests_running", "Texts that are read or written.", "gauge") +
      line("num_requests_running", "", running) + head("num_requests_waiting", "Texts that wait for a row.", "gauge") +
      line("num_requests_waiting", "", waiting) + head("prompt_tokens_total", "Tokens of prompts.", "counter") +
      line("prompt_tokens_total", "", prompt_tokens) + head("generation_tokens_total", "Tokens written.", "counter") +
      line("generation_tokens_total", "", generation_tokens) +
      head("request_success_total", "Texts that ended, by why.", "counter");
  for (auto const& [why, n] : ended) all += line("request_success_total", "{finished_reason=\"" + why + "\"}", n);
  all += head("request_refused_total", "Requests that were refused, by HTTP's status.", "counter");
  for (auto const& [status, n] : refused)
    all += line("request_refused_total", "{status=\"" + std::to_string(status) + "\"}", n);
  return all + first_token.lines("time_to_first_token_seconds", "From a request to a text's first token.") +
         between_tokens.lines("inter_token_latency_seconds", "Between a text's tokens.") +
         whole_request.lines("e2e_request_latency_seconds", "From a request to its last token.");
}

}  // namespace mtf::tools
