#include "generation_file.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

namespace mtf::tools {
namespace {

/// What a value must be for `generate` to do the same without it.
std::map<std::string, nlohmann::json> const& passed_over() {
  static std::map<std::string, nlohmann::json> const all{{"num_beams", 1},
                                                         {"num_beam_groups", 1},
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

nlohmann::json json_in(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  if (!in) throw mtf::user_error(path + " cannot be read");
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) throw mtf::user_error(path + " is no JSON object");
  return json;
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

/// Those of a template's list before its text.
std::vector<std::int32_t> before_text(nlohmann::json const& processor) {
  std::vector<std::int32_t> ids;
  for (auto const& piece : processor.value("single", nlohmann::json::array())) {
    if (!piece.is_object() || !piece.contains("SpecialToken")) break;
    auto const& tokens = processor.value("special_tokens", nlohmann::json::object());
    auto const name = piece["SpecialToken"].value("id", "");
    if (!tokens.contains(name)) break;
    for (auto const& id : tokens[name].value("ids", nlohmann::json::array())) ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

}  // namespace

std::vector<std::int32_t> tokens_before(std::string const& path) try {
  std::error_code none;
  auto const file = path.ends_with(".json") ? path : path + "/tokenizer.json";
  if (!std::filesystem::is_regular_file(file, none)) return {};
  auto const processor = json_in(file).value("post_processor", nlohmann::json());
  if (!processor.is_object()) return {};
  auto const type = processor.value("type", "");
  if (type == "TemplateProcessing") return before_text(processor);
  if (type == "Sequence")
    for (auto const& one : processor.value("processors", nlohmann::json::array()))
      if (one.is_object() && one.value("type", "") == "TemplateProcessing") return before_text(one);
  return {};
} catch (nlohmann::json::exception const&) {
  throw mtf::user_error(path + ": its post_processor is none that Hugging Face's library writes");
}

generation_file generation_file_in(std::string const& directory, bool defaults) {
  generation_file file;
  auto const take = [&](nlohmann::json const& json, std::string const& path) {
    for (auto const id : ids_in(json, "eos_token_id", path))
      if (std::find(file.ends.begin(), file.ends.end(), id) == file.ends.end()) file.ends.push_back(id);
    if (auto const first = ids_in(json, "bos_token_id", path); !first.empty()) file.first = first.front();
  };
  auto const config = directory + "/config.json", generation = directory + "/generation_config.json";
  take(json_in(config), config);
  std::error_code none;
  if (!std::filesystem::exists(generation, none)) return file;
  auto const json = json_in(generation);
  take(json, generation);
  if (!defaults) return file;
  for (auto const& [key, same] : passed_over())
    if (json.contains(key) && !json[key].is_null() && json[key] != same)
      throw mtf::user_error(generation + ": \"" + key + "\" is " + json[key].dump() +
                            ", which is not done here: leave it out, or give --ignore-generation-config");
  file.samples = json.value("do_sample", nlohmann::json(false)) == true;
  for (auto const* const key : {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "max_new_tokens"}) {
    if (!json.contains(key) || json[key].is_null()) continue;
    if (!json[key].is_number())
      throw mtf::user_error(generation + ": " + key + " should be a number, found " + json[key].dump());
    file.numbers[key] = json[key].get<double>();
  }
  return file;
}

}  // namespace mtf::tools
