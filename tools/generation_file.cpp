#include "generation_file.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

#include "model_source.hpp"

namespace mtf::tools {
namespace {

/// What a value must be for `generate` to do the same without it.
std::map<std::string, nlohmann::json> const& passed_over() {
  static std::map<std::string, nlohmann::json> const all{{"num_beams", 1},
                                                         {"num_beam_groups", 1},
                                                         {"num_return_sequences", 1},
                                                         {"encoder_repetition_penalty", 1.0},
                                                         {"exponential_decay_length_penalty", nullptr},
                                                         {"forced_decoder_ids", nullptr},
                                                         {"max_time", nullptr},
                                                         {"token_healing", false},
                                                         {"typical_p", 1.0},
                                                         {"no_repeat_ngram_size", 0},
                                                         {"epsilon_cutoff", 0.0},
                                                         {"eta_cutoff", 0.0},
                                                         {"penalty_alpha", nullptr},
                                                         {"dola_layers", nullptr},
                                                         {"guidance_scale", 1.0},
                                                         {"bad_words_ids", nullptr},
                                                         {"sequence_bias", nullptr},
                                                         {"force_words_ids", nullptr},
                                                         {"constraints", nullptr},
                                                         {"suppress_tokens", nullptr},
                                                         {"min_length", 0},
                                                         {"min_new_tokens", 0},
                                                         {"top_h", nullptr},
                                                         {"stop_strings", nullptr},
                                                         {"forced_bos_token_id", nullptr},
                                                         {"watermarking_config", nullptr},
                                                         {"begin_suppress_tokens", nullptr},
                                                         {"forced_eos_token_id", nullptr}};
  return all;
}

/// Between which numbers a value may be, and how that is said.
struct range {
  double least, most;
  char const* words;
};
std::map<std::string, range> const& ranges() {
  static std::map<std::string, range> const all{{"temperature", {0, 1e300, "a number from 0 on"}},
                                                {"top_k", {0, INT32_MAX, "a number of tokens, or 0 for all"}},
                                                {"top_p", {0, 1, "a number from 0 to 1"}},
                                                {"min_p", {0, 1, "a number from 0 to 1"}},
                                                {"repetition_penalty", {1e-3, 1e3, "a number from 0.001 to 1000"}},
                                                {"max_new_tokens", {1, INT32_MAX, "a number of tokens, 1 or more"}}};
  return all;
}

/// None: the file is not there.
std::optional<nlohmann::json> json_in(model_source const& model, std::string const& file) {
  auto const text = model.text(file);
  if (!text) return {};
  auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) throw mtf::user_error(model.name_of(file) + " is no JSON object");
  return std::optional<nlohmann::json>(std::in_place, std::move(json));
}

/// A token's id, or several.
std::vector<std::int32_t> ids_in(nlohmann::json const& json, std::string const& key, std::string const& path) {
  std::vector<std::int32_t> ids;
  if (!json.contains(key) || json[key].is_null()) return ids;
  auto const add = [&](nlohmann::json const& id) {
    if (!id.is_number_integer() || id < 0 || id > INT32_MAX)
      throw mtf::user_error(path + ": " + key + " should be the number of a token, or a list of them; found " +
                            json[key].dump());
    ids.push_back(id.get<std::int32_t>());
  };
  if (json[key].is_array())
    for (auto const& id : json[key]) add(id);
  else
    add(json[key]);
  return ids;
}

}  // namespace

generation_file generation_file_of(model_source const& model, bool defaults) {
  generation_file file;
  auto const take = [&](nlohmann::json const& json, std::string const& path) {
    for (auto const id : ids_in(json, "eos_token_id", path))
      if (std::find(file.ends.begin(), file.ends.end(), id) == file.ends.end()) file.ends.push_back(id);
    if (auto const first = ids_in(json, "bos_token_id", path); !first.empty()) file.first = first.front();
  };
  auto const config = model.name_of("config.json"), generation = model.name_of("generation_config.json");
  auto const said = json_in(model, "config.json");
  if (!said) throw mtf::user_error(config + " cannot be read");
  take(*said, config);
  auto const found = json_in(model, "generation_config.json");
  if (!found) return file;
  auto const& json = *found;
  take(json, generation);
  if (!defaults) return file;
  for (auto const& [key, same] : passed_over())
    if (json.contains(key) && !json[key].is_null() && json[key] != same)
      throw mtf::user_error(generation + ": \"" + key + "\" is " + json[key].dump() +
                            ", which is not done here: leave it out, or give --ignore-generation-config");
  file.samples = json.value("do_sample", nlohmann::json(false)) == true;
  if (file.samples) file.numbers["top_k"] = 50;  // transformers', where the file does not say it
  for (auto const* const key : {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "max_new_tokens"}) {
    if (!json.contains(key) || json[key].is_null()) continue;
    auto const [least, most, words] = ranges().at(key);
    double const x = json[key].is_number() ? json[key].get<double>() : -1;
    if (!json[key].is_number() || !(x >= least && x <= most))
      throw mtf::user_error(generation + ": " + key + " should be " + words + ", found " + json[key].dump());
    file.numbers[key] = x;
  }
  return file;
}

}  // namespace mtf::tools
