#include "from_gguf.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

/// The vocabulary that all tokenizers of GGUF have.
struct vocabulary_in {
  std::vector<std::string> const* tokens;
  std::vector<double> const* types;  // null: all are plain

  explicit vocabulary_in(gguf_file const& file)
      : tokens(&file.get<std::vector<std::string>>("tokenizer.ggml.tokens")),
        types(file.find_value<std::vector<double>>("tokenizer.ggml.token_type")) {
    has_as_many(file, types, "of their types");
  }
  void has_as_many(gguf_file const& file, std::vector<double> const* list, char const* what) const {
    if (list != nullptr && list->size() != tokens->size())
      throw mtf::user_error(file.path() + " has " + std::to_string(tokens->size()) + " tokens, but " +
                            std::to_string(list->size()) + " " + what);
  }
  enum kind : std::uint8_t { plain = 1, unknown = 2, control = 3, of_user = 4, unused = 5 };
  [[nodiscard]] bool is(std::size_t i, kind what) const {
    return types == nullptr ? what == plain : (*types)[i] == static_cast<double>(what);
  }
  [[nodiscard]] json ids() const {
    // Behind each other: by [] each would be looked for among all before. Of two that are alike the last counts.
    json::object_t all;
    std::unordered_map<std::string_view, std::size_t> known;
    for (std::size_t i = 0; i < tokens->size(); ++i)
      if (auto const [at, fresh] = known.emplace((*tokens)[i], all.size()); fresh)
        all.emplace_back((*tokens)[i], i);
      else
        (all.begin() + static_cast<std::ptrdiff_t>(at->second))->second = i;
    return all;
  }
  /// Those that are looked for in a text before it is broken into words.
  [[nodiscard]] json added() const {
    json all = json::array();
    for (std::size_t i = 0; i < tokens->size(); ++i)
      if (is(i, control) || is(i, of_user) || is(i, unknown))
        all.push_back({{"id", i},
                       {"content", (*tokens)[i]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", !is(i, of_user)}});
    return all;
  }
};

/// The tokens that stand before and behind every text.
json post_processor_of(gguf_file const& file, vocabulary_in const& words, bool begins, double usual_begin) {
  json single = json::array(), special = json::object();
  auto const add = [&](char const* key, bool usual, char const* id_key, double usual_id) {
    auto const* const asked = file.find_value<double>(key);
    if (asked == nullptr ? !usual : *asked == 0) return;
    auto const* const said = file.find_value<double>(id_key);
    auto const id = said == nullptr ? usual_id : *said;
    if (!(id >= 0 && id < static_cast<double>(words.tokens->size())))
      throw mtf::user_error(file.path() + ": \"" + id_key + "\" should be the number of one of its tokens");
    auto const i = static_cast<std::size_t>(id);
    auto const& name = (*words.tokens)[i];
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    special[name] = {{"id", name}, {"ids", json::array({i})}, {"tokens", json::array({name})}};
  };
  add("tokenizer.ggml.add_bos_token", begins, "tokenizer.ggml.bos_token_id", usual_begin);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  add("tokenizer.ggml.add_eos_token", false, "tokenizer.ggml.eos_token_id", -1);
  if (special.empty()) return nullptr;
  auto pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

/// Which merges sentencepiece makes, which takes of all pairs of neighbours that are a token together the one of the
/// largest score, and of equal ones the first. (In which order the pairs stand that are one token makes no difference:
/// tests/data/gguf_test.cpp compares random vocabularies.)
json merges_by_scores(vocabulary_in const& words, std::vector<double> const& scores) {
  std::unordered_map<std::string_view, std::size_t> known;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (words.is(i, vocabulary_in::plain) || words.is(i, vocabulary_in::unused)) {
      known.emplace((*words.tokens)[i], i);
      order.push_back(i);
    }
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  json merges = json::array();
  for (auto const i : order) {
    std::string_view const all = (*words.tokens)[i];
    for (std::size_t at = 1; at < all.size(); ++at) {
      if ((static_cast<unsigned char>(all[at]) & 0xc0U) == 0x80U) continue;  // inside of a letter
      auto const left = all.substr(0, at), right = all.substr(at);
      if (known.contains(left) && known.contains(right)) merges.push_back(json::array({left, right}));
    }
  }
  return merges;
}

json with_model(json tokenizer, json model) {
  tokenizer["model"] = {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", nullptr},
                        {"end_of_word_suffix", nullptr},
                        {"fuse_unk", false},
                        {"byte_fallback", false},
                        {"ignore_merges", false}};
  tokenizer["model"].update(model);
  return tokenizer;
}

/// Byte-level BPE.
json bytes_tokenizer_of(gguf_file const& file) {
  vocabulary_in const words(file);
  json merges = json::array();
  for (auto const& merge : file.get<std::vector<std::string>>("tokenizer.ggml.merges")) {
    auto const at = merge.find(' ', 1);
    if (at == std::string::npos) throw mtf::user_error(file.path() + ": the merge \"" + merge + "\" is none of two");
    merges.push_back(json::array({merge.substr(0, at), merge.substr(at + 1)}));
  }
  auto const pre = pre_tokenizer_of(file);
  bool const is_llama3 = pre["type"] == "Sequence" && pre["pretokenizers"][0]["type"] == "Split";
  return with_model(
      {{"version", "1.0"},
       {"truncation", nullptr},
       {"padding", nullptr},
       {"added_tokens", words.added()},
       {"normalizer", nullptr},
       {"pre_tokenizer", pre},
       {"post_processor", post_processor_of(file, words, is_llama3, -1)},
       {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}}}},
      {{"ignore_merges", is_llama3}, {"vocab", words.ids()}, {"merges", merges}});
}

/// sentencepiece's BPE, as llama.cpp has it: a text begins with a space, and so does what follows a special token.
json letters_tokenizer_of(gguf_file const& file) {
  vocabulary_in const words(file);
  auto const& scores = file.get<std::vector<double>>("tokenizer.ggml.scores");
  words.has_as_many(file, &scores, "scores");
  if (std::any_of(scores.begin(), scores.end(), [](double x) { return std::isnan(x); }))
    throw mtf::user_error(file.path() + " has a score of a token that is no number");
  json const spaces{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  auto const* const prefix = file.find_value<double>("tokenizer.ggml.add_space_prefix");
  bool const begins_with_space = prefix == nullptr || *prefix != 0;
  auto decoders = json::array({{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
                               {{"type", "ByteFallback"}},
                               {{"type", "Fuse"}}});
  if (begins_with_space) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  auto const* const unknown = file.find_value<double>("tokenizer.ggml.unknown_token_id");
  json unknown_token;
  for (std::size_t i = 0; i < words.tokens->size(); ++i)
    if (unknown != nullptr ? static_cast<double>(i) == *unknown : words.is(i, vocabulary_in::unknown))
      unknown_token = (*words.tokens)[i];
  return with_model(
      {{"version", "1.0"},
       {"truncation", nullptr},
       {"padding", nullptr},
       {"added_tokens", words.added()},
       {"normalizer", begins_with_space
                          ? json{{"type", "Sequence"},
                                 {"normalizers", json::array({{{"type", "Prepend"}, {"prepend", "\u2581"}}, spaces})}}
                          : spaces},
       {"pre_tokenizer", nullptr},
       {"post_processor", post_processor_of(file, words, true, 1)},
       {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}}},
      {{"unk_token", unknown_token},
       {"fuse_unk", true},
       {"byte_fallback", true},
       {"vocab", words.ids()},
       {"merges", merges_by_scores(words, scores)}});
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

void converted_reader::read(converted_tensor const& tensor, std::uint64_t begin, std::span<float> to) {
  if (!tensor.transposed && tensor.heads == 0) return elements_of(*tensor.from, file_->path(), begin, to);
  auto const columns = tensor.shape[1];
  for (std::uint64_t done = 0; done < to.size();) {
    auto const row = (begin + done) / columns, column = (begin + done) % columns;
    auto const piece = to.subspan(done, std::min<std::uint64_t>(columns - column, to.size() - done));
    done += piece.size();
    if (tensor.transposed) {
      keep_rows(tensor, row);
      std::copy_n(rows_.data() + (row - first_) * columns + column, piece.size(), piece.data());
      continue;
    }
    // Pair i of a head: its rows 2i and 2i + 1 there, i and i + n/2 here.
    auto const n = tensor.shape[0] / tensor.heads, head = row / n, i = row % n;
    auto const there = head * n + 2 * (i % (n / 2)) + i / (n / 2);
    elements_of(*tensor.from, file_->path(), there * columns + column, piece);
  }
}

void converted_reader::keep_rows(converted_tensor const& tensor, std::uint64_t row) {
  constexpr std::uint64_t most = 256;  // elements of the longest block
  auto const rows = tensor.shape[0], columns = tensor.shape[1], first = row / most * most;
  if (kept_ == &tensor && first_ == first) return;
  kept_ = nullptr;
  auto const count = std::min(most, rows - first);
  rows_.resize(count * columns);
  std::vector<float> there(count);
  for (std::uint64_t j = 0; j < columns; ++j) {
    elements_of(*tensor.from, file_->path(), j * rows + first, there);
    for (std::uint64_t i = 0; i < count; ++i) rows_[i * columns + j] = there[i];
  }
  kept_ = &tensor;
  first_ = first;
}

std::vector<float> converted_elements(converted_tensor const& tensor, gguf_file const& file) {
  elements_of(*tensor.from, file.path(), 0, {});  // refuses a type that is not read
  std::vector<float> all(tensor.from->size());
  converted_reader(file).read(tensor, 0, all);
  return all;
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
  if (model != "gpt2" && model != "llama")
    throw mtf::user_error(file.path() + ": \"tokenizer.ggml.model\" is " + model +
                          "; read are gpt2, byte-level BPE, and llama, sentencepiece's: take the tokenizer.json of the "
                          "model's directory");
  auto const tokenizer = model == "gpt2" ? bytes_tokenizer_of(file) : letters_tokenizer_of(file);
  return tokenizer.dump(1, ' ', false, json::error_handler_t::strict) + "\n";
} catch (json::exception const&) {
  throw mtf::user_error(file.path() + " has a token that is no UTF-8");
}

}  // namespace mtf::tools
