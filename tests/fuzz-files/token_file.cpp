// Any bytes as a token file. Opened, checked and read, or refused by one user_error; never a crash, never a byte
// outside of the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <mtf/core/error.hpp>
#include <mtf/data.hpp>

namespace {

void require(bool so) {
  if (!so) std::abort();
}

/// What a training does with a file.
void read_all(mtf::token_file const& file) {
  require(file.size() > 0 ? file.documents() > 0 : file.documents() == 0);
  require(file.begin_of(file.documents()) == file.size());
  static_cast<void>(file.fingerprint());
  try {
    file.check_below(file.vocabulary());
  } catch (mtf::user_error const&) {
    // The header says what is not so.
  }
  for (auto const part : {mtf::data_part::training, mtf::data_part::validation}) {
    mtf::token_rows const rows(file, part, {.sequence = 7, .key = 1, .validation_share = 0.2});
    std::vector<std::int32_t> row(7);
    std::int64_t labels = 0;
    for (std::int64_t r = 0; r < std::min<std::int64_t>(rows.rows_in_epoch(), 1000); ++r) {
      rows.ids(r, 0, row);
      rows.labels(r, 0, row);
      // An id of four bytes may be negative as an int; then it is no label.
      labels += 7 - std::count_if(row.begin(), row.end(), [](auto id) { return id < 0; });
    }
    require(labels < rows.tokens());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // Files of memory: one in whose name tokens are expected, one that may be a text.
  int const descriptor = ::memfd_create("tokens", 0);
  if (descriptor < 0 || ::write(descriptor, data, size) != static_cast<ssize_t>(size)) std::abort();
  try {
    mtf::token_file const file("/proc/self/fd/" + std::to_string(descriptor));
    read_all(file);
  } catch (mtf::user_error const&) {
  }
  ::close(descriptor);
  return 0;
}
