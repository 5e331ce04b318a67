#pragma once
// A tokenizer from its file, whatever its kind.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/data/bpe.hpp>
#include <mtf/data/sentencepiece.hpp>
#include <mtf/data/tokenizer.hpp>
#include <mtf/data/unigram.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/detail/data/json_tables.hpp>
#include <mtf/detail/data/unigram_tables.hpp>

namespace mtf {

/// Of the text of a tokenizer.json, BPE or Unigram, or of a vocab.json. `name`: what errors call it; of a vocab.json
/// its path, beside which merges.txt is.
inline std::unique_ptr<tokenizer> tokenizer_of_text(std::string_view text, std::string const& name,
                                                    special_tokens special = special_tokens::matched) {
  auto const json = detail::strict_json(text, name);
  if (detail::is_unigram(json)) return std::make_unique<unigram_tokenizer>(json, name, special);
  return std::make_unique<bpe_tokenizer>(json, name, special);
}

/// By what is named: "bytes"; a tokenizer.json, BPE or Unigram; a vocab.json, byte-level BPE; a .model file of
/// sentencepiece; or a directory that has one of these files, looked for in this order.
inline std::unique_ptr<tokenizer> load_tokenizer(std::string const& name,
                                                 special_tokens special = special_tokens::matched) {
  if (name == "bytes") return std::make_unique<byte_tokenizer>();
  std::error_code none;
  if (std::filesystem::is_directory(name, none)) {
    for (auto const* file : {"tokenizer.json", "vocab.json", "tokenizer.model"})
      if (auto const path = name + "/" + file; std::filesystem::exists(path, none))
        return load_tokenizer(path, special);
    throw user_error(name + " has no tokenizer.json, vocab.json or tokenizer.model");
  }
  if (name.ends_with(".json"))
    return tokenizer_of_text(text_of_file(name, detail::json_tables::most_bytes), name, special);
  if (name.ends_with(".model")) return std::make_unique<sentencepiece_tokenizer>(name);
  throw user_error(
      "the tokenizer " + name +
      ": \"bytes\", a tokenizer.json, a vocab.json with merges.txt beside it, a .model of sentencepiece, or "
      "a directory with one of them was expected");
}

}  // namespace mtf
