// Documents in batches of about the same length.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <mtf/data.hpp>

#include "support/scratch.hpp"

namespace {

constexpr std::int64_t documents = 300, longest = 90;
/// Tokens of document d, its end included: 2 to `longest`.
std::int64_t tokens_in(std::int64_t d) { return 2 + d * 37 % (longest - 1); }
/// Its i-th token: no other is the same, so that each can be told again.
std::uint32_t token(std::int64_t d, std::int64_t i) { return static_cast<std::uint32_t>(1 + d * longest + i); }
constexpr std::uint32_t end = documents * longest + 1;

void write(std::string const& path, std::int64_t count = documents) {
  mtf::token_writer to(path, end + 1, end);
  for (std::int64_t d = 0; d < count; ++d) {
    std::vector<std::uint32_t> ids;
    for (std::int64_t i = 0; i + 1 < tokens_in(d); ++i) ids.push_back(token(d, i));
    to.add(ids);
    to.end_document();
  }
  to.finish();
}

struct opened {
  explicit opened(std::string const& path, std::uint64_t key = 1)
      : file(path),
        order(file, mtf::data_part::training, {.sequence = 8, .key = key, .validation_share = 0.1}),
        batches(file, order, {.lengths = {8, 16, 24, 64}, .rows = 2, .key = key}) {}
  mtf::token_file file;
  mtf::token_rows order;
  mtf::document_batches batches;

  using rows = std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>>;
  [[nodiscard]] rows batch(std::int64_t n) const {
    auto const shape = batches.shape_of(n);
    rows all;
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      auto& [ids, labels] = all.emplace_back();
      ids.resize(static_cast<std::size_t>(shape.length));
      labels.resize(ids.size());
      batches.ids(n, r, 0, ids);
      batches.labels(n, r, 0, labels);
    }
    return all;
  }
};

TEST_CASE("each label once an epoch, in the shortest bucket, at constant positions a batch") {
  scratch const dir;
  write(dir.of("a.bin"));
  opened const x(dir.of("a.bin"));
  std::set<std::vector<std::int32_t>> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    // What follows each token, and how often: all documents of the training part.
    std::map<std::pair<std::int32_t, std::int32_t>, int> expected, found;
    for (std::int64_t i = 0; i < x.order.documents(); ++i) {
      auto const d = x.order.document(epoch, i);
      std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens_in(d)));
      x.file.read(x.file.begin_of(d), ids);
      for (std::size_t k = 0; k + 1 < ids.size(); ++k) ++expected[{ids[k], ids[k + 1]}];
    }
    std::int64_t labels = 0, positions = 0;
    std::vector<std::int32_t> first_ids;
    for (std::int64_t n = 0; n < x.batches.batches_in_epoch(); ++n) {
      auto const batch = epoch * x.batches.batches_in_epoch() + n;
      auto const shape = x.batches.shape_of(batch);
      CHECK(shape.rows % 2 == 0);
      CHECK(shape.rows * shape.length <= 2 * 64);
      CHECK((shape.rows + 2) * shape.length > 2 * 64);
      std::int64_t in_batch = 0;
      std::size_t most = 0;
      for (auto const& [ids, row] : x.batch(batch)) {
        auto const count = static_cast<std::size_t>(std::find(row.begin(), row.end(), -1) - row.begin());
        for (std::size_t k = 0; k < count; ++k) ++found[{ids[k], row[k]}];
        CHECK(std::all_of(row.begin() + static_cast<std::ptrdiff_t>(count), row.end(), [](auto y) { return y == -1; }));
        CHECK(std::all_of(ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(), [](auto y) { return y == 0; }));
        first_ids.push_back(ids[0]);
        most = std::max(most, count);
        in_batch += static_cast<std::int64_t>(count);
      }
      for (std::int64_t const shorter : {8, 16, 24})
        if (shorter < shape.length) CHECK(static_cast<std::int64_t>(most) > shorter);
      CHECK(in_batch == x.batches.labels_in(batch));
      labels += in_batch;
      positions += shape.rows * shape.length;
    }
    CHECK(found == expected);
    CHECK(labels == x.batches.labels());
    CHECK(positions == x.batches.positions());
    orders.insert(first_ids);
  }
  CHECK(orders.size() == 3);  // another order in each epoch
}

TEST_CASE("a batch is the same whoever asks for which part of it, in any order, and another by another key") {
  scratch const dir;
  write(dir.of("a.bin"));
  opened const x(dir.of("a.bin")), y(dir.of("a.bin")), z(dir.of("a.bin"), 2);
  auto const count = 2 * x.batches.batches_in_epoch();
  int others = 0;
  for (std::int64_t n = count - 1; n >= 0; n -= 3) {
    auto const whole = x.batch(n);
    auto const shape = y.batches.shape_of(n);
    std::vector<std::int32_t> half(static_cast<std::size_t>(shape.length / 2));
    y.batches.labels(n, shape.rows - 1, shape.length / 2, half);
    auto const& row = whole.back().second;
    CHECK(std::equal(half.begin(), half.end(), row.begin() + shape.length / 2));
    others += z.batch(n) != whole ? 1 : 0;
  }
  CHECK(others > 0);
  CHECK(x.batches.identity() == y.batches.identity());
  CHECK(x.batches.identity() != z.batches.identity());
}

TEST_CASE("a file that is one text has no batches of documents") {
  scratch const dir;
  write(dir.of("few.bin"), 99);
  CHECK_THROWS_WITH_AS(opened(dir.of("few.bin")),
                       doctest::Contains("few.bin has 99 documents; at least 100 are needed"), mtf::user_error);
}

}  // namespace
