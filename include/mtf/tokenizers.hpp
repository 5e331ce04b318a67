#pragma once
// From texts to tokens. Needs PCRE2, sentencepiece and nlohmann-json: link mtf::tokenizers.
// IWYU pragma: begin_exports
#include <mtf/data/bpe.hpp>
#include <mtf/data/json_line.hpp>
#include <mtf/data/load_tokenizer.hpp>
#include <mtf/data/sentencepiece.hpp>
#include <mtf/data/tokenizer.hpp>
#include <mtf/data/train_bpe.hpp>
#include <mtf/data/unigram.hpp>
// IWYU pragma: end_exports
