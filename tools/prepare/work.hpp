#pragma once
// Documents to tokens, by several threads, in the order of the input.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <mtf/data/text_file.hpp>
#include <mtf/tokenizers.hpp>

#include "sources.hpp"

namespace prepare {

/// What was done.
struct summary {
  std::uint64_t bytes = 0, documents = 0, tokens = 0;  // of a vocabulary: its tokens
};

/// Tokenizes all documents of the sources into a token file. The file is the same whatever the number of threads.
/// `shows_progress`: a bar on standard error.
summary tokenize(source_options const& sources, mtf::tokenizer const& with, std::string const& to, int threads,
                 bool shows_progress);

/// Trains a BPE vocabulary on all documents, and writes its tokenizer.json. As tokenize.
summary train_bpe(source_options const& sources, std::uint32_t vocabulary, std::string const& to, int threads,
                  bool shows_progress);

}  // namespace prepare
