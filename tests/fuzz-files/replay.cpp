// Calls a libFuzzer target for every file of a directory, without libFuzzer.
//   x DIRECTORY [N]   also with each of a file's first N bytes changed in turn, in three ways
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::size_t const changed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  int files = 0;
  for (auto const& e : std::filesystem::directory_iterator(argv[1])) {
    std::fprintf(stderr, "%s\n", e.path().c_str());
    std::ifstream in(e.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    auto const run = [&] { LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size()); };
    run();
    for (std::size_t at = 0; at < std::min(bytes.size(), changed); ++at)
      for (char const change : {'\1', '\x80', '\xff'}) {
        char const before = bytes[at];
        bytes[at] = static_cast<char>(before ^ change);
        run();
        bytes[at] = before;
      }
    ++files;
  }
  return files > 0 ? 0 : 2;
}
