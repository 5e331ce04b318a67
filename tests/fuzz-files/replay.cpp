// Calls a libFuzzer target for every file of a directory, without libFuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i)
    for (auto const& e : std::filesystem::directory_iterator(argv[i])) {
      std::fprintf(stderr, "%s\n", e.path().c_str());
      std::ifstream in(e.path(), std::ios::binary);
      std::vector<char> const bytes{std::istreambuf_iterator<char>(in), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
      ++files;
    }
  return files > 0 ? 0 : 2;
}
