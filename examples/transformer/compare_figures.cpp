// compare-figures OUTPUT EXPECTED INDEX RELATIVE: whether what `evaluate` wrote has the figures of one of the runs in
// tests/reference/evaluation/expected.json, and the log-probabilities of each question.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  std::ifstream output(argv[1]), file(argv[2]);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(output, line);) lines.push_back(nlohmann::json::parse(line));
  auto const run = nlohmann::json::parse(file).at(std::strtoul(argv[3], nullptr, 10));
  double const relative = std::atof(argv[4]);
  int wrong = 0;
  auto const compare = [&](std::string const& what, nlohmann::json const& ours, nlohmann::json const& theirs) {
    double const a = ours.get<double>(), b = theirs.get<double>();
    if (std::abs(a - b) <= relative * std::abs(b)) return;
    std::printf("%s: %.9g, not %.9g\n", what.c_str(), a, b);
    ++wrong;
  };
  auto const logs = run.value("log_probabilities", nlohmann::json::array());
  if (lines.size() != logs.size() + 1) {
    std::printf("%zu lines, not %zu\n", lines.size(), logs.size() + 1);
    return 1;
  }
  for (auto const& [key, x] : run["found"].items()) compare(key, lines.back().at(key), x);
  for (std::size_t i = 0; i < logs.size(); ++i)
    for (std::size_t k = 0; k < logs[i].size(); ++k)
      compare("question " + std::to_string(i), lines[i].at("log_probabilities").at(k), logs[i][k]);
  return wrong == 0 ? 0 : 1;
}
