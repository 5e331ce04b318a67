#pragma once
// A file of data that is read during a long run, while others may do something to it.
#include <cstddef>
#include <span>
#include <string>

#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/lost_pages.hpp>
#include <mtf/detail/checkpoint/mapped_file.hpp>

namespace mtf::detail {

/// A mapped file; each read checks whether it is still the file that was opened. One that is shorter, or was written
/// since, is a user_error. (A file that another was renamed to is still there, as long as it is open.)
class data_file {
 public:
  explicit data_file(std::string const& path) : file_(file::to_read(path)), was_(file_.now()), mapped_(file_) {}

  [[nodiscard]] std::string const& path() const { return file_.path(); }
  [[nodiscard]] std::size_t size() const { return mapped_.bytes().size(); }
  /// Where the bytes are: to be looked at within `read` alone.
  [[nodiscard]] std::span<std::byte const> bytes() const { return mapped_.bytes(); }
  /// Calls f(), which looks at bytes().
  template <class F>
  void read(F const& f) const {
    try {
      mapped_.read([&](char const*) { f(); });
    } catch (lost_pages const&) {
      throw user_error(path() +
                       " has become shorter while it is read, or its disk fails: leave it as it is until the "
                       "program ends");
    } catch (...) {
      check_unchanged();  // what is wrong with it may come of that
      throw;
    }
    check_unchanged();
  }

 private:
  void check_unchanged() const {
    if (!(file_.now() == was_))
      throw user_error(path() +
                       " was changed while it is read: leave it as it is until the program ends; a new file "
                       "may take its name");
  }

  file file_;
  file::state was_;
  lost_pages_are_told told_;  // as long as this: to ask the system each time would take longer than most looks
  mapped_file mapped_;
};

}  // namespace mtf::detail
