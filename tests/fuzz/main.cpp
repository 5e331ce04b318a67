// Random programs, held to what they mean under any layout.
//   fuzz                     1000 programs; one line for each failure, counts; exit code 1 if anything failed
//   fuzz --seed N --count N  other programs, from seed N on
//   fuzz --seconds N         as many as take that long
//   fuzz --shrink            makes a failing program smaller, and prints it as C++
//   fuzz --only TEXT         only programs that call an operation with TEXT in its name; recompute is one
//   fuzz --print             prints the programs, and runs none
//   fuzz --names             the names of operations that programs call; exit code 1 if none can call one of the
//   entries
// If a rank ends the process, it says in which program.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "program.hpp"
#include "through_host.hpp"

namespace {

struct options {
  std::uint64_t seed = 1, count = 1000;
  double seconds = 0;
  bool shrink = false, print = false;
  char const* only = "";
};

bool calls(fuzz::program const& p, char const* text) {
  for (auto const& l : p.lines)
    if (fuzz::entries()[l.entry].text.find(text) != std::string::npos) return true;
  return *text == '\0' ||
         (!p.blocks.empty() && std::string_view("mtf::recompute").find(text) != std::string_view::npos);
}

std::atomic<std::uint64_t> at_seed = 0;

/// A signal handler may neither call printf nor allocate memory, so this writes digits by itself.
void says_where(int signal) {
  std::array<char, 20> digits{};
  std::size_t at = digits.size();
  for (auto n = at_seed.load(); n > 0 || at == digits.size(); n /= 10) digits[--at] = static_cast<char>('0' + n % 10);
  auto const say = [](char const* text, std::size_t n) { static_cast<void>(!write(STDOUT_FILENO, text, n)); };
  constexpr std::string_view before = "FAILED: a signal ends program ", after = " (fuzz --count 1 --seed ";
  say(before.data(), before.size());
  say(&digits[at], digits.size() - at);
  say(after.data(), after.size());
  say(&digits[at], digits.size() - at);
  say(")\n", 2);
  raise(signal);  // of which SA_RESETHAND has made the usual end
}
void say_where_signals_end() {
  struct sigaction action{};
  action.sa_handler = says_where;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (int const signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM}) sigaction(signal, &action, nullptr);
}

/// The functions of namespace mtf that are called in a text, and the operators between operands.
void add_names_in(std::string_view text, std::set<std::string>& names) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_0123456789", signs = "+-*/%<>=!&|", prefix = "mtf::";
  for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix, at)) {
    at += prefix.size();
    names.emplace(text.substr(at, text.find_first_not_of(letters, at) - at));
  }
  if (text.find(prefix) != text.npos) return;
  auto const first = text.find_first_of(signs);
  if (first != text.npos)
    names.insert("operator" + std::string(text.substr(first, text.find_first_not_of(signs, first) - first)));
}
/// What no tensor of a program could be is never called.
bool has_kinds_of(fuzz::entry const& e) {
  auto kinds = e.in;
  kinds.push_back(e.out);
  bool all = true;
  for (auto const& x : kinds)
    if (std::ranges::find(fuzz::all_kinds(), x) == fuzz::all_kinds().end()) {
      std::fprintf(stderr, "%s: kinds.hpp lacks %s\n", e.text.c_str(), fuzz::text_of(x).c_str());
      all = false;
    }
  return all;
}
int print_names() {
  std::set<std::string> names;
  bool all = true;
  for (auto const& e : fuzz::entries()) {
    all = has_kinds_of(e) && all;
    bool const through_host = e.text.starts_with("through_host");
    add_names_in(through_host ? fuzz::text_of_through_host : e.text, names);
  }
  for (auto const& name : names) std::printf("%s\n", name.c_str());
  return all ? 0 : 1;
}

