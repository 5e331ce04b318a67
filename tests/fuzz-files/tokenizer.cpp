// Any text as a tokenizer.json, and texts encoded by what is read: an id for each, or one user_error; never a crash. As
// vocabularies of bytes have many, "@": 0 in the text stands for all of them, with the ids from 0 on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <mtf/core/error.hpp>
#include <mtf/data/bpe.hpp>
#include <mtf/data/tokenizer.hpp>
#include <mtf/data/unigram.hpp>
#include <mtf/detail/data/byte_letters.hpp>

namespace {

std::string all_bytes() {
  std::string text;
  for (int b = 0; b < 256; ++b) {
    auto letter = mtf::detail::spelled(std::string(1, static_cast<char>(b)));
    if (letter == "\"" || letter == "\\") letter = "\\" + letter;
    text += (b == 0 ? "\"" : ", \"") + letter + "\": " + std::to_string(b);
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static std::string const bytes = all_bytes();
  std::string text(reinterpret_cast<char const*>(data), size);
  constexpr std::string_view placeholder = "\"@\": 0";
  if (auto const at = text.find(placeholder); at != std::string::npos) text.replace(at, placeholder.size(), bytes);

  int const descriptor = ::memfd_create("tokenizer", 0);
  if (descriptor < 0 || ::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::abort();
  try {
    auto const path = "/proc/self/fd/" + std::to_string(descriptor);
    std::unique_ptr<mtf::tokenizer> const read =
        text.find("\"Unigram\"") == std::string::npos
            ? std::unique_ptr<mtf::tokenizer>(std::make_unique<mtf::bpe_tokenizer>(path))
            : std::make_unique<mtf::unigram_tokenizer>(path);
    auto& tokenizer = *read;
    for (std::string_view const given : {"", "In the beginning  God created\nthe heaven.\r\n\n 1234 can't",
                                         "\xff\xc0\x80 \xe2\x82\xac\xf0\x9f\x98", "<|endoftext|>the the<s> the"}) {
      std::vector<std::uint32_t> ids;
      tokenizer.encode(given, ids);
      for (auto const id : ids)
        if (id >= tokenizer.vocabulary()) std::abort();
      static_cast<void>(tokenizer.decode(ids));
      if (tokenizer.break_behind(given, given.size() / 2) > given.size()) std::abort();
    }
  } catch (mtf::user_error const&) {
  }
  ::close(descriptor);
  return 0;
}
