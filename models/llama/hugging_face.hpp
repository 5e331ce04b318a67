#pragma once
// Llama in files of Hugging Face's: the names of its tensors and their forms, its config.json.
// (transformers/models/llama, of transformers 5.24)
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/checkpoint/stored_names.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>

#include "../common/config_numbers.hpp"
#include "../common/json_number.hpp"
#include "settings.hpp"

namespace mtf::llama {

/// Of all tensors. Weights are [out, in], as here; a query's head is one of those for a head of keys.
inline mtf::stored_names names_in_files() {
  using name = std::array<char const*, 3>;
  mtf::stored_names names{.tensors = {{"token_embedding", "model.embed_tokens.weight"},
                                      {"gamma_f", "model.norm.weight"},
                                      {"output.0", "lm_head.weight"}},
                          .prefix = "model.",
                          .not_parameters = {"model.layers.*.self_attn.rotary_emb.inv_freq"},
                          .copies = {{"lm_head.weight", "model.embed_tokens.weight"}}};
  for (auto const& [here, stored, form] : {name{"gamma1", "input_layernorm.weight", ""},
                                           {"wq", "self_attn.q_proj.weight", "(kv_heads group d_head) d_model"},
                                           {"wk", "self_attn.k_proj.weight", "(kv_heads d_head) d_model"},
                                           {"wv", "self_attn.v_proj.weight", "(kv_heads d_head) d_model"},
                                           {"wo", "self_attn.o_proj.weight", "d_model (kv_heads group d_head)"},
                                           {"gamma2", "post_attention_layernorm.weight", ""},
                                           {"w_gate", "mlp.gate_proj.weight", ""},
                                           {"w_up", "mlp.up_proj.weight", ""},
                                           {"w_down", "mlp.down_proj.weight", ""}})
    names.tensors.push_back({std::string("blocks.*.") + here, std::string("model.layers.*.") + stored, form});
  return names;
}

/// A name of config.json's and one of any_sizes'.
inline constexpr std::array<std::pair<char const*, char const*>, 7> size_names{
    {{"num_hidden_layers", "layers"},
     {"hidden_size", "d_model"},
     {"num_key_value_heads", "kv_heads"},
     {"head_dim", "d_head"},
     {"intermediate_size", "d_ff"},
     {"max_position_embeddings", "positions"},
     {"vocab_size", "vocab"}}};

/// The sizes that a config.json says; num_key_value_heads, head_dim and tie_word_embeddings may be left out. Nothing,
/// if it is no Llama's. A user_error: a size that is not there, a Llama that computes otherwise than model.hpp does.
inline mtf::extents_value sizes_of_config(mtf::config_values const& config) {
  if (config.text("model_type").value_or("") != "llama") return {};
  auto const should = [&](std::string const& key, bool is, std::string const& what) {
    if (!is) throw mtf::user_error(config.path() + ": " + key + " should be " + what + " for the Llama that is here");
  };
  should("hidden_act", config.text("hidden_act").value_or("silu") == "silu", "silu");
  should("attention_bias", config.number("attention_bias").value_or(0) == 0, "false");
  should("mlp_bias", config.number("mlp_bias").value_or(0) == 0, "false");
  auto const heads = models::size_in(config, "num_attention_heads");
  auto const kv_heads = models::optional_size_in(config, "num_key_value_heads").value_or(heads);
  should("num_attention_heads", heads % kv_heads == 0,
         "a multiple of num_key_value_heads, " + std::to_string(kv_heads) + ", not " + std::to_string(heads) + ",");
  mtf::extents_value sizes;
  for (auto const& [theirs, ours] : size_names)
    if (std::string_view const key = theirs; key != "num_key_value_heads" && key != "head_dim")
      sizes.give(ours, models::size_in(config, theirs));
  if (auto const n = models::optional_size_in(config, "head_dim")) sizes.give("d_head", *n);
  sizes.give("kv_heads", kv_heads);
  sizes.give("group", heads / kv_heads);
  sizes.give("untied_output", config.number("tie_word_embeddings").value_or(0) == 0 ? 1 : 0);
  return sizes;
}

/// What yarn has besides, as transformers reads it. `real`: a number among those of rotary positions.
inline void read_yarn(settings& s, mtf::config_values const& config, auto const& real) {
  if (!real("factor"))
    if (auto const longest = config.real("max_position_embeddings")) s.factor = *longest / s.original_positions;
  if (double const fast = real("beta_fast").value_or(0); fast != 0) s.beta_fast = fast;
  if (double const slow = real("beta_slow").value_or(0); slow != 0) s.beta_slow = slow;
  for (auto const* const of : {"rope_parameters.truncate", "rope_scaling.truncate"})
    if (auto const is = config.number(of)) s.truncate = *is != 0;
  auto const of_factor = [&](double scale) { return s.factor <= 1 ? 1.0 : 0.1 * scale * std::log(s.factor) + 1.0; };
  double const scale = real("mscale").value_or(0), of_all = real("mscale_all_dim").value_or(0);
  s.attention_factor = real("attention_factor")
                           .value_or(scale != 0 && of_all != 0 ? of_factor(scale) / of_factor(of_all) : of_factor(1));
}

/// The other numbers. A user_error: positions that turn in a way that is not here, a number that none can have.
inline settings settings_of_config(mtf::config_values const& config) {
  settings s;
  s.epsilon = models::positive_in(config, "rms_norm_eps").value_or(s.epsilon);
  // transformers 5 has all of them in one object, 4 the base outside of another.
  auto const real = [&](std::string const& key) {
    auto const five = config.real("rope_parameters." + key);
    return five ? five : config.real("rope_scaling." + key);
  };
  auto const positive = [&](std::string const& key) {
    auto const five = models::positive_in(config, "rope_parameters." + key);
    return five ? five : models::positive_in(config, "rope_scaling." + key);
  };
  auto const text = [&](std::string const& key) {
    auto const five = config.text("rope_parameters." + key);
    return five ? five : config.text("rope_scaling." + key);
  };
  if (auto const theta = positive("rope_theta"))
    s.theta = *theta;
  else
    s.theta = models::positive_in(config, "rope_theta").value_or(s.theta);
  auto const type = text("rope_type").value_or(text("type").value_or("default"));
  if (type == "linear" || type == "llama3" || type == "yarn") {
    s.scaling = type == "linear"   ? rotary_scaling::linear
                : type == "llama3" ? rotary_scaling::llama3
                                   : rotary_scaling::yarn;
    s.factor = positive("factor").value_or(s.factor);
    s.low_freq_factor = positive("low_freq_factor").value_or(s.low_freq_factor);
    s.high_freq_factor = positive("high_freq_factor").value_or(s.high_freq_factor);
    s.original_positions = positive("original_max_position_embeddings").value_or(s.original_positions);
    if (type == "yarn") read_yarn(s, config, real);
  } else if (type != "default") {
    throw mtf::user_error(config.path() +
                          ": rope_type should be default, linear, llama3 or yarn for the Llama that is here, not " +
                          type);
  }
  return s;
}

/// A config.json for these sizes and other numbers, which transformers reads.
inline std::string config_of_sizes(mtf::extents_value const& sizes, settings const& s) {
  auto const of = [&](char const* name) { return sizes.find(name).value_or(0); };
  using models::json_number;
  std::string rope = "\"rope_theta\": " + json_number(s.theta) + ", \"rope_type\": ";
  rope += s.scaling == rotary_scaling::none     ? "\"default\""
          : s.scaling == rotary_scaling::linear ? "\"linear\""
          : s.scaling == rotary_scaling::yarn   ? "\"yarn\""
                                                : "\"llama3\"";
  if (s.scaling != rotary_scaling::none) rope += ", \"factor\": " + json_number(s.factor);
  if (s.scaling == rotary_scaling::llama3)
    rope += ", \"low_freq_factor\": " + json_number(s.low_freq_factor) +
            ", \"high_freq_factor\": " + json_number(s.high_freq_factor) + ", \"original_max_position_embeddings\": " +
            std::to_string(static_cast<std::int64_t>(s.original_positions));
  if (s.scaling == rotary_scaling::yarn) {
    rope += ", \"beta_fast\": " + json_number(s.beta_fast) + ", \"beta_slow\": " + json_number(s.beta_slow) +
            ", \"truncate\": " + (s.truncate ? "true" : "false") + ", \"original_max_position_embeddings\": " +
            std::to_string(static_cast<std::int64_t>(s.original_positions));
    if (s.attention_factor != 0) rope += ", \"attention_factor\": " + json_number(s.attention_factor);
  }
  std::string text = "{\n  \"architectures\": [\n    \"LlamaForCausalLM\"\n  ],\n  \"model_type\": \"llama\",\n";
  for (auto const& [theirs, ours] : size_names)
    if (auto const n = sizes.find(ours)) text += "  \"" + std::string(theirs) + "\": " + std::to_string(*n) + ",\n";
  return text + "  \"num_attention_heads\": " + std::to_string(of("kv_heads") * of("group")) +
         ",\n  \"rms_norm_eps\": " + json_number(s.epsilon) + ",\n  \"rope_parameters\": {" + rope +
         "},\n  \"hidden_act\": \"silu\",\n  \"attention_bias\": false,\n  \"mlp_bias\": false,\n"
         "  \"tie_word_embeddings\": " +
         (of("untied_output") == 0 ? "true" : "false") + "\n}\n";
}

}  // namespace mtf::llama
