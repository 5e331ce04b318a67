#pragma once
// Language models as the tools take them (tools/task.hpp): what they are trained on, how good they are, what they
// write.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/train/run_report.hpp>

#include "corpus.hpp"

namespace mtf::models {

/// The token that a number of [0, 1) draws from the softmax of `logits` at `temperature`.
inline std::int32_t drawn_token(std::span<float const> logits, double uniform, double temperature) {
  double const largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weight(logits.size());
  double total = 0;
  for (std::size_t v = 0; v < weight.size(); ++v) total += weight[v] = std::exp((logits[v] - largest) / temperature);
  double left = total * uniform;
  std::size_t drawn = 0;
  while (drawn + 1 < weight.size() && (left -= weight[drawn]) >= 0) ++drawn;
  return static_cast<std::int32_t>(drawn);
}

/// A model that predicts each next token, with a text or a file of tokens. `Model` has the dimensions batch, sequence
/// and vocab, a list of all its `dimensions`, `parameters`, `initial<Parameters>(machine, key)`, and the loss(p, ids,
/// labels) of tokens [batch, sequence], in nats; labels below 0 stand for none. With logits(p, ids) [batch, sequence,
/// vocab], samples can be drawn of it.
template <class Model>
class language_task : public Model {
  using tokens = mtf::input<std::int32_t, typename Model::batch, typename Model::sequence>;
  static constexpr int evaluation_batches = 8;

 public:
  /// A batch: tokens, and for each the one that follows.
  using inputs = std::tuple<tokens, tokens>;
  static constexpr std::array<char const*, 2> input_names{"tokens", "labels"};
  static constexpr char const* reads = "a file of tokens (.bin), which prepare writes, or else a text, read as bytes";
  /// What speeds count.
  static constexpr char const* item = "tokens";
  [[nodiscard]] std::int64_t items() const { return corpus_.labels_in_batch(); }
  /// If the model has layers whose upper half may have a layout of its own.
  template <class Layout, class M = Model>
  using with_upper_layout = language_task<typename M::template with_upper_layout<Layout>>;

  /// As the command line says: `data`, a path; `seed`; `batches` in a step; `validation_share` of the tokens; `extents`
  /// of dimensions that are values.
  explicit language_task(auto const& asked)
      : batch_size_(extent_of<typename Model::batch>(asked.extents)),
        sequence_length_(extent_of<typename Model::sequence>(asked.extents)),
        vocabulary_(extent_of<typename Model::vocab>(asked.extents)),
        corpus_(asked.data, {.sequence = sequence_length_,
                             .rows = batch_size_,
                             .batches = asked.batches,
                             .vocabulary = vocabulary_,
                             .validation_share = asked.validation_share,
                             .seed = asked.seed,
                             .buckets = asked.buckets}),
        name_(asked.data.substr(asked.data.rfind('/') + 1)),
        settings_(settings_of<Model>(asked.config)) {}

