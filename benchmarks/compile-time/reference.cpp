// The yardstick of recorded.txt: the standard library's headers, templates and optimized code in about the proportions
// of a program that uses mtf. Figures are ratios to what it takes to compile, so that they hold on other machines.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

std::map<std::string, std::size_t> count_words(std::string const& text, std::string const& pattern) {
  std::map<std::string, std::size_t> counts;
  std::regex const word(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) ++counts[it->str()];
  return counts;
}

void print(std::map<std::string, std::size_t> const& counts) {
  std::vector<std::pair<std::size_t, std::string>> sorted;
  for (auto const& [word, n] : counts) sorted.emplace_back(n, word);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (auto const& [n, word] : sorted) std::cout << n << ' ' << word << '\n';
}
