#pragma once
// What a program writes is nothing that it reads, and no two of its outputs are one file.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include <mtf/core/error.hpp>

namespace mtf {

/// The files that a program is told to read and to write, before it opens any to write. A file is known by device and
/// inode, so a link to it is the same; one that is not there yet by the path that its name comes to.
class distinct_files {
 public:
  /// `what`: as sentences call it, such as "--data". An empty path is none.
  void reads(std::string const& what, std::string const& path) { add(what, path, false); }
  /// Refused, as a user_error: a file that is read, or written under another option. Terminals, pipes and /dev/null may
  /// be written by several.
  void writes(std::string const& what, std::string const& path) { add(what, path, true); }

 private:
  struct known {
    std::string what, path, resolved;
    bool there = false, written = false;
    ::dev_t device = 0;
    ::ino_t inode = 0;

    [[nodiscard]] bool same_file(known const& o) const {
      if (there && o.there) return device == o.device && inode == o.inode;
      return there == o.there && resolved == o.resolved;
    }
  };

  /// The path that a file would get which is made under this name; links that lead nowhere yet are followed.
  static std::string resolved(std::string const& path) {
    namespace fs = std::filesystem;
    std::error_code why;
    auto at = fs::absolute(path, why);
    for (int links = 0; links < 40 && fs::is_symlink(at, why); ++links)
      at = at.parent_path() / fs::read_symlink(at, why);
    auto const all = fs::weakly_canonical(at, why);
    return why ? path : all.string();
  }

  void add(std::string const& what, std::string const& path, bool written) {
    if (path.empty()) return;
    known k{.what = what, .path = path, .resolved = {}, .written = written};
    struct stat about{};
    k.there = ::stat(path.c_str(), &about) == 0;
    if (k.there && !S_ISREG(about.st_mode)) return;
    k.device = about.st_dev;
    k.inode = about.st_ino;
    k.resolved = resolved(path);
    for (auto const& other : all_)
      if ((written || other.written) && k.same_file(other)) {
        auto const& out = written ? k : other;
        auto const& first = written ? other : k;
        throw user_error(out.what + " " + out.path + " is the file that " + first.what + " " + first.path +
                         (first.written ? " is written to: each needs a file of its own"
                                        : " is read from, and would destroy it: give another path"));
      }
    all_.push_back(std::move(k));
  }

  std::vector<known> all_;
};

}  // namespace mtf
