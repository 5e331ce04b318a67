// libFuzzer's target for the reader of checkpoints: whatever the files hold, reading ends with the tensors or with a
// user_error. The first byte says which file the others are: H, model.safetensors; M, the manifest.json beside a whole
// one; I, the model.safetensors.index.json beside a whole one. (docs/design/files.md, "Checkpoints")
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/backend/single_rank.hpp>
#include <mtf/checkpoint.hpp>

namespace {

namespace fs = std::filesystem;

/// The memory of one tensor, which stands for a tensor.
using memory = std::array<char, 64>;

template <mtf::element Element>
constexpr mtf::detail::stored_access access_to{
    .element = Element, .memory = [](void* x) { return x; }, .new_memory = [](void* x, void*) { return x; }};

template <mtf::element Element>
mtf::detail::stored_tensor tensor(std::string name, std::vector<std::int64_t> const& extents, memory& at) {
  mtf::detail::stored_tensor t{.name = std::move(name), .access = &access_to<Element>, .tensor = &at};
  std::uint64_t id = 1;
  for (auto const extent : extents) t.where.push({.id = id++, .extent = extent, .split = {}, .name = "dim"});
  return t;
}

/// A whole checkpoint, in a directory that goes at the end.
class checkpoint {
 public:
  checkpoint() : path_(fs::temp_directory_path() / ("mtf-fuzz-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    parts_.push_back(
        {"model",
         {tensor<mtf::element::f32>("a", {2, 3}, memory_[0]), tensor<mtf::element::bf16>("b", {4}, memory_[1]),
          tensor<mtf::element::i64>("n", {}, memory_[2]), tensor<mtf::element::boolean>("q", {3}, memory_[3])}});
    mtf::detail::write_checkpoint(ranks_, path_, parts_, {{"step", "7"}});
    whole_ = text_of("model.safetensors");
  }
  checkpoint(checkpoint const&) = delete;
  checkpoint& operator=(checkpoint const&) = delete;
  ~checkpoint() {
    std::error_code none;
    fs::remove_all(path_, none);
  }

  /// With this text as one of its files.
  void read_with(char kind, std::string text) {
    fs::remove(path_ / "manifest.json");
    fs::remove(path_ / "model.safetensors.index.json");
    if (kind == 'M') write("manifest.json", with_checksum(std::move(text)));
    if (kind == 'I') write("model.safetensors.index.json", text);
    write("model.safetensors", kind == 'H' ? text : whole_);
    try {
      mtf::detail::read_checkpoint(ranks_, path_, parts_);
    } catch (mtf::user_error const& e) {
      if (std::string_view(e.what()).find("model") == std::string_view::npos &&
          std::string_view(e.what()).find(path_.string()) == std::string_view::npos)
        std::abort();  // it does not name the file
    }
    if (kind == 'H') headers_agree(text);
  }

 private:
  [[nodiscard]] std::string text_of(char const* name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(char const* name, std::string const& text) const { std::ofstream(path_ / name, std::ios::binary) << text; }

  // Else its checksum would keep every other manifest out.
  static std::string with_checksum(std::string text) {
    auto all = nlohmann::json::parse(text, nullptr, false);
    if (!all.is_object() || !all.contains("crc32c")) return text;
    all.erase("crc32c");
    auto const rest = all.dump();
    all["crc32c"] = mtf::detail::checksum_of(rest.data(), rest.size());
    return all.dump();
  }
  // What a header says is what its arrays' new header says.
  static void headers_agree(std::string const& text) {
    mtf::safetensors_header h;
    try {
      h = mtf::safetensors_from(text, text.size(), "it");
    } catch (mtf::user_error const&) {
      return;
    }
    auto const by_name = [](auto const& a, auto const& b) { return a.name < b.name; };
    auto const first = mtf::lay_out(h);
    auto const end = h.arrays.empty() ? 0 : h.arrays.back().end;
    auto again = mtf::safetensors_from(first, first.size() + end, "its copy");
    std::sort(h.arrays.begin(), h.arrays.end(), by_name);
    std::sort(again.arrays.begin(), again.arrays.end(), by_name);
    if (again.arrays != h.arrays || again.metadata != h.metadata || again.data != h.data) std::abort();
  }

  fs::path path_;
  mtf::single_rank ranks_;
  std::array<memory, 4> memory_{};
  std::vector<mtf::detail::stored_part> parts_;
  std::string whole_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static checkpoint all;
  if (size == 0) return 0;
  std::string const text(reinterpret_cast<char const*>(data), size);
  if (std::string_view("HMI").find(text[0]) != std::string_view::npos) all.read_with(text[0], text.substr(1));
  return 0;
}
