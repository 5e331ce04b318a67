#pragma once
// What a language model is trained on: a text, by its bytes, or a file of tokens. mtf::train_tool has the code.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mtf/checkpoint/part.hpp>
#include <mtf/ops/create/random.hpp>

namespace mtf::models {

/// How a file becomes examples.
struct corpus_options {
  std::int64_t sequence = 0;      // tokens in an example
  std::int64_t rows = 0;          // examples in a batch
  std::int64_t batches = 1;       // in a training step
  std::int64_t vocabulary = 0;    // of the model
  double validation_share = 0.1;  // of the tokens, kept from training: at least one example
  mtf::random_key seed{0};        // of the run
  /// Lengths below `sequence`. If there are any, batches of training are mtf::document_batches', of these lengths and
  /// of `sequence`, whose batches have `rows`.
  std::vector<std::int64_t> buckets{};
};

/// A batch of training: its examples, and tokens in each.
struct batch_shape {
  std::int64_t rows = 0, length = 0;
  double share = 1;  // of all batches
};

/// What of an example: its tokens, or for each the one that follows.
enum class example_part : std::uint8_t { ids, labels };

/// Examples for training and validation, of a file that mtf::token_file tells by its first bytes. Any rank reads any
/// part of any example, by its number alone. Of a text, examples of training begin at random bytes. Of a file of tokens
/// they are the rows of mtf::token_rows: documents in a random order, each once in an epoch; or, with buckets,
/// documents by their length.
class corpus {
 public:
  /// A user_error says what is wrong with the file: a vocabulary that is larger than the model's, a token that the
  /// model's has not, too few tokens, buckets that are none.
  corpus(std::string const& path, corpus_options const& options);
  corpus(corpus const&) = delete;
  corpus& operator=(corpus const&) = delete;
  ~corpus();

  /// An example of the i-th batch of a training step, from a column on, as much as `to` has room for.
  void training(int step, std::int64_t i, std::int64_t row, example_part part, std::int64_t column,
                std::span<std::int32_t> to) const;
  /// How many labels that batch has.
  [[nodiscard]] std::int64_t training_labels(int step, std::int64_t i) const;
  /// What that batch is.
  [[nodiscard]] batch_shape training_shape(int step, std::int64_t i) const;
  /// What batches there are: one kind, without buckets.
  [[nodiscard]] std::vector<batch_shape> training_shapes() const;
  /// Labels in a batch of training, on average where there are buckets; without, tokens.
  [[nodiscard]] std::int64_t labels_in_batch() const;
  /// The same of the k-th of `count` examples spread evenly over the validation part.
  void validation(std::int64_t k, std::int64_t count, example_part part, std::int64_t column,
                  std::span<std::int32_t> to) const;

  /// What its tokens are: "byte" or "token".
  [[nodiscard]] char const* token_name() const;
  /// "4351845 bytes of text"
  [[nodiscard]] std::string description() const;
  /// What a run must have in common with the one that it goes on with, by name.
  [[nodiscard]] mtf::checkpoint_notes same() const;
  /// The validation part's entropy in bits a token under the frequencies of the training part, which is what counting
  /// tokens gives; of a file of tokens that of at most 4096 examples under those of as many.
  [[nodiscard]] double unigram_bits() const;
  [[nodiscard]] char const* unigram_name() const;
  /// What a sample goes on from.
  [[nodiscard]] std::vector<std::int32_t> prompt() const;
  /// Tokens for people to read: text, or their numbers.
  [[nodiscard]] std::string written(std::span<std::int32_t const> ids) const;

 private:
  struct open_file;
  std::unique_ptr<open_file const> in_;
};

}  // namespace mtf::models
