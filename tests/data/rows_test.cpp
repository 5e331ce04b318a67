// Token files, their order, their rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <mtf/data.hpp>

#include "support/scratch.hpp"

namespace {

namespace fs = std::filesystem;
constexpr std::uint32_t end = 9;
/// Document d: 1 + d % 3 tokens, each d % 9; then the end of text.
void write_documents(std::string const& path, std::int64_t count, std::uint32_t vocabulary = 10) {
  mtf::token_writer to(path, vocabulary, end);
  for (std::int64_t d = 0; d < count; ++d) {
    to.add(std::vector<std::uint32_t>(static_cast<std::size_t>(1 + d % 3), static_cast<std::uint32_t>(d % 9)));
    to.end_document();
  }
  to.finish();
}

TEST_CASE("a permutation has each number once, whatever the size, and depends on all of its key") {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    mtf::permutation const p(size, size * 77);
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      auto const at = p(i);
      REQUIRE(at < size);
      REQUIRE(!seen[at]);
      seen[at] = true;
    }
  }
  mtf::permutation const a(1000, 1), b(1000, 2), c(1000, 1 + (std::uint64_t{1} << 63U));
  int same_ab = 0, same_ac = 0, fixed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same_ab += a(i) == b(i);
    same_ac += a(i) == c(i);
    fixed += a(i) == i;
  }
  CHECK(same_ab < 10);  // one is expected, more than 9 in 10^7 keys
  CHECK(same_ac < 10);
  CHECK(fixed < 10);
}

TEST_CASE("each number comes to each place about equally often") {
  constexpr std::size_t n = 11;
  constexpr int keys = 22000;
  std::array<std::array<int, n>, n> count{};
  for (int key = 0; key < keys; ++key) {
    mtf::permutation const p(n, static_cast<std::uint64_t>(key));
    for (std::size_t i = 0; i < n; ++i) ++count[i][static_cast<std::size_t>(p(i))];
  }
  double chi2 = 0;
  for (auto const& row : count)
    for (int const c : row) chi2 += (c - keys / 11.0) * (c - keys / 11.0) / (keys / 11.0);
  CHECK(chi2 < 100 + 6 * std::sqrt(200.0));  // 100 degrees of freedom: mean 100, deviation sqrt(200)
}

TEST_CASE("10^6 documents: each once an epoch, another order in each, the same whoever asks for which part") {
  scratch const dir;
  constexpr std::int64_t count = 1'000'000;
  write_documents(dir.of("many.bin"), count);
  mtf::token_file const file(dir.of("many.bin"));
  REQUIRE(file.documents() == count);
  mtf::row_options const options{.sequence = 64, .key = 5, .validation_share = 0.05};
  mtf::token_rows const rows(file, mtf::data_part::training, options), kept(file, mtf::data_part::validation, options);
  CHECK(rows.documents() + kept.documents() == count);
  CHECK(rows.tokens() + kept.tokens() == file.size());
  CHECK(static_cast<double>(kept.tokens()) == doctest::Approx(0.05 * static_cast<double>(file.size())).epsilon(1e-4));
  std::vector<char> seen(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < kept.documents(); ++i) seen[static_cast<std::size_t>(kept.document(0, i))] = 1;
  std::vector<std::int64_t> first;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    char const mark = static_cast<char>(2 + epoch);
    bool once = true, shuffled = false;
    for (std::int64_t i = 0; i < rows.documents(); ++i) {
      auto const d = rows.document(epoch, i);
      auto& s = seen[static_cast<std::size_t>(d)];
      once = once && s != mark && s != 1;
      s = mark;
      if (epoch == 0)
        first.push_back(d);
      else
        shuffled = shuffled || d != first[static_cast<std::size_t>(i)];
    }
    CHECK(once);
    CHECK(std::count(seen.begin(), seen.end(), mark) == rows.documents());
    CHECK(shuffled == (epoch == 1));
  }
  // Ranks that begin anywhere see the same rows.
  std::vector<std::int32_t> whole(static_cast<std::size_t>(64 * 32));
  auto const begin = rows.rows_in_epoch() - 16;  // the batches lie in two epochs
  for (std::int64_t r = 0; r < 32; ++r)
    rows.ids(begin + r, 0, std::span(whole).subspan(static_cast<std::size_t>(64 * r), 64));
  for (int const ranks : {2, 4, 8}) {
    std::vector<std::int32_t> parts(whole.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        mtf::token_rows const mine(file, mtf::data_part::training, options);
        for (std::int64_t r = 32 / ranks - 1; r >= 0; --r)
          for (std::int64_t column = 0; column < 64; column += 16) {
            auto const at = rank * 32 / ranks + r;
            mine.ids(begin + at, column, std::span(parts).subspan(static_cast<std::size_t>(64 * at + column), 16));
          }
      });
    for (auto& t : threads) t.join();
    CHECK(parts == whole);
  }
}

