#include "model_files.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/core/file_text.hpp>

namespace mtf::tools {
std::map<std::string, std::string> texts_beside(std::string const& from, std::string const& config,
                                                std::string const& element) {
  auto const there = [&](char const* name) {
    std::error_code none;
    return !from.empty() && std::filesystem::is_regular_file(from + "/" + name, none);
  };
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  if (there("config.json")) {
    auto const path = from + "/config.json";
    mtf::config_from(path);  // refuses what is none
    all = nlohmann::ordered_json::parse(mtf::text_of_file(path));
  }
  all.update(nlohmann::ordered_json::parse(config));
  all.erase("torch_dtype");  // dtype's name in transformers 4
  all["dtype"] = element;
  std::map<std::string, std::string> texts{{"config.json", all.dump(2) + "\n"}};
  if (there("tokenizer.json")) texts["tokenizer.json"] = mtf::text_of_file(from + "/tokenizer.json");
  return texts;
}

}  // namespace mtf::tools
