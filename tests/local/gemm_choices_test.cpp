// The file of algorithms that products take (gemm/choices.hpp): what is written is read, by later runs, on the same
// version and device.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <mtf/kokkos/gemm/choices.hpp>

namespace {

using namespace mtf::kokkos;  // NOLINT: what is tested

struct folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("gemm_choices." + std::to_string(getpid()));
  folder() { std::filesystem::create_directory(path); }
  ~folder() { std::filesystem::remove_all(path); }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  [[nodiscard]] std::string file(char const* name) const { return (path / name).string(); }
};

std::string contents(std::string const& file) {
  std::ifstream from(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}
void write(std::string const& file, std::string const& text) { std::ofstream(file, std::ios::binary) << text; }

algorithm_numbers numbers(std::int64_t first) { return {first, 0, 1, 2, 3, 4, 5, 6, 7}; }

constexpr char const* here = "cuBLASLt 130100, a device of 132 multiprocessors";
constexpr char const* elsewhere = "cuBLASLt 130200, a device of 132 multiprocessors";

TEST_CASE("what a text of choices says is what it was made of") {
  algorithms_of_products all;
  CHECK(choices_in(choices_text(all, here), here).empty());
  for (int count = 1; count < 20; ++count) {
    all["float " + std::to_string(count * 7919 % 100) + "x64x1 alignment 16"] = numbers(count % 3);
    CHECK(choices_in(choices_text(all, here), here) == all);
  }
  all["largest"].fill(std::numeric_limits<std::int64_t>::max());
  CHECK(choices_in(choices_text(all, here), here) == all);
}

TEST_CASE("choices of another version or device are not read") {
  auto const text = choices_text({{"p", numbers(1)}}, here);
  CHECK(choices_in(text, elsewhere).empty());
  CHECK(choices_in(text, std::string(here) + "s").empty());
  CHECK(choices_in(text, std::string(here).substr(1)).empty());
  CHECK(choices_in("", here).empty());
  CHECK(choices_in("\n" + text, here).empty());
}

TEST_CASE("a damaged line is passed over, and no other") {
  std::string const title = choices_text({}, here), good = "q: 1 0 1 2 3 4 5 6 7\n";
  for (std::string const line : {"",
                                 ":",
                                 ": 1 0 1 2 3 4 5 6 7",
                                 "p",
                                 "p:",
                                 "p: ",
                                 "p: 1",
                                 "p: 1 0 1 2 3 4 5 6",
                                 "p: 1 0 1 2 3 4 5 6 7 8",
                                 "p: 1 0 1 2 3 4 5 6 7 ",
                                 "p: 1 0 1 2 3 4 5 6 ",
                                 "p: 1 0 1 2 3 4 5 6 x",
                                 "p: 1 0 1 2 3 4 5 6 7x",
                                 "p: 1 0 1  2 3 4 5 6 7",
                                 "p: 1 0 1 2 3 4 5 6 -7",
                                 "p: 1 0 1 2 3 4 5 6 7.0",
                                 "p:1 0 1 2 3 4 5 6 7",
                                 "p: 1 0 1 2 3 4 5 6 9223372036854775808",
                                 "# p: 1 0 1 2 3 4 5 6 7",
                                 "\x01\xff\x7f"}) {
    CAPTURE(line);
    CHECK(choices_in(title + line + "\n" + good, here) == algorithms_of_products{{"q", numbers(1)}});
    CHECK(choices_in(title + good + line + "\n", here) == algorithms_of_products{{"q", numbers(1)}});
  }
  // However far a text was written, what is read of it was written.
  algorithms_of_products const all{{"p", numbers(12)}, {"q", numbers(345)}};
  auto const text = choices_text(all, here);
  for (std::size_t n = 0; n <= text.size(); ++n)
    for (auto const& [product, read] : choices_in(text.substr(0, n), here)) CHECK(all.at(product) == read);
  CHECK(choices_in(title + good + "q: 2 0 1 2 3 4 5 6 7\n", here).at("q") == numbers(1));
}

TEST_CASE("later runs find what a run added, and it itself does not") {
  folder const in;
  auto const path = in.file("choices");
  choices_file first(path, here);
  CHECK(first.save());  // of nothing: no file
  CHECK(!std::filesystem::exists(path));
  first.add("p", numbers(1));
  CHECK(first.find("p") == nullptr);
  CHECK(first.save());
  CHECK(first.find("p") == nullptr);

  choices_file second(path, here);
  REQUIRE(second.find("p") != nullptr);
  CHECK(*second.find("p") == numbers(1));
  CHECK(second.find("q") == nullptr);
  CHECK(std::distance(std::filesystem::directory_iterator(in.path), {}) == 1);  // nothing else is left there
}

TEST_CASE("of ranks that write the first one's choice stands, and all products are kept") {
  folder const in;
  auto const path = in.file("choices");
  choices_file one(path, here), two(path, here);
  one.add("p", numbers(1));
  one.add("of one", numbers(2));
  two.add("p", numbers(3));
  two.add("of two", numbers(4));
  CHECK(one.save());
  CHECK(two.save());
  CHECK(choices_in(contents(path), here) ==
        algorithms_of_products{{"p", numbers(1)}, {"of one", numbers(2)}, {"of two", numbers(4)}});

  // One that was read and did not serve is replaced, unless another rank has done so.
  choices_file third(path, here), fourth(path, here);
  third.add("p", numbers(5));
  fourth.add("p", numbers(6));
  CHECK(third.save());
  CHECK(fourth.save());
  CHECK(choices_in(contents(path), here).at("p") == numbers(5));
}

TEST_CASE("another device's file is replaced once something was added") {
  folder const in;
  auto const path = in.file("choices");
  for (auto const& before :
       {choices_text({{"p", numbers(1)}}, elsewhere), std::string("no such file"), std::string()}) {
    write(path, before);
    choices_file run(path, here);
    CHECK(run.find("p") == nullptr);
    CHECK(run.save());
    CHECK(contents(path) == before);
    run.add("q", numbers(2));
    CHECK(run.save());
    CHECK(contents(path) == choices_text({{"q", numbers(2)}}, here));
  }
}

TEST_CASE("a file that cannot be read or written is no error") {
  folder const in;
  for (auto const& path : {in.file("no folder/choices"), in.path.string(), std::string("/proc/choices")}) {
    CAPTURE(path);
    choices_file run(path, here);
    CHECK(run.find("p") == nullptr);
    run.add("p", numbers(1));
    CHECK(!run.save());
  }
  CHECK(std::filesystem::is_empty(in.path));
}

}  // namespace