TEST_CASE("an epoch's rows have each token once; labels are the tokens after the ids") {
  scratch const dir;
  for (std::int64_t const documents : {7, 1000}) {
    write_documents(dir.of("some.bin"), documents);
    mtf::token_file const file(dir.of("some.bin"));
    for (std::int64_t const sequence : {1, 5, 9}) {
      mtf::token_rows const rows(file, mtf::data_part::training, {.sequence = sequence, .key = 3});
      std::vector<std::int64_t> epochs_first;
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        std::array<std::int64_t, 10> of_id{}, of_label{}, expected{};
        std::int64_t none = 0;
        std::vector<std::int32_t> ids(static_cast<std::size_t>(sequence)), labels = ids;
        for (std::int64_t r = 0; r < rows.rows_in_epoch(); ++r) {
          rows.ids(epoch * rows.rows_in_epoch() + r, 0, ids);
          rows.labels(epoch * rows.rows_in_epoch() + r, 0, labels);
          CHECK(rows.labels_in(epoch * rows.rows_in_epoch() + r) ==
                std::count_if(labels.begin(), labels.end(), [](std::int32_t label) { return label >= 0; }));
          for (std::size_t c = 0; c + 1 < ids.size(); ++c)
            if (labels[c] >= 0) CHECK(labels[c] == ids[c + 1]);
          for (std::size_t c = 0; c < ids.size(); ++c) {
            if (labels[c] < 0) {
              ++none;
              continue;
            }
            ++of_id[static_cast<std::size_t>(ids[c])];
            ++of_label[static_cast<std::size_t>(labels[c])];
          }
        }
        std::vector<std::int32_t> all(static_cast<std::size_t>(file.size()));
        file.read(0, all);
        for (auto const id : all) ++expected[static_cast<std::size_t>(id)];
        // But for the epoch's first token, which is nobody's label, and the last, which has none.
        auto const total = std::accumulate(of_id.begin(), of_id.end(), std::int64_t{0});
        CHECK(total == file.size() - 1);
        CHECK(total + none == rows.rows_in_epoch() * sequence);
        CHECK(of_id[end] == expected[end] - 1);
        std::int64_t missing = 0;
        for (std::size_t id = 0; id < 10; ++id) missing += expected[id] - of_label[id];
        CHECK(missing == 1);
      }
    }
  }
}

TEST_CASE("documents stand whole and in their epoch's order before rows are shuffled") {
  scratch const dir;
  write_documents(dir.of("some.bin"), 500);
  mtf::token_file const file(dir.of("some.bin"));
  // One row that is the whole epoch.
  mtf::token_rows const rows(file, mtf::data_part::training, {.sequence = file.size() - 1, .key = 3});
  REQUIRE(rows.rows_in_epoch() == 1);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<std::int32_t> row(static_cast<std::size_t>(file.size() - 1)), expected;
    rows.ids(epoch, 0, row);
    for (std::int64_t i = 0; i < rows.documents(); ++i) {
      auto const d = rows.document(epoch, i);
      for (std::int64_t k = 0; k < 1 + d % 3; ++k) expected.push_back(static_cast<std::int32_t>(d % 9));
      expected.push_back(end);
    }
    expected.pop_back();
    CHECK(row == expected);
  }
}

