#include "from_gguf.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

namespace mtf::tools {
namespace {

using json = nlohmann::ordered_json;

/// A tensor's name there and here; N stands for a layer.
struct renamed {
  char const *from, *to;
  bool transposed = false;
  char const* heads = "";  // the key that says how many, where rows lie in pairs
};
constexpr std::array llama{
    renamed{"token_embd.weight", "model.embed_tokens.weight"},
    renamed{"output_norm.weight", "model.norm.weight"},
    renamed{"output.weight", "lm_head.weight"},
    renamed{"blk.N.attn_norm.weight", "model.layers.N.input_layernorm.weight"},
    renamed{"blk.N.attn_q.weight", "model.layers.N.self_attn.q_proj.weight", false, "llama.attention.head_count"},
    renamed{"blk.N.attn_k.weight", "model.layers.N.self_attn.k_proj.weight", false, "llama.attention.head_count_kv"},
    renamed{"blk.N.attn_v.weight", "model.layers.N.self_attn.v_proj.weight"},
    renamed{"blk.N.attn_output.weight", "model.layers.N.self_attn.o_proj.weight"},
    renamed{"blk.N.ffn_norm.weight", "model.layers.N.post_attention_layernorm.weight"},
    renamed{"blk.N.ffn_gate.weight", "model.layers.N.mlp.gate_proj.weight"},
    renamed{"blk.N.ffn_up.weight", "model.layers.N.mlp.up_proj.weight"},
    renamed{"blk.N.ffn_down.weight", "model.layers.N.mlp.down_proj.weight"}};
// Weights are [in, out] in GPT-2's files.
constexpr std::array gpt2{renamed{"token_embd.weight", "transformer.wte.weight"},
                          renamed{"position_embd.weight", "transformer.wpe.weight"},
                          renamed{"output_norm.weight", "transformer.ln_f.weight"},
                          renamed{"output_norm.bias", "transformer.ln_f.bias"},
                          renamed{"output.weight", "lm_head.weight"},
                          renamed{"blk.N.attn_norm.weight", "transformer.h.N.ln_1.weight"},
                          renamed{"blk.N.attn_norm.bias", "transformer.h.N.ln_1.bias"},
                          renamed{"blk.N.attn_qkv.weight", "transformer.h.N.attn.c_attn.weight", true},
                          renamed{"blk.N.attn_qkv.bias", "transformer.h.N.attn.c_attn.bias"},
                          renamed{"blk.N.attn_output.weight", "transformer.h.N.attn.c_proj.weight", true},
                          renamed{"blk.N.attn_output.bias", "transformer.h.N.attn.c_proj.bias"},
                          renamed{"blk.N.ffn_norm.weight", "transformer.h.N.ln_2.weight"},
                          renamed{"blk.N.ffn_norm.bias", "transformer.h.N.ln_2.bias"},
                          renamed{"blk.N.ffn_up.weight", "transformer.h.N.mlp.c_fc.weight", true},
                          renamed{"blk.N.ffn_up.bias", "transformer.h.N.mlp.c_fc.bias"},
                          renamed{"blk.N.ffn_down.weight", "transformer.h.N.mlp.c_proj.weight", true},
                          renamed{"blk.N.ffn_down.bias", "transformer.h.N.mlp.c_proj.bias"}};

bool is_llama(gguf_file const& file) {
  auto const& is = file.get<std::string>("general.architecture");
  if (is != "llama" && is != "gpt2")
    throw mtf::user_error(file.path() + ": \"general.architecture\" is " + is + "; converted are llama and gpt2");
  return is == "llama";
}

/// "blk.12.ffn_up.weight" -> "blk.N.ffn_up.weight" and "12"
std::pair<std::string, std::string> without_layer(std::string const& name) {
  if (!name.starts_with("blk.")) return {name, ""};
  auto const end = name.find('.', 4);
  return {"blk.N" + name.substr(std::min(end, name.size())), name.substr(4, end == std::string::npos ? end : end - 4)};
}

bool is_tied(gguf_file const& file) { return file.find("output.weight") == nullptr; }

std::int64_t vocabulary_of(gguf_file const& file) {
  auto const* const table = file.find("token_embd.weight");
  if (table == nullptr || table->extents.size() != 2)
    throw mtf::user_error(file.path() + " has no token_embd.weight of two dimensions");
  return static_cast<std::int64_t>(table->extents[1]);
}

json rope_of(gguf_file const& file) {
  json rope{{"rope_type", "default"}, {"rope_theta", 10000.0}};
  if (auto const* const theta = file.find_value<double>("llama.rope.freq_base")) rope["rope_theta"] = *theta;
  auto const* const type = file.find_value<std::string>("llama.rope.scaling.type");
  if (file.find("rope_freqs.weight") != nullptr || (type != nullptr && *type != "none" && *type != "linear"))
    throw mtf::user_error(file.path() +
                          ": rotary positions that are scaled otherwise than linearly cannot be converted; take the "
                          "model's directory of Hugging Face's");
  if (type != nullptr && *type == "linear") {
    rope["rope_type"] = "linear";
    rope["factor"] = file.get<double>("llama.rope.scaling.factor");
  }
  return rope;
}

/// How a text is broken into words, by the name that llama.cpp gives to it.
json pre_tokenizer_of(gguf_file const& file) {
  auto const* const named = file.find_value<std::string>("tokenizer.ggml.pre");
  std::string const name = named == nullptr ? "default" : *named;
  auto const bytes = [](bool words) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", words}};
  };
  auto const split = [](std::string const& digits) {
    return json{{"type", "Split"},
                {"pattern",
                 {{"Regex", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" + digits +
                                "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  };
  auto const sequence = [](json first, json then) {
    return json{{"type", "Sequence"}, {"pretokenizers", json::array({std::move(first), std::move(then)})}};
  };
  if (name == "gpt-2" || name == "default") return bytes(true);
  if (name == "smollm") return sequence(json{{"type", "Digits"}, {"individual_digits", true}}, bytes(true));
  if (name == "llama-bpe" || name == "llama3" || name == "llama-v3")
    return sequence(split("\\p{N}{1,3}"), bytes(false));
  throw mtf::user_error(file.path() + ": \"tokenizer.ggml.pre\" is " + name +
                        "; known are gpt-2, smollm, llama-bpe: take the tokenizer.json of the model's directory");
}

}  // namespace

std::vector<converted_tensor> converted_tensors(gguf_file const& file) {
  bool const llama_names = is_llama(file);
  auto const find = [&](std::string const& name) -> renamed const* {
    auto const in = [&](auto const& all) -> renamed const* {
      for (auto const& one : all)
        if (one.from == name) return &one;
      return nullptr;
    };
    return llama_names ? in(llama) : in(gpt2);
  };
  std::vector<converted_tensor> all;
  std::string unknown;
  for (auto const& t : file.tensors()) {
    auto const [name, layer] = without_layer(t.name);
    auto const* const known = find(name);
    if (known == nullptr) {
      unknown += (unknown.empty() ? "" : ", ") + t.name;
      continue;
    }
    converted_tensor c{.name = known->to, .shape = {t.extents.rbegin(), t.extents.rend()}, .from = &t};
    if (auto const at = c.name.find(".N."); at != std::string::npos) c.name.replace(at + 1, 1, layer);
    c.transposed = known->transposed;
    if (c.transposed) std::reverse(c.shape.begin(), c.shape.end());
    if (*known->heads != '\0') c.heads = static_cast<std::uint64_t>(file.count(known->heads));
    if (c.heads > 0 && (c.shape.size() != 2 || c.shape[0] % (2 * c.heads) != 0))
      throw mtf::user_error(file.path() + ": " + t.name + " has rows for other than " + std::to_string(c.heads) +
                            " heads, which \"" + known->heads + "\" says");
    all.push_back(std::move(c));
  }
  if (!unknown.empty()) throw mtf::user_error(file.path() + " has tensors that its architecture does not: " + unknown);
  return all;
}

std::vector<float> converted_elements(converted_tensor const& tensor, gguf_file const& file) {
  auto const from = elements_of(*tensor.from, file.path());
  if (!tensor.transposed && tensor.heads == 0) return from;
  std::vector<float> to(from.size());
  auto const rows = tensor.shape[0], columns = tensor.shape[1];
  if (tensor.transposed) {
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j) to[i * columns + j] = from[j * rows + i];
    return to;
  }
  // Pair i of a head: its rows 2i and 2i + 1 there, i and i + n/2 here.
  auto const n = rows / tensor.heads;
  for (std::uint64_t head = 0; head < tensor.heads; ++head)
    for (std::uint64_t i = 0; i < n; ++i) {
      auto const there = head * n + 2 * (i % (n / 2)) + i / (n / 2);
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(there * columns), columns,
                  to.begin() + static_cast<std::ptrdiff_t>((head * n + i) * columns));
    }
  return to;
}

std::string config_of(gguf_file const& file) {
  json config;
  auto const id = [&](char const* key, char const* to) {
    if (auto const* const n = file.find_value<double>(std::string("tokenizer.ggml.") + key))
      config[to] = static_cast<std::int64_t>(*n);
  };
  bool const is_llama_model = is_llama(file);
  std::string const arch = is_llama_model ? "llama." : "gpt2.";
  auto const count = [&](char const* key) { return file.count(arch + key); };
  config["architectures"] = json::array({is_llama_model ? "LlamaForCausalLM" : "GPT2LMHeadModel"});
  config["model_type"] = is_llama_model ? "llama" : "gpt2";
  if (is_llama_model) {
    auto const heads = count("attention.head_count");
    config["hidden_size"] = count("embedding_length");
    config["intermediate_size"] = count("feed_forward_length");
    config["num_hidden_layers"] = count("block_count");
    config["num_attention_heads"] = heads;
    config["num_key_value_heads"] =
        file.find_value<double>("llama.attention.head_count_kv") == nullptr ? heads : count("attention.head_count_kv");
    config["head_dim"] = file.find_value<double>("llama.attention.key_length") != nullptr
                             ? count("attention.key_length")
                             : count("embedding_length") / std::max<std::int64_t>(heads, 1);
    config["max_position_embeddings"] = count("context_length");
    config["rms_norm_eps"] = file.get<double>("llama.attention.layer_norm_rms_epsilon");
    config["rope_parameters"] = rope_of(file);
    config["hidden_act"] = "silu";
    config["attention_bias"] = false;
    config["mlp_bias"] = false;
  } else {
    config["n_embd"] = count("embedding_length");
    config["n_inner"] = count("feed_forward_length");
    config["n_layer"] = count("block_count");
    config["n_head"] = count("attention.head_count");
    config["n_positions"] = count("context_length");
    config["activation_function"] = "gelu_new";
    config["layer_norm_epsilon"] = 1e-5;
  }
  config["vocab_size"] = vocabulary_of(file);
  config["tie_word_embeddings"] = is_tied(file);
  config["dtype"] = "float32";
  id("bos_token_id", "bos_token_id");
  id("eos_token_id", "eos_token_id");
  return config.dump(2) + "\n";
}

std::string generation_config_of(gguf_file const& file) {
  json config = json::object();
  for (auto const* const key : {"bos_token_id", "eos_token_id"})
    if (auto const* const n = file.find_value<double>(std::string("tokenizer.ggml.") + key))
      config[key] = static_cast<std::int64_t>(*n);
  return config.dump(2) + "\n";
}

std::string tokenizer_of(gguf_file const& file) try {
  auto const& model = file.get<std::string>("tokenizer.ggml.model");
  if (model != "gpt2")
    throw mtf::user_error(file.path() + ": \"tokenizer.ggml.model\" is " + model +
                          "; converted is gpt2, byte-level BPE: take the tokenizer.json of the model's directory");
  auto const& tokens = file.get<std::vector<std::string>>("tokenizer.ggml.tokens");
  auto const* const types = file.find_value<std::vector<double>>("tokenizer.ggml.token_type");
  if (types != nullptr && types->size() != tokens.size())
    throw mtf::user_error(file.path() + " has " + std::to_string(tokens.size()) + " tokens, but " +
                          std::to_string(types->size()) + " of their types");
  json added = json::array(), vocabulary = json::object(), merges = json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto const type = types == nullptr ? 1.0 : (*types)[i];
    vocabulary[tokens[i]] = i;
    if (type == 3 || type == 4)  // control; of the user's
      added.push_back({{"id", i},
                       {"content", tokens[i]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", type == 3}});
  }
  for (auto const& merge : file.get<std::vector<std::string>>("tokenizer.ggml.merges")) {
    auto const at = merge.find(' ', 1);
    if (at == std::string::npos) throw mtf::user_error(file.path() + ": the merge \"" + merge + "\" is none of two");
    merges.push_back(json::array({merge.substr(0, at), merge.substr(at + 1)}));
  }
  auto const pre = pre_tokenizer_of(file);
  bool const whole = pre["type"] == "Sequence" && pre["pretokenizers"][0]["type"] == "Split";
  json const tokenizer{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", pre},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}}},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", whole},
        {"vocab", vocabulary},
        {"merges", merges}}}};
  return tokenizer.dump(1, ' ', false, json::error_handler_t::strict) + "\n";
} catch (json::exception const&) {
  throw mtf::user_error(file.path() + " has a token that is no UTF-8");
}

}  // namespace mtf::tools
