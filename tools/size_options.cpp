#include "size_options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/limits.hpp>

#include "text_of.hpp"

namespace mtf::tools {
namespace {

/// "50257", or "50257/8": stored as a multiple of 8.
mtf::extents_value size_in(std::string const& name, std::string const& flag, std::string const& text) {
  auto const read = [&](std::string_view digits, std::int64_t least) {
    std::int64_t n = 0;
    auto const* const end = digits.data() + digits.size();
    auto const [last, error] = std::from_chars(digits.data(), end, n);
    if (error != std::errc{} || last != end || n < least || n > mtf::max_extent)
      throw CLI::ValidationError(flag, "expected a whole number from 0 to " + std::to_string(mtf::max_extent) +
                                           ", or two, as 50257/8, for one that is stored as a multiple of the other; "
                                           "found \"" +
                                           text + "\"");
    return n;
  };
  auto const slash = text.find('/');
  std::string_view const all(text);
  mtf::extents_value size;
  size.give(name, read(all.substr(0, slash), 0), slash == std::string::npos ? 1 : read(all.substr(slash + 1), 1));
  return size;
}

}  // namespace

size_options::size_options(CLI::App& app, sizes_of_task const& of, std::vector<std::string> const& model_types)
    : of_(of) {
  // (Which model it is was found before: model_asked_for.)
  if (model_types.size() > 1)
    app.add_option("--model-type", model_type_,
                   "which model, where no config.json says it; beside --help: whose sizes are told here")
        ->check(CLI::IsMember(model_types))
        ->default_str(model_types.front())
        ->group("Sizes");
  if (of_.are_values())
    app.add_option("--model", model_,
                   "a JSON file with the model's sizes, by the names of the options below" +
                       std::string(of_.from_config != nullptr ? ", or Hugging Face's config.json" : ""))
        ->check(CLI::ExistingFile)
        ->group("Sizes");
  for (auto const& size : of_.all) {
    std::string flag = "--" + size.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (app.get_option_no_throw(flag) != nullptr) continue;  // a dimension named as an option is none
    auto& one = options_.emplace_back(option{size, flag});
    auto* const added = app.add_option_function<std::string>(
        flag,
        [&one](std::string const& text) {
          one.asked = size_in(one.size.name, one.flag, text);
          one.text = text;
        },
        size.fixed < 0 ? "" : "fixed in this executable's types");
    added->type_name("INT")->group(size.fixed < 0 ? "Sizes" : "Fixed");
    if (size.fixed >= 0)
      added->default_str(std::to_string(size.fixed));
    else if (auto const n = of_.defaults.find(size.name))
      added->default_str(std::to_string(*n));
    else
      added->default_str("as follows from others");
  }
}

mtf::extents_value size_options::in_file(mtf::config_values const& config) const {
  auto const is_size = [&](std::string const& key) {
    return std::any_of(options_.begin(), options_.end(), [&](auto const& o) { return o.size.name == key; });
  };
  if (of_.from_config != nullptr)
    if (auto const sizes = of_.from_config(config); sizes.size() > 0) return sizes;
  mtf::extents_value sizes;
  std::string names;
  for (auto const& o : options_) static_cast<void>(config.number(o.size.name));  // refuses what is no whole number
  for (auto const& o : options_) names += (names.empty() ? "" : ", ") + o.size.name;
  auto const numbers = config.numbers();
  if (numbers.empty()) throw mtf::user_error(config.path() + " has no sizes; a model's are " + names);
  for (auto const& [key, n] : numbers) {
    if (!is_size(key))
      throw mtf::user_error(config.path() + ": \"" + key + "\" is no size of this model; it has " + names);
    sizes.give(key, n);
  }
  return sizes;
}

size_options::found size_options::result(std::string const& config) const {
  auto asked = of_.defaults;
  auto const path = model_.empty() ? config : model_;
  found f;
  mtf::extents_value file;
  if (path.ends_with(".gguf"))
    throw mtf::user_error("--model " + path + ": expected a JSON file, found a GGUF file: make a directory of it " +
                          "first, by `convert " + shell_word(path) + " DIRECTORY`, and take its config.json");
  std::error_code none;
  if (!model_.empty() && !config.empty() && !std::filesystem::equivalent(model_, config, none))
    throw mtf::user_error("--model " + model_ + ": the sizes are those of " + config +
                          ", whose values the training begins with: expected no other file");
  if (!path.empty()) {
    f.config = mtf::config_from(path);
    file = in_file(f.config);
  }
  asked.give(file);
  for (auto const& o : options_) {
    auto const n = o.asked ? o.asked->find(o.size.name) : file.find(o.size.name);
    if (o.size.fixed >= 0 && n && *n != o.size.fixed)
      throw mtf::user_error(o.flag + " " + std::to_string(*n) + ": this executable is built for " +
                            std::to_string(o.size.fixed) + "; set it in the model's config and build it again");
    if (o.size.fixed < 0 && o.asked) asked.give(*o.asked);
  }
  mtf::extents_value values;
  for (auto const& o : options_)
    if (o.size.fixed < 0) values.give(asked.only(o.size.name));
  if (!model_type_.empty()) f.flags = " --model-type " + model_type_;
  if (of_.are_values() && !path.empty()) f.flags += " --model " + shell_word(path);
  f.extents = of_.extents_from != nullptr ? of_.extents_from(values) : values;
  for (auto const& o : options_) {
    // As it was asked for: what the program makes of it may be another number, as of layers in two parts.
    auto n = asked.find(o.size.name);
    if (!n) n = f.extents.find(o.size.name);
    if (o.size.fixed < 0 && !n)
      throw mtf::user_error("the model's " + o.size.name + " is not known: give " + o.flag + ", or --model with it");
    f.sizes.emplace_back(o.size.name, o.size.fixed < 0 ? *n : o.size.fixed);
    if (o.asked) f.flags += " " + o.flag + " " + o.text;
  }
  return f;
}

}  // namespace mtf::tools
