// The layout oracle: every operation, under generated layouts, against one rank and against its definition.
//   sweep                      runs all; one line for each failure, a table of counts; exit code 1 if anything failed
//   sweep --padded ...         the same with padded dimensions (sweep-values)
//   sweep --many [TEXT]        up to 100 cases of each family on a mesh, of the operations whose name contains TEXT
//   sweep --full [TEXT]        all that differ, of some operations 70,000: hours for all operations
//   sweep --only TEXT          the operations whose name contains TEXT
//   sweep --write-docs FILE    writes docs/operations.md
//   sweep --check-docs FILE    exit code 1 if FILE is not what --write-docs would write
//   sweep --names              the public names that have an entry, one a line
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include <Kokkos_Core.hpp>

#include "run.hpp"

namespace {

int check_docs(char const* file, std::string const& want) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream found;
  found << in.rdbuf();
  if (found.str() == want) return 0;
  std::fprintf(stderr, "%s is not what the sweep's operations say: write it by `sweep --write-docs %s`\n", file, file);
  return 1;
}

int run(char const* only, int most) {
  constexpr int lines_an_operation = 5;
  auto const begin = std::chrono::steady_clock::now();
  sweep::judge judge(most);
  sweep::tally all;
  int operations = 0;
  std::printf("%-44s %7s %8s %7s %7s %9s\n", "operation", "cases", "refused", "runs", "sends", "failures");
  for (auto const& op : sweep::all_operations()) {
    if (only != nullptr && op.name.find(only) == std::string::npos) continue;
    auto const before = judge.failures().size();
    auto const t = judge.run(op);
    ++operations;
    all.cases += t.cases;
    all.refused += t.refused;
    all.runs += t.runs;
    all.sends += t.sends;
    all.failures += t.failures;
    std::printf("%-44s %7d %8d %7d %7d %9d\n", op.name.c_str(), t.cases, t.refused, t.runs, t.sends, t.failures);
    int lines = 0;
    for (std::size_t i = before; i < judge.failures().size(); ++i, ++lines) {
      if (lines == lines_an_operation) {
        std::printf("  ... and %zu more\n", judge.failures().size() - i);
        break;
      }
      std::printf("  FAILED %s: %s\n", judge.failures()[i].where.c_str(), judge.failures()[i].what.c_str());
    }
    std::fflush(stdout);
  }
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf(
      "%d operations, %d cases, %d rightly refused, %d passes, %d with collectives compared, %d failures, %.1f s\n",
      operations, all.cases, all.refused, all.runs, all.sends, all.failures, seconds);
  return all.failures > 0 || all.cases == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool const padded = argc > 1 && std::strcmp(argv[1], "--padded") == 0 && !sweep::typed_calls && !sweep::special;
  if (padded) --argc, ++argv;
  std::string const mode = argc > 1 ? argv[1] : "";
  char const* const value = argc > 2 ? argv[2] : nullptr;
  if (mode == "--names") {
    std::set<std::string> names;
    for (auto const& op : sweep::all_operations()) names.insert(op.text.names.begin(), op.text.names.end());
    for (auto const& n : names) std::puts(n.c_str());
    return 0;
  }
  if ((mode == "--write-docs" || mode == "--check-docs") && value != nullptr) {
    std::string const text = sweep::documented(sweep::all_operations());
    if (mode == "--check-docs") return check_docs(value, text);
    std::ofstream(value, std::ios::binary) << text;
    return 0;
  }
  int const most = mode == "--full" ? 1 << 20 : mode == "--many" ? 100 : 0;
  if (!mode.empty() && most == 0 && (mode != "--only" || value == nullptr)) {
    std::fprintf(stderr,
                 "usage: sweep [--padded] [--many [TEXT] | --full [TEXT] | --only TEXT | --write-docs FILE | "
                 "--check-docs FILE | --names]\n");
    return 2;
  }
  Kokkos::ScopeGuard const kokkos(argc, argv);
  char const* const only = most > 0 || mode == "--only" ? value : nullptr;
  if (!padded) return run(only, most);
  int failed = 0;
  for (auto const& lengths : sweep::paddings) {
    sweep::stored_of = lengths;
    failed += run(only, most);
  }
  return failed > 0 ? 1 : 0;
}