TEST_CASE("of a text the last part is for validation, and its rows come in another order in each epoch") {
  scratch const dir;
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  write_bytes(dir.of("text"), text);
  mtf::token_file const file(dir.of("text"));
  CHECK(file.vocabulary() == 256);
  CHECK(!file.end_of_text());
  mtf::row_options const options{.sequence = 10, .key = 1, .validation_share = 0.1};
  mtf::token_rows const kept(file, mtf::data_part::validation, options), rows(file, mtf::data_part::training, options);
  CHECK(kept.tokens() == 25);
  std::vector<std::int32_t> row(10);
  kept.ids(0, 0, row);
  CHECK(row.front() == 231);
  kept.labels(3 + 2, 0, row);  // the third of three rows, in any epoch
  CHECK(row == std::vector<std::int32_t>{252, 253, 254, 255, -1, -1, -1, -1, -1, -1});
  std::vector<std::int32_t> first, second;
  for (std::int64_t r = 0; r < 2 * rows.rows_in_epoch(); ++r) {
    rows.ids(r, 0, row);
    (r < rows.rows_in_epoch() ? first : second).push_back(row.front());
  }
  CHECK(first != second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
  CHECK(first.back() < 231);
  CHECK(has(error_of([&] { mtf::token_rows(file, mtf::data_part::training, {.sequence = 256}); }),
            "training has 256 tokens; at least 257 are needed"));
  CHECK(has(error_of([&] { mtf::token_rows(file, mtf::data_part::validation, {.sequence = 8}); }),
            "validation has 0 tokens"));
}

TEST_CASE("ids of two and of four bytes, and llm.c's files") {
  scratch const dir;
  for (std::uint32_t const vocabulary : {65536U, 65537U}) {
    mtf::token_writer to(dir.of("wide.bin"), vocabulary, std::nullopt);
    std::vector<std::uint32_t> const ids{0, vocabulary - 1, 300};
    to.add(ids);
    CHECK(has(error_of([&] { to.add(std::vector<std::uint32_t>{vocabulary}); }), "is not in a vocabulary of"));
    to.finish();
    mtf::token_file const file(dir.of("wide.bin"));
    std::vector<std::int32_t> read(3);
    file.read(0, read);
    CHECK(read == std::vector<std::int32_t>{0, static_cast<std::int32_t>(vocabulary - 1), 300});
    CHECK(bytes_of(file.path()).size() == 64 + (vocabulary == 65536 ? 8 : 16) + 8);
    CHECK_NOTHROW(file.check_below(vocabulary));
    CHECK(has(error_of([&] { file.check_below(vocabulary - 1); }), "token 1 is " + std::to_string(vocabulary - 1)));
  }
  std::string llmc(1024, '\0');
  std::array<std::int32_t, 3> const head{20240520, 1, 5};
  std::copy_n(reinterpret_cast<char const*>(head.data()), 12, llmc.data());
  std::array<std::uint16_t, 5> const ids{50256, 1, 2, 50256, 3};
  llmc.append(reinterpret_cast<char const*>(ids.data()), 10);
  write_bytes(dir.of("llmc.bin"), llmc);
  mtf::token_file const file(dir.of("llmc.bin"));
  CHECK(file.size() == 5);
  CHECK(file.documents() == 2);
  CHECK(file.begin_of(1) == 3);
  CHECK(file.end_of_text() == 50256);
}

TEST_CASE("a file of tokens or a text that is changed while it is read is an error, and no signal") {
  scratch const dir;
  auto const path = dir.of("some.bin"), text = dir.of("text");
  auto const looks = [&](auto const& change) {
    write_documents(path, 5000);
    write_bytes(text, std::string(100'000, 'x'));
    mtf::token_file const file(path), bytes(text);
    mtf::text_file const whole(text);
    std::vector<std::int32_t> row(64);
    std::vector<std::string> said;
    auto const all = [&] {
      said.push_back(error_of([&] { return file.read(file.size() - 64, row), 0; }));
      said.push_back(error_of([&] { return bytes.read(bytes.size() - 64, row), 0; }));
      said.push_back(error_of([&] { return file.check_below(10), 0; }));
      said.push_back(error_of([&] { return file.fingerprint(); }));
      said.push_back(error_of([&] {
        whole.read([&](std::string_view all_of_it) { row[0] = all_of_it.back(); });
        return 0;
      }));
    };
    all();
    for (auto const& s : said) CHECK(s.empty());
    said.clear();
    change();
    all();
    return said;
  };
  for (auto const& said : looks([&] {
         fs::resize_file(path, 1000);
         fs::resize_file(text, 1000);
       }))
    CHECK_MESSAGE((has(said, " has become shorter while it is read") || has(said, " was changed while it is read")),
                  said);
  for (auto const& said : looks([&] {  // the same length, other bytes
         for (auto const& each : {path, text}) std::fstream(each, std::ios::in | std::ios::out).seekp(2000).put('y');
       }))
    CHECK_MESSAGE(has(said, " was changed while it is read"), said);
  for (auto const& said : looks([&] {
         for (auto const& each : {path, text}) std::ofstream(each, std::ios::app) << "more";
       }))
    CHECK_MESSAGE(has(said, " was changed while it is read"), said);
  for (auto const& said : looks([&] {  // another file with its name
         for (auto const& each : {path, text}) {
           write_bytes(dir.of("new"), "another");
           fs::rename(dir.of("new"), each);
         }
       }))
    CHECK(said.empty());
}

TEST_CASE("a file that is not what its header says is refused by name") {
  scratch const dir;
  auto const path = dir.of("good.bin"), bad = dir.of("bad.bin");
  write_documents(path, 20);
  auto const good = bytes_of(path);
  auto const refused = [&](std::string const& bytes) {
    write_bytes(bad, bytes);
    return error_of([&] { mtf::token_file const file(bad); });
  };
  REQUIRE(refused(good).empty());
  for (std::size_t length = 0; length < good.size(); ++length) {
    auto const told = refused(good.substr(0, length));
    CHECK_MESSAGE(has(told, bad), length);
  }
  CHECK(has(refused(good + "x"), "its header says"));
  auto const with = [&](std::size_t at, char to) {
    auto bytes = good;
    bytes[at] = to;
    return bytes;
  };
  CHECK(has(refused(with(0, 'x')), "is no token file"));
  CHECK(has(refused(with(8, 2)), "version 2"));
  CHECK(has(refused(with(12, 3)), "tokens of 3 bytes"));
  CHECK(has(refused(with(23, '\x7f')), "which cannot be"));
  CHECK(has(refused(with(16, 1)), "documents of"));
  CHECK(has(refused(with(28, '\x7f')), "documents of"));
  CHECK(has(refused(with(32, 5)), "vocabulary of 5"));
  CHECK(has(refused(with(good.size() - 8, 1)), "document 19 ends at token 1"));
  CHECK(has(refused(with(good.size() - 16, 1)), "document 18 ends at token 1"));
  CHECK(has(error_of([&] { mtf::token_file const file(dir.of("none")); }), "No such file"));
  CHECK(has(error_of([&] { mtf::token_file const file(dir.path); }), "is a directory"));
  write_bytes(dir.of("empty"), "");
  CHECK(has(error_of([&] { mtf::token_file const file(dir.of("empty")); }), "the file is empty"));
}

TEST_CASE("a file that is not finished leaves nothing") {
  scratch const dir;
  {
    mtf::token_writer to(dir.of("x.bin"), 10, end);
  }
  CHECK(std::filesystem::is_empty(dir.path));
  CHECK(has(error_of([&] { mtf::token_writer to(dir.of("no/x.bin"), 10, end); }), "cannot be written"));
}

}  // namespace
