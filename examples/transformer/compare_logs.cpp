// Do two runs of `train` have the same losses? Usage: compare-logs LOG OTHER TOLERANCE (relative)
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

std::vector<double> losses(char const* path) {
  std::ifstream in(path);
  std::vector<double> all;
  for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line).at("loss").get<double>());
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  auto const a = losses(argv[1]), b = losses(argv[2]);
  double const tolerance = std::atof(argv[3]);
  if (a.size() != b.size() || a.empty()) {
    std::printf("%zu losses in %s, %zu in %s\n", a.size(), argv[1], b.size(), argv[2]);
    return 1;
  }
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]) / std::abs(a[i]));
  std::printf("%zu losses, largest relative difference %.2g, from %.4f to %.4f\n", a.size(), worst, a.front(),
              a.back());
  return worst <= tolerance && a.back() < a.front() ? 0 : 1;
}
