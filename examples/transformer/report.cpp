#include "report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace transformer {
namespace {

/// Open MPI gives its ranks a pseudo-terminal whatever it writes to itself: then its own standard output is asked.
bool on_terminal() {
  if (isatty(STDOUT_FILENO) != 1) return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
  int const launcher = ::open(("/proc/" + std::to_string(getppid()) + "/fd/1").c_str(), O_WRONLY | O_NOCTTY);
  bool const terminal = launcher >= 0 && isatty(launcher) == 1;
  if (launcher >= 0) ::close(launcher);
  return terminal;
}

std::string line_of(progress const& p) {
  std::array<char, 240> text{};
  if (p.step == 0) {
    std::snprintf(text.data(), text.size(), "before training: validation %.3f bits/byte", p.validation_bits);
    return text.data();
  }
  std::snprintf(text.data(), text.size(),
                "step %4d/%d  loss %.4f  validation %.3f bits/byte  %6.0f tokens/s  %6.1f GFLOP/s (%2.0f%% of peak)  "
                "%lld:%02lld left",
                p.step, p.steps, p.loss, p.validation_bits, p.tokens_per_second, p.gflops, 100 * p.peak_share,
                static_cast<long long>(p.seconds_left) / 60, static_cast<long long>(p.seconds_left) % 60);
  return text.data();
}

/// The lines of a log up to a step's.
std::string lines_until(std::string const& log, int step) {
  std::ifstream in(log);
  std::string all;
  for (std::string line; std::getline(in, line);) {
    auto const json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.value("step", step + 1) <= step) all += line + "\n";
  }
  return all;
}

}  // namespace

report::report(bool speaks)
    : speaks_(speaks), terminal_(speaks && on_terminal()), screen_("standard output", speaks ? stdout : nullptr) {}

report::~report() {
  if (line_is_open_) screen_.write("\n");  // whoever writes next, an error perhaps, begins a line
}

void report::open(std::string const& log, std::string const& plot, int after) {
  bool const goes_on = after > 0 && speaks_ && !log.empty();
  if (goes_on) {  // at no time is the log half written
    auto const fresh = log + ".new";
    output kept;
    kept.open("--log", fresh, "w");
    kept.write(lines_until(log, after));
    kept.close();
    if (kept.failure().empty()) std::rename(fresh.c_str(), log.c_str());
  }
  if (speaks_ && !log.empty()) log_.open("--log", log, goes_on ? "a" : "w");
  if (speaks_ && !plot.empty()) plot_.open("--plot", plot, "a");
  plot_.close();
}

std::string const& report::failure() const {
  return !log_.failure().empty() ? log_.failure() : !plot_.failure().empty() ? plot_.failure() : screen_.failure();
}

void report::say(std::string const& line) {
  screen_.write((terminal_ ? "\r\033[K" : "") + line + "\n");
  line_is_open_ = false;
}

void report::profile(mtf::profile_table const& of, double seconds, mtf::machine_limits const& limits) {
  say("\nthe training steps, on rank 0:\n" + mtf::describe(of, seconds, limits));
}

void report::step(progress const& p) {
  log_.write(nlohmann::json{{"step", p.step},
                            {"loss", p.loss},
                            {"validation_bits_per_byte", p.validation_bits},
                            {"learning_rate", p.learning_rate},
                            {"gradient_norm", p.gradient_norm},
                            {"tokens_per_second", p.tokens_per_second},
                            {"gflops", p.gflops},
                            {"peak_share", p.peak_share}}
                 .dump() +
             "\n");
  if (!terminal_) return;
  screen_.write("\r\033[K" + line_of(p));
  line_is_open_ = true;
}

void report::evaluation(progress const& p) {
  say(line_of(p));
  steps_.push_back(p);
}

void report::plot(double reference, char const* name) {
  if (!speaks_ || steps_.size() < 2) return;
  constexpr int width = 60, height = 12;
  auto const [low, high] = range(reference);
  auto const row = [&, low = low, high = high](double bits) {
    return static_cast<int>(std::lround((high - bits) / (high - low) * (height - 1)));
  };
  std::vector<std::string> rows(height, std::string(width, ' '));
  for (int x = 0; x < width; x += 2) rows[static_cast<std::size_t>(row(reference))][static_cast<std::size_t>(x)] = '-';
  for (int x = 0; x < width; ++x)
    rows[static_cast<std::size_t>(row(at(x / (width - 1.0))))][static_cast<std::size_t>(x)] = '*';
  std::array<char, 100> text{};
  say("\nvalidation, bits per byte (dashes: " + std::string(name) + ")");
  for (int y = 0; y < height; ++y) {
    std::snprintf(text.data(), text.size(), "%6.2f |", high - (high - low) * y / (height - 1));
    say(text.data() + rows[static_cast<std::size_t>(y)]);
  }
  std::snprintf(text.data(), text.size(), "        step %d%*d", steps_.front().step, width - 6, steps_.back().step);
  say("       +" + std::string(width, '-') + "\n" + text.data());
}

void report::close(std::string const& plot, double reference) {
  log_.close();
  if (!speaks_ || plot.empty()) return;
  std::ostringstream svg;
  auto const [low, high] = range(reference);
  auto const y = [&, low = low, high = high](double bits) { return 20 + (high - bits) / (high - low) * 300; };
  svg << "<svg xmlns='http://www.w3.org/2000/svg' width='640' height='360' font-family='sans-serif' font-size='12'>"
      << "<rect width='640' height='360' fill='white'/><line x1='50' x2='620' stroke='gray' stroke-dasharray='4' y1='"
      << y(reference) << "' y2='" << y(reference)
      << "'/><polyline fill='none' stroke='steelblue' stroke-width='2' points='";
  for (auto const& p : steps_)
    svg << 50 + 570.0 * p.step / std::max(1, steps_.back().step) << ',' << y(p.validation_bits) << ' ';
  svg << "'/><text x='50' y='345'>step 0 to " << steps_.back().step << "</text><text x='5' y='" << y(high) + 4 << "'>"
      << high << "</text><text x='5' y='" << y(low) + 4 << "'>" << low
      << "</text><text x='230' y='15'>validation, bits per byte</text></svg>\n";
  plot_.open("--plot", plot, "w");
  plot_.write(svg.str());
  plot_.close();
}

std::pair<double, double> report::range(double reference) const {
  double low = reference, high = reference;
  for (auto const& p : steps_) {
    low = std::min(low, p.validation_bits);
    high = std::max(high, p.validation_bits);
  }
  return {low, high > low ? high : low + 1};
}

double report::at(double share) const {
  double const step = steps_.front().step + share * (steps_.back().step - steps_.front().step);
  for (std::size_t i = 1; i < steps_.size(); ++i)
    if (step <= steps_[i].step) {
      auto const &a = steps_[i - 1], &b = steps_[i];
      return a.validation_bits +
             (b.validation_bits - a.validation_bits) * (step - a.step) / std::max(1, b.step - a.step);
    }
  return steps_.back().validation_bits;
}

}  // namespace transformer
