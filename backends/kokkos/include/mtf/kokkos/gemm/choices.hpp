#pragma once
// Which algorithm a library takes for each product, in a text file that later runs read. Knows no library.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mtf::kokkos {

/// The numbers that make an algorithm: what each means its library knows. None is negative.
using algorithm_numbers = std::array<std::int64_t, 9>;
/// Algorithms by the products that they are for, each a line without ": " in it.
using algorithms_of_products = std::map<std::string, algorithm_numbers, std::less<>>;

inline constexpr std::string_view choices_title = "mtf: algorithms of products of ";

/// The text of a file: the version and device that they are `of` on top, then a line for each product.
inline std::string choices_text(algorithms_of_products const& all, std::string_view of) {
  std::string text(choices_title);
  text.append(of).append("\n# Those of another version or device are not read, and are replaced when a run ends.\n");
  for (auto const& [product, numbers] : all) {
    text.append(product).append(":");
    for (auto const x : numbers) text.append(" ").append(std::to_string(x));
    text.append("\n");
  }
  return text;
}

/// What such a text says; nothing if it is `of` another version or device. Passed over are lines that are no choice,
/// the last one if it does not end, and a product's second.
inline algorithms_of_products choices_in(std::string_view text, std::string_view of) {
  algorithms_of_products all;
  for (bool is_title = true; !text.empty(); is_title = false) {
    auto const end = text.find('\n');
    if (end == std::string_view::npos) break;
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (is_title) {
      if (line.substr(0, choices_title.size()) != choices_title || line.substr(choices_title.size()) != of) break;
      continue;
    }
    auto const colon = line.find(": ");
    if (line.substr(0, 1) == "#" || colon == 0 || colon == std::string_view::npos) continue;
    char const* at = line.data() + colon + 1;
    char const* const stop = line.data() + line.size();
    algorithm_numbers numbers{};
    std::size_t count = 0;
    while (count < numbers.size() && at != stop && *at == ' ') {
      auto const [next, error] = std::from_chars(at + 1, stop, numbers[count]);
      if (error != std::errc() || numbers[count] < 0) break;
      at = next;
      ++count;
    }
    if (count == numbers.size() && at == stop) all.emplace(line.substr(0, colon), numbers);
  }
  return all;
}

/// The choices in a file: what it said when it was opened, which nothing changes, and what this run adds for later
/// ones. So all ranks of a run, which open it before they compute, take the same.
class choices_file {
 public:
  /// of: the library's version and the device, a line. A file that cannot be read has none.
  choices_file(std::string path, std::string of) : path_(std::move(path)), of_(std::move(of)), read_(in_file()) {}

  /// The algorithm for a product, or null.
  [[nodiscard]] algorithm_numbers const* find(std::string_view product) const {
    auto const at = read_.find(product);
    return at == read_.end() ? nullptr : &at->second;
  }
  /// For later runs: also in the place of one that was read and did not serve.
  void add(std::string product, algorithm_numbers const& numbers) { added_.emplace(std::move(product), numbers); }

  /// Writes what was added, beside what the file says by now: where another rank was first, its choice stands. The file
  /// is replaced as a whole. False if it cannot be written.
  bool save() const noexcept try {
    if (added_.empty()) return true;
    auto const slash = path_.rfind('/');
    std::string const folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    open_file const locked(::open(folder.c_str(), O_RDONLY | O_CLOEXEC));
    // Ranks write one after the other; where a file system has no locks, what one of two wrote may be lost.
    if (locked.number >= 0) ::flock(locked.number, LOCK_EX);
    auto all = in_file();
    for (auto const& [product, numbers] : added_) {
      auto const* const before = find(product);
      auto const [now, is_new] = all.emplace(product, numbers);
      if (!is_new && before != nullptr && *before == now->second) now->second = numbers;
    }
    return replace_by(choices_text(all, of_));
  } catch (std::exception const&) {
    return false;
  }

 private:
  struct open_file {
    int number;
    explicit open_file(int n) : number(n) {}
    ~open_file() {
      if (number >= 0) ::close(number);
    }
    open_file(open_file const&) = delete;
    open_file& operator=(open_file const&) = delete;
  };

  [[nodiscard]] algorithms_of_products in_file() const {
    std::ifstream from(path_, std::ios::binary);
    std::ostringstream text;
    text << from.rdbuf();  // which throws nothing, also where the path is a folder
    return choices_in(text.str(), of_);
  }
  [[nodiscard]] bool replace_by(std::string_view text) const {
    std::string made = path_ + ".XXXXXX";
    open_file const to(::mkstemp(made.data()));
    if (to.number < 0) return false;
    bool good = ::fchmod(to.number, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) == 0;
    while (good && !text.empty()) {
      auto const n = ::write(to.number, text.data(), text.size());
      good = n > 0;
      if (good) text.remove_prefix(static_cast<std::size_t>(n));
    }
    good = good && std::rename(made.c_str(), path_.c_str()) == 0;
    if (!good) ::unlink(made.c_str());
    return good;
  }

  std::string path_, of_;
  algorithms_of_products read_, added_;
};

}  // namespace mtf::kokkos
