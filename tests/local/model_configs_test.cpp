// Config files of Hugging Face's that say a size wrongly, or not at all: told are the file, the key, what was expected.
// devices: none
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/core/limits.hpp>

#include "../models/gpt2/config.hpp"
#include "../models/gpt2/hugging_face.hpp"
#include "../models/llama/config.hpp"
#include "../models/llama/hugging_face.hpp"
#include "support/error_of.hpp"

namespace {

using nlohmann::json;

json const gpt2 = json::parse(R"({"model_type": "gpt2", "n_layer": 3, "n_embd": 32, "n_head": 4, "n_inner": 96,
  "n_positions": 72, "vocab_size": 61, "layer_norm_epsilon": 1e-5})");
json const llama = json::parse(R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 32, "vocab_size": 61,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 48, "rms_norm_eps": 1e-5,
  "max_position_embeddings": 72, "rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4, "factor": 2,
  "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 36}})");

mtf::config_values config_of(json const& j) { return mtf::config_of_text(j.dump(), "dir/config.json"); }
void read_gpt2(json const& j) {
  mtf::gpt2::sizes_of_config(config_of(j));
  mtf::gpt2::settings_of_config(config_of(j));
}
void read_llama(json const& j) {
  mtf::llama::sizes_of_config(config_of(j));
  mtf::llama::settings_of_config(config_of(j));
}

/// Each key of a number changed to each wrong value.
void check_all(json const& right, void (*read)(json const&), std::string_view may_be_left_out) {
  REQUIRE(error_of([&] { read(right); }).empty());
  for (auto const& [key, value] : right.items()) {
    if (!value.is_number()) continue;
    CAPTURE(key);
    auto const told = [&](json const& wrong) {
      auto changed = right;
      changed[key] = wrong;
      auto const text = error_of([&] { read(changed); });
      CAPTURE(text);
      CHECK(text.starts_with("dir/config.json: " + key + ": expected a "));
      CHECK(text.find(", found ") != std::string::npos);
      CHECK(text.find('\n') == std::string::npos);
      CHECK(text.find("json.exception") == std::string::npos);
    };
    for (auto const* const wrong : {"\"x\"", "\"12\"", "true", "0", "-1"}) told(json::parse(wrong));
    if (value.is_number_integer())
      for (auto const* const wrong : {"1.5", "1e30"}) told(json::parse(wrong));
    bool const is_needed = value.is_number_integer() && may_be_left_out.find(key) == std::string_view::npos;
    if (is_needed)
      for (auto const* const wrong : {"null", "[1]", "{\"a\": 1}"}) told(json::parse(wrong));
    auto less = right;
    less.erase(key);
    CHECK(error_of([&] { read(less); }) == (is_needed
                                                ? "dir/config.json: " + key + ": expected a whole number from 1 to " +
                                                      std::to_string(mtf::max_extent) + ", found none"
                                                : ""));
  }
}

TEST_CASE("a size or a number that a config says wrongly is told by file, key, and what was expected") {
  check_all(gpt2, &read_gpt2, "n_inner");
  check_all(llama, &read_llama, "num_key_value_heads head_dim");
}

TEST_CASE("numbers of rotary positions, too") {
  for (auto const* const key :
       {"rope_theta", "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
    for (auto const* const wrong : {"\"x\"", "true", "0", "-1"}) {
      auto changed = llama;
      changed["rope_parameters"][key] = json::parse(wrong);
      CHECK(error_of([&] {
              read_llama(changed);
            }).starts_with(std::string("dir/config.json: rope_parameters.") + key + ": expected a number"));
    }
}

TEST_CASE("of another model, or of none: nothing") {
  CHECK(mtf::gpt2::sizes_of_config(config_of(llama)).size() == 0);
  CHECK(mtf::llama::sizes_of_config(config_of(gpt2)).size() == 0);
  for (auto const* const text : {"{}", R"({"layers": 2})", R"({"model_type": "bert", "hidden_size": 3})"}) {
    CHECK(mtf::gpt2::sizes_of_config(config_of(json::parse(text))).size() == 0);
    CHECK(mtf::llama::sizes_of_config(config_of(json::parse(text))).size() == 0);
  }
  // GPT-2's first files have no model_type.
  auto first = gpt2;
  first.erase("model_type");
  CHECK(mtf::gpt2::sizes_of_config(config_of(first)).find("layers") == 3);
}

TEST_CASE("sizes that follow from others") {
  auto const of = [](mtf::extents_value const& sizes, char const* name) { return sizes.find(name).value_or(0); };
  auto const a = mtf::gpt2::any_sizes::completed({{"d_model", 32}, {"heads", 4}, {"sequence", 16}});
  CHECK(of(a, "d_head") == 8);
  CHECK(of(a, "d_ff") == 128);
  CHECK(of(a, "positions") == 16);
  auto const b = mtf::llama::any_sizes::completed({{"d_model", 32}, {"kv_heads", 2}, {"group", 2}, {"d_ff", 7}});
  CHECK(of(b, "d_head") == 8);
  CHECK(of(b, "d_ff") == 7);
  CHECK(error_of([] { mtf::gpt2::any_sizes::completed({{"d_model", 32}, {"heads", 3}}); }) ==
        "d_model 32 is no multiple of heads 3: give d_head too");
  CHECK(error_of([] { mtf::llama::any_sizes::completed({{"d_model", 32}, {"kv_heads", 3}, {"group", 1}}); }) ==
        "d_model 32 is no multiple of kv_heads times group, 3: give d_head too");
  for (auto const completed : {&mtf::gpt2::any_sizes::completed, &mtf::llama::any_sizes::completed}) {
    CHECK(error_of([&] { completed({{"sequence", 9}, {"positions", 8}}); }) ==
          "positions 8 are fewer than a sequence's tokens, 9: give a shorter sequence");
    CHECK(error_of([&] { completed({{"untied_output", 2}}); }) ==
          "untied_output is 1, or 0 if the output is the token embedding; found 2");
    CHECK(completed({}).size() == 0);
  }
}

}  // namespace
