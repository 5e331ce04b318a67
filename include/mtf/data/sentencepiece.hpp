#pragma once
// Tokenizers of sentencepiece, by its library.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sentencepiece_processor.h>

#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/data/tokenizer.hpp>

namespace mtf {

/// A .model file of sentencepiece, such as those of T5, Llama 1 and 2. The library normalizes texts as the file says,
/// so that `decode` may give another spelling. Names of special tokens in a text are letters.
class sentencepiece_tokenizer final : public tokenizer {
 public:
  using tokenizer::encode;
  /// A file that the library does not take is a user_error.
  explicit sentencepiece_tokenizer(std::string const& path)
      : model_(std::make_shared<sentencepiece::SentencePieceProcessor>()) {
    auto const bytes = text_of_file(path, 256'000'000);
    if (auto const status = model_->LoadFromSerializedProto(bytes); !status.ok())
      throw user_error(path + " is no model of sentencepiece: " + status.ToString());
  }
  void encode(std::string_view text, std::vector<std::uint32_t>& to) override {
    std::vector<int> ids;
    if (auto const status = model_->Encode({text.data(), text.size()}, &ids); !status.ok())
      throw user_error("sentencepiece: " + status.ToString());
    to.insert(to.end(), ids.begin(), ids.end());
  }
  [[nodiscard]] std::string decode(std::span<std::uint32_t const> ids) const override {
    for (auto const id : ids)
      if (id >= vocabulary()) no_such_id(id, vocabulary());
    std::string text;
    if (auto const status = model_->Decode(std::vector<int>(ids.begin(), ids.end()), &text); !status.ok())
      throw user_error("sentencepiece: " + status.ToString());
    return text;
  }
  [[nodiscard]] std::uint32_t vocabulary() const override { return static_cast<std::uint32_t>(model_->GetPieceSize()); }
  [[nodiscard]] bool is_special(std::uint32_t id) const override {
    auto const piece = static_cast<int>(id);
    return id < vocabulary() && (model_->IsControl(piece) || model_->IsUnknown(piece));
  }
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view name) const override {
    int const id = model_->PieceToId({name.data(), name.size()});
    if (id < 0 || model_->IdToPiece(id) != name) return {};
    return static_cast<std::uint32_t>(id);
  }
  [[nodiscard]] std::unique_ptr<tokenizer> clone() const override {
    return std::unique_ptr<tokenizer>(new sentencepiece_tokenizer(model_));
  }
  /// Nowhere: the library sees a document as one sentence.
  [[nodiscard]] std::size_t break_behind(std::string_view text, std::size_t) const override { return text.size(); }

 private:
  explicit sentencepiece_tokenizer(std::shared_ptr<sentencepiece::SentencePieceProcessor> model)
      : model_(std::move(model)) {}
  std::shared_ptr<sentencepiece::SentencePieceProcessor> model_;
};

}  // namespace mtf
