#pragma once
// GPT-2 in files of Hugging Face's: the names of its tensors and their forms, its config.json.
// (transformers/models/gpt2, of transformers 5.24)
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/checkpoint/stored_names.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>

#include "../common/config_numbers.hpp"
#include "../common/json_number.hpp"
#include "settings.hpp"

namespace mtf::gpt2 {

/// Of a block's tensors. Queries, keys and values are a third each of one array; weights are [in, out], as here.
inline std::vector<mtf::stored_name> block_names(std::string const& ours, std::string const& theirs,
                                                 std::int64_t first) {
  using name = std::array<char const*, 3>;
  std::vector<mtf::stored_name> all;
  for (auto const& [here, stored, form] : {name{"gamma1", "ln_1.weight", ""},
                                           {"beta1", "ln_1.bias", ""},
                                           {"wq", "attn.c_attn.weight", "d_model (0/3 heads d_head)"},
                                           {"wk", "attn.c_attn.weight", "d_model (1/3 heads d_head)"},
                                           {"wv", "attn.c_attn.weight", "d_model (2/3 heads d_head)"},
                                           {"bq", "attn.c_attn.bias", "(0/3 heads d_head)"},
                                           {"bk", "attn.c_attn.bias", "(1/3 heads d_head)"},
                                           {"bv", "attn.c_attn.bias", "(2/3 heads d_head)"},
                                           {"wo", "attn.c_proj.weight", "(heads d_head) d_model"},
                                           {"bo", "attn.c_proj.bias", ""},
                                           {"gamma2", "ln_2.weight", ""},
                                           {"beta2", "ln_2.bias", ""},
                                           {"w1", "mlp.c_fc.weight", ""},
                                           {"b1", "mlp.c_fc.bias", ""},
                                           {"w2", "mlp.c_proj.weight", ""},
                                           {"b2", "mlp.c_proj.bias", ""}})
    all.push_back({ours + here, theirs + stored, form, first});
  return all;
}

/// Of all tensors. `lower_layers`: how many layers are in the lower half, where the upper one has a layout of its own.
inline mtf::stored_names names_in_files(std::optional<std::int64_t> lower_layers = {}) {
  mtf::stored_names names{.tensors = {{"token_embedding", "transformer.wte.weight"},
                                      {"position_embedding", "transformer.wpe.weight"},
                                      {"gamma_f", "transformer.ln_f.weight"},
                                      {"beta_f", "transformer.ln_f.bias"},
                                      {"output.0", "lm_head.weight", "vocab d_model"}},
                          .prefix = "transformer.",
                          .not_parameters = {"transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias"},
                          .copies = {{"lm_head.weight", "transformer.wte.weight"}}};
  auto const add = [&](std::vector<mtf::stored_name> const& more) {
    names.tensors.insert(names.tensors.end(), more.begin(), more.end());
  };
  add(block_names("blocks.*.", "transformer.h.*.", 0));
  if (lower_layers) add(block_names("upper.blocks.*.", "transformer.h.*.", *lower_layers));
  return names;
}

/// Sizes by the names that a config.json of GPT-2's has, and those of any_sizes.
inline constexpr std::array<std::pair<char const*, char const*>, 6> size_names{{{"n_layer", "layers"},
                                                                                {"n_embd", "d_model"},
                                                                                {"n_head", "heads"},
                                                                                {"n_inner", "d_ff"},
                                                                                {"n_positions", "positions"},
                                                                                {"vocab_size", "vocab"}}};

/// The sizes that a config.json says; n_inner and tie_word_embeddings may be left out. Nothing, if it is no GPT-2's
/// (the first files of which have no model_type). A user_error: a size that is not there, a GPT-2 that computes
/// otherwise than model.hpp does.
inline mtf::extents_value sizes_of_config(mtf::config_values const& config) {
  if (!config.contains("n_embd") && config.text("model_type").value_or("") != "gpt2") return {};
  auto const should = [&](std::string const& key, bool is, std::string const& what) {
    if (!is) throw mtf::user_error(config.path() + ": " + key + " should be " + what + " for the GPT-2 that is here");
  };
  auto const type = config.text("model_type").value_or("gpt2"),
             activation = config.text("activation_function").value_or("gelu_new");
  should("model_type", type == "gpt2", "gpt2, not " + type + ",");
  should("activation_function", activation == "gelu_new" || activation == "gelu_pytorch_tanh",
         "gelu_new, not " + activation + ",");
  should("scale_attn_weights", config.number("scale_attn_weights").value_or(1) == 1, "true");
  should("scale_attn_by_inverse_layer_idx", config.number("scale_attn_by_inverse_layer_idx").value_or(0) == 0, "false");
  should("add_cross_attention", config.number("add_cross_attention").value_or(0) == 0, "false");
  mtf::extents_value sizes;
  for (auto const& [theirs, ours] : size_names)
    if (std::string_view(theirs) != "n_inner") sizes.give(ours, models::size_in(config, theirs));
  if (auto const n = models::optional_size_in(config, "n_inner")) sizes.give("d_ff", *n);
  sizes.give("untied_output", config.number("tie_word_embeddings").value_or(1) == 0 ? 1 : 0);
  return sizes;
}

/// The other numbers.
inline settings settings_of_config(mtf::config_values const& config) {
  settings s;
  s.epsilon = models::positive_in(config, "layer_norm_epsilon").value_or(s.epsilon);
  return s;
}

/// A config.json for these sizes and other numbers, which transformers reads. A user_error: heads that are not d_model
/// together, which its GPT-2 cannot have.
inline std::string config_of_sizes(mtf::extents_value const& sizes, settings const& s) {
  auto const of = [&](char const* name) { return sizes.find(name).value_or(0); };
  if (of("heads") * of("d_head") != of("d_model"))
    throw mtf::user_error("Hugging Face's GPT-2 has heads that are d_model together: here they are " +
                          std::to_string(of("heads")) + " of " + std::to_string(of("d_head")) + ", and d_model is " +
                          std::to_string(of("d_model")));
  std::string text = "{\n  \"architectures\": [\n    \"GPT2LMHeadModel\"\n  ],\n  \"model_type\": \"gpt2\",\n";
  for (auto const& [theirs, ours] : size_names)
    if (auto const n = sizes.find(ours)) text += "  \"" + std::string(theirs) + "\": " + std::to_string(*n) + ",\n";
  return text +
         "  \"activation_function\": \"gelu_new\",\n  \"layer_norm_epsilon\": " + models::json_number(s.epsilon) +
         ",\n  \"tie_word_embeddings\": " + (sizes.find("untied_output").value_or(0) == 0 ? "true" : "false") + "\n}\n";
}

}  // namespace mtf::gpt2