int run(options const& o) {
  auto const begin = std::chrono::steady_clock::now();
  auto const seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  constexpr int most_failures = 5;
  fuzz::runner on;
  std::uint64_t programs = 0, operations = 0, refused = 0, failures = 0, compared = 0, coarse = 0, recomputed = 0;
  std::vector<std::uint64_t> called(fuzz::entries().size());
  std::map<int, std::uint64_t> by_ranks;
  double ratio = 0;
  auto seed = o.seed;
  for (; (o.seconds > 0 ? seconds() < o.seconds : programs < o.count) && failures < most_failures; ++seed) {
    at_seed = seed;
    auto p = fuzz::random_program(seed);
    if (!calls(p, o.only)) continue;
    ++programs;
    if (o.print) {
      std::printf("%s\n", fuzz::as_cpp(p, "").c_str());
      continue;
    }
    for (auto const& l : p.lines) ++called[l.entry];
    operations += p.lines.size();
    for (std::size_t l = 0; l < p.lines.size(); ++l)
      recomputed += std::ranges::any_of(p.blocks, [&](auto const& x) { return x.first <= l && l <= x.last; }) ? 1 : 0;
    ++by_ranks[p.mesh.shape.size()];
    auto const v = on.run(p);
    refused += v.refused ? 1 : 0;
    compared += v.compared;
    coarse += v.coarse;
    if (v.failure.empty()) {
      ratio = std::max(ratio, v.ratio);
      continue;
    }
    ++failures;
    std::printf("FAILED: program %llu, %s\n", static_cast<unsigned long long>(seed), v.failure.c_str());
    std::fflush(stdout);
    if (!o.shrink) continue;
    int tries = 0;
    auto const small = fuzz::shrunk(on, p, tries);
    auto const failure = on.run(small).failure;
    std::printf("shrunk from %zu operations to %zu, in %d tries: %s\n%s\n", p.lines.size(), small.lines.size(), tries,
                failure.c_str(), fuzz::as_cpp(small, failure).c_str());
    std::fflush(stdout);
  }
  if (o.print) return 0;
  std::size_t never = 0;
  for (std::size_t e = 0; e < called.size(); ++e)
    if (called[e] == 0) {
      ++never;
      if (programs >= 5000) std::printf("never called: %s\n", fuzz::entries()[e].text.c_str());
    }
  std::printf("programs of so many ranks:");
  for (auto const& [ranks, n] : by_ranks) std::printf(" %d: %llu", ranks, static_cast<unsigned long long>(n));
  std::printf(
      "\n%llu programs (seeds %llu to %llu), %llu operations of %zu kinds (%zu never called), %llu of them computed "
      "again, %llu rightly "
      "refused; %llu tensors compared, %.1f%% of them to less than a tenth; largest error %.2f of what was "
      "allowed; %llu failures; %.0f s\n",
      static_cast<unsigned long long>(programs), static_cast<unsigned long long>(o.seed),
      static_cast<unsigned long long>(seed - 1), static_cast<unsigned long long>(operations), called.size(), never,
      static_cast<unsigned long long>(recomputed), static_cast<unsigned long long>(refused),
      static_cast<unsigned long long>(compared),
      100.0 * static_cast<double>(coarse) / static_cast<double>(std::max<std::uint64_t>(compared, 1)), ratio,
      static_cast<unsigned long long>(failures), seconds());
  return failures == 0 ? 0 : 1;
}

int usage() {
  std::fputs("usage: fuzz [--seed N] [--count N] [--seconds N] [--shrink] [--only TEXT] [--print] [--names]\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    auto const is = [&](char const* name) { return std::strcmp(argv[i], name) == 0; };
    if (is("--shrink")) {
      o.shrink = true;
    } else if (is("--print")) {
      o.print = true;
    } else if (is("--names")) {
      return print_names();
    } else if (i + 1 == argc) {
      return usage();
    } else if (is("--seed")) {
      o.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--count")) {
      o.count = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--seconds")) {
      o.seconds = std::strtod(argv[++i], nullptr);
    } else if (is("--only")) {
      o.only = argv[++i];
    } else {
      return usage();
    }
  }
  say_where_signals_end();
  int none = 1;
  fuzz::counted::session const session(none, argv);
  return run(o);
}