  /// The i-th batch of a step. Each rank reads its own part of it.
  template <class Batch>
  [[nodiscard]] Batch batch_of(auto& machine, int step, std::int64_t i) const {
    give(machine, corpus_.training_shape(step, i));
    return batch_from<Batch>(machine,
                             [&](std::int64_t row, auto... where) { corpus_.training(step, i, row, where...); });
  }
  /// How much it counts: its labels.
  [[nodiscard]] double weight_of(int step, std::int64_t i) const {
    return static_cast<double>(corpus_.training_labels(step, i));
  }
  /// Whether batches may be of several lengths: where batch and sequence are values.
  static constexpr bool takes_buckets = !requires { Model::batch::extent; } && !requires { Model::sequence::extent; };
  /// The extents of all kinds of batches, and the share of each.
  [[nodiscard]] std::vector<std::pair<mtf::extents_value, double>> batch_extents() const {
    std::vector<std::pair<mtf::extents_value, double>> all;
    for (auto const& shape : corpus_.training_shapes()) all.emplace_back(extents_of(shape), shape.share);
    return all;
  }
  /// Bits a token, of batches of the validation part.
  template <class Batch>
  [[nodiscard]] double metric(auto& machine, auto const& p) const {
    give(machine, {batch_size_, sequence_length_});
    double sum = 0;
    for (int i = 0; i < evaluation_batches; ++i) {
      auto const [ids, labels] = batch_from<Batch>(machine, [&](std::int64_t row, auto... where) {
        corpus_.validation(i * batch_size_ + row, evaluation_batches * batch_size_, where...);
      });
      sum += mtf::item(with_settings([&](auto const&... s) { return Model::loss(p, ids, labels, s...); }));
    }
    return sum / evaluation_batches / std::log(2.0);
  }
  /// Goes on from the corpus's prompt, token by token: each is drawn from the softmax of the logits at temperature 0.8.
  /// The model sees the last `sequence` tokens; all ranks draw the same.
  template <class Batch, class Parameters>
    requires requires(Parameters const& p, std::tuple_element_t<0, Batch> const& ids) { Model::logits(p, ids); }
  [[nodiscard]] std::string sample(auto& machine, Parameters const& p, int count, mtf::random_key key) const {
    give(machine, {batch_size_, sequence_length_});
    auto written = corpus_.prompt();
    for (int n = 0; n < count; ++n) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(batch_size_ * sequence_length_));
      auto const seen = std::min(static_cast<std::int64_t>(written.size()), sequence_length_);
      std::copy(written.end() - seen, written.end(), ids.begin());
      auto const tokens = mtf::from_global<std::tuple_element_t<0, Batch>, typename Model::vocab>(machine, ids);
      auto const logits = mtf::to_global(
          mtf::cast<float>(with_settings([&](auto const&... s) { return Model::logits(p, tokens, s...); })));
      double const uniform = static_cast<double>(key.of(static_cast<std::uint64_t>(n)).bits() >> 11U) * 0x1p-53;
      written.push_back(
          drawn_token({logits.data() + (seen - 1) * vocabulary_, static_cast<std::size_t>(vocabulary_)}, uniform, 0.8));
    }
    return corpus_.written(written);
  }

  /// For the report: what is trained on, the unit of `metric` and how a loss becomes one, what is to be beaten.
  [[nodiscard]] mtf::run_description about() const {
    return {.title = "A language model learns " + name_,
            .facts = {{"data", corpus_.description()}},
            .loss_scale = 1 / std::log(2.0),
            .loss_unit = std::string("bits/") + corpus_.token_name(),
            .reference = {corpus_.unigram_name(), corpus_.unigram_bits()}};
  }
  /// What a run must have in common with the one that it goes on with.
  [[nodiscard]] mtf::checkpoint_notes same() const { return corpus_.same(); }

 private:
  static mtf::extents_value extents_of(batch_shape const& shape) {
    mtf::extents_value extents;
    extents.give(Model::batch::name, shape.rows);
    extents.give(Model::sequence::name, shape.length);
    if constexpr (requires { typename Model::memory; }) extents.give(Model::memory::name, shape.length);
    return extents;
  }
  /// Tensors made from here on are of this shape, if there are several.
  void give([[maybe_unused]] auto& machine, [[maybe_unused]] batch_shape const& shape) const {
    if constexpr (takes_buckets)
      if (corpus_.training_shapes().size() > 1) machine.layouts().give(extents_of(shape));
  }
  /// Of rows that read(row, part, column, to) reads.
  template <class Batch, class Read>
  static Batch batch_from(auto& machine, Read const& read) {
    auto const part = [&]<class X>(std::type_identity<X>, example_part which) {
      return mtf::from_rows<X>(machine, [&](std::int64_t row, std::int64_t column, std::span<std::int32_t> to) {
        read(row, which, column, to);
      });
    };
    return {part(std::type_identity<std::tuple_element_t<0, Batch>>{}, example_part::ids),
            part(std::type_identity<std::tuple_element_t<1, Batch>>{}, example_part::labels)};
  }

  /// The model's numbers that are no sizes, of a config file of another tool's, if it has such.
  template <class M, class Config>
  static auto settings_of([[maybe_unused]] Config const& config) {
    if constexpr (requires { M::settings_from_config(config); })
      return M::settings_from_config(config);
    else
      return std::false_type{};
  }
  /// f(settings), or f().
  auto with_settings(auto const& f) const {
    if constexpr (std::is_same_v<decltype(settings_), std::false_type>)
      return f();
    else
      return f(settings_);
  }

  /// That of D's type, or the one that was given.
  template <class D>
  static std::int64_t extent_of([[maybe_unused]] mtf::extents_value const& given) {
    if constexpr (requires { D::extent; })
      return D::extent;
    else
      return given.find(D::id, D::kin).value();
  }

  std::int64_t batch_size_, sequence_length_, vocabulary_;
  corpus corpus_;
  std::string name_;
  decltype(settings_of<Model>(mtf::config_values{})) settings_;
};

}  // namespace mtf::models
