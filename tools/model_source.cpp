#include "model_source.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/data/load_tokenizer.hpp>
#include <mtf/data/text_file.hpp>

#include "from_gguf.hpp"
#include "gguf_file.hpp"

namespace mtf::tools {

/// An open file. Its tensors' bytes are looked at inside of in.read alone.
struct gguf_model {
  explicit gguf_model(std::string const& path) : in(path) {
    in.read([&](std::string_view bytes) {
      file.emplace(path, bytes);
      tensors = converted_tensors(*file);
    });
  }
  gguf_model(gguf_model const&) = delete;
  gguf_model& operator=(gguf_model const&) = delete;
  ~gguf_model() = default;

  mtf::text_file in;
  std::optional<gguf_file> file;
  std::vector<converted_tensor> tensors;
};

namespace {

/// The arrays as convert writes them, in float, made while they are read.
class gguf_arrays final : public mtf::array_source {
 public:
  explicit gguf_arrays(std::shared_ptr<gguf_model const> of) : of_(std::move(of)), reader_(*of_->file) {
    std::uint64_t at = 0;
    for (auto const& t : of_->tensors) {
      auto const begin = std::exchange(at, at + t.from->size() * sizeof(float));
      arrays_.push_back({t.name, "F32", {t.shape.begin(), t.shape.end()}, begin, at});
    }
  }
  [[nodiscard]] std::string const& path() const override { return of_->file->path(); }
  [[nodiscard]] std::vector<mtf::stored_array> const& arrays() const override { return arrays_; }
  void read(std::size_t i, std::uint64_t begin, std::span<char> to) const override {
    auto const first = begin / sizeof(float), behind = (begin + to.size() + sizeof(float) - 1) / sizeof(float);
    elements_.resize(behind - first);
    of_->in.read([&](std::string_view) { reader_.read(of_->tensors[i], first, elements_); });
    std::memcpy(to.data(), reinterpret_cast<char const*>(elements_.data()) + begin % sizeof(float), to.size());
  }

 private:
  std::shared_ptr<gguf_model const> of_;
  std::vector<mtf::stored_array> arrays_;
  mutable converted_reader reader_;
  mutable std::vector<float> elements_;
};

}  // namespace

model_source::model_source(std::string path) : path_(std::move(path)) {
  std::error_code none;
  if (path_.ends_with(".gguf"))
    gguf_ = std::make_shared<gguf_model const>(path_);
  else if (std::filesystem::is_regular_file(path_, none))
    throw mtf::user_error(path_ +
                          " is a file and no GGUF file (.gguf): expected is one, or a directory with config.json, "
                          "tokenizer.json and weights (model.safetensors)");
}

std::string model_source::name_of(std::string const& file) const { return is_gguf() ? path_ : path_ + "/" + file; }

std::optional<std::string> model_source::text(std::string const& file) const {
  if (is_gguf()) {
    auto const& from = *gguf_->file;
    if (file == "config.json") return config_of(from);
    if (file == "generation_config.json") return generation_config_of(from);
    if (file == "tokenizer.json") return tokenizer_of(from);
    if (file != "chat_template.jinja") return {};
    auto const* const found = from.find_value<std::string>("tokenizer.chat_template");
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  auto const name = name_of(file);
  std::error_code none;
  if (!std::filesystem::exists(name, none)) return {};
  return mtf::text_of_file(name);
}

mtf::config_values model_source::config() const {
  auto const name = name_of("config.json");
  return is_gguf() ? mtf::config_of_text(*text("config.json"), name) : mtf::config_from(name);
}

std::unique_ptr<mtf::tokenizer> model_source::tokenizer(std::string const& other) const {
  if (other.ends_with(".gguf")) return model_source(other).tokenizer();
  if (!other.empty()) return mtf::load_tokenizer(other);
  return is_gguf() ? mtf::tokenizer_of_text(*text("tokenizer.json"), path_) : mtf::load_tokenizer(path_);
}

std::shared_ptr<mtf::array_source const> model_source::arrays() const {
  if (!is_gguf()) return {};
  return std::make_shared<gguf_arrays const>(gguf_);
}

std::vector<std::int32_t> ids_before(mtf::tokenizer const& words) {
  auto const ids = words.before_text();
  return {ids.begin(), ids.end()};
}

std::string model_source::type_of_array(std::size_t i) const { return name_of_type(gguf_->tensors.at(i).from->type); }
std::uint64_t model_source::gguf_bytes() const { return gguf_->in.size(); }

}  // namespace mtf::tools
