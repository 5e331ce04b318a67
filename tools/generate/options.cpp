#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/core/error.hpp>

#include "../command_line.hpp"
#include "generation_file.hpp"

namespace mtf::tools {
namespace {

/// "1,2,3"
std::vector<std::int32_t> ids_of(std::string const& text) {
  std::vector<std::int32_t> ids;
  auto const *at = text.data(), *const end = text.data() + text.size();
  while (true) {
    std::int32_t id = 0;
    auto const [last, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || id < 0 || (last != end && *last != ','))
      throw mtf::user_error("--tokens: expected numbers of tokens, such as 464,2068,7586; found \"" + text + "\"");
    ids.push_back(id);
    if (last == end) return ids;
    at = last + 1;
  }
}

std::vector<std::string> lines_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (in.bad() || !in.eof()) throw mtf::user_error("--prompts: " + path + " cannot be read");
  if (lines.empty()) throw mtf::user_error("--prompts: " + path + " has no line");
  return lines;
}

/// How tokens are drawn, where neither the command line nor the model's directory says it: the most likely is taken.
/// `given`: whether the command line does.
void settle(generate_options& o, generation_file const& file, auto const& given) {
  auto const number = [&](char const* key, char const* flag, auto& to) {
    auto const found = file.numbers.find(key);
    if (!given(flag) && found != file.numbers.end())
      to = static_cast<std::remove_reference_t<decltype(to)>>(found->second);
  };
  bool const asked = given("--top-k") || given("--top-p") || given("--min-p");
  if (!given("--temperature")) o.how.temperature = file.samples || asked ? 1 : 0;
  if (file.samples) {
    number("temperature", "--temperature", o.how.temperature);
    if (!given("--top-k")) o.how.top_k = 50;  // transformers'
    number("top_k", "--top-k", o.how.top_k);
    number("top_p", "--top-p", o.how.top_p);
    number("min_p", "--min-p", o.how.min_p);
  }
  number("repetition_penalty", "--repetition-penalty", o.how.repetition_penalty);
  number("max_new_tokens", "--max-new-tokens", o.most);
}

}  // namespace

generate_line parse_generate(int argc, char** argv, std::vector<sizes_of_task> const& models,
                             bool has_ranks_as_threads) {
  generate_line line;
  auto& o = line.chosen;
  CLI::App app{"Writes on from a prompt, by a model in a directory of Hugging Face's."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  constexpr double any = std::numeric_limits<float>::max();

  app.add_option("--model", o.model, "a directory with config.json, model.safetensors and tokenizer.json")
      ->check(is_path)
      ->required();
  app.add_option("--tokenizer", o.tokenizer, "another tokenizer.json, or \"bytes\", for the one in --model")
      ->check(is_path);
  std::string prompt, prompts;
  auto* const text = app.add_option("--prompt", prompt, "the text to go on from");
  auto* const file = app.add_option("--prompts", prompts,
                                    "a file with a prompt in each line; for each a JSON object is written, in a line")
                         ->check(is_path);
  std::vector<std::string> ids;
  auto* const tokens = app.add_option("--tokens", ids,
                                      "a prompt as the numbers of its tokens, 464,2068,7586; may be given several "
                                      "times; written are numbers too")
                           ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                           ->allow_extra_args(false);
  auto* const chat = app.add_option("--chat", o.question, "a question, put to the model as its chat template has it");
  app.add_option("--system", o.system, "what the assistant is told first")->needs(chat);
  text->excludes(file)->excludes(tokens)->excludes(chat);
  file->excludes(tokens)->excludes(chat);
  tokens->excludes(chat);
  app.add_flag("--echo", o.echo, "write the prompt too");
  app.add_flag("--quiet", o.quiet, "do not tell how long it took");

  add_number(app, "--max-new-tokens", o.most, std::int64_t{1}, std::int64_t{most}, "at most so many are written");
  add_number(app, "--temperature", o.how.temperature, 0.0, any, "logits are divided by this; 0: the largest is taken");
  add_number(app, "--top-k", o.how.top_k, std::int64_t{0}, std::int64_t{most}, "only the k most likely; 0: any");
  add_number(app, "--top-p", o.how.top_p, 0.0, 1.0, "only the most likely that together have this probability");
  add_number(app, "--min-p", o.how.min_p, 0.0, 1.0, "only those as likely as this times the most likely one");
  app.get_option("--temperature")->default_str("0, or 1 with one of the next three, or as generation_config.json says");
  add_number(app, "--repetition-penalty", o.how.repetition_penalty, 1e-3, 1e3,
             "what logits of tokens of prompt and answer are divided by, if above 0, else multiplied");
  add_number(app, "--frequency-penalty", o.how.frequency_penalty, -any, any,
             "subtracted for each time that a token is in the answer");
  add_number(app, "--presence-penalty", o.how.presence_penalty, -any, any, "subtracted if it is there at all");
  add_number(app, "--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
             "names the random numbers; the same text under every layout");
  app.add_option("--stop", o.stops, "end before this text; may be given several times")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  bool no_ends = false, no_defaults = false;
  app.add_flag("--ignore-eos", no_ends, "go on where the model would end its text");
  app.add_flag("--ignore-generation-config", no_defaults,
               "draw tokens by the options alone, whatever generation_config.json says");

  app.add_option("--mesh", o.mesh, "the machine's axes with their ranks, such as \"data:2;model:2\"")
      ->capture_default_str();
  app.add_option("--layout", o.layout,
                 "which dimensions are split over which axes, such as \"batch:data;heads:model\"");
  add_number(app, "--rows", o.rows, std::int64_t{1}, std::int64_t{4096}, "prompts that are worked on at once");
  add_number(app, "--chunk", o.chunk, std::int64_t{1}, std::int64_t{most}, "tokens of a prompt that are read at once");
  if (has_ranks_as_threads) {
    app.add_flag("--ranks-as-threads", o.ranks_as_threads,
                 "all ranks are threads of this process, which starts without mpirun");
    o.ranks_as_threads = std::find(argv, argv + argc, std::string_view("--ranks-as-threads")) != argv + argc;
  }

  try {
    app.parse(argc, argv);
    if (text->empty() && file->empty() && tokens->empty() && chat->empty())
      throw CLI::RequiredError("--prompt, --prompts, --chat or --tokens");
    for (auto const& stop : o.stops)
      if (stop.empty()) throw mtf::user_error("--stop: a text was expected, found none");
    o.several = !file->empty();
    if (!text->empty()) o.prompts = {prompt};
    if (!file->empty()) o.prompts = lines_of(prompts);
    for (auto const& some : ids) o.tokens.push_back(ids_of(some));
    if (!o.tokens.empty() && !o.stops.empty()) throw mtf::user_error("--stop is for text, which --tokens are not");
    auto const config = mtf::config_from(o.model + "/config.json");
    for (line.model = 0; line.model < models.size() && o.extents.size() == 0; ++line.model)
      o.extents = models[line.model].from_config(config);
    if (o.extents.size() == 0)
      throw mtf::user_error(config.path() + ": the model_type \"" + config.text("model_type").value_or("") +
                            "\" is none that this program has");
    --line.model;
    auto const said = generation_file_in(o.model, !no_defaults);
    settle(o, said, [&](char const* flag) { return app.count(flag) > 0; });
    if (!no_ends) o.ends = said.ends;
    o.first = said.first;
    if (o.tokenizer.empty()) o.tokenizer = o.model;
  } catch (CLI::CallForHelp const&) {
    line.help = app.help();
  } catch (CLI::ParseError const& e) {
    line.wrong = std::string(e.what()) + " (see --help)";
  } catch (mtf::user_error const& e) {
    line.wrong = e.what();
  }
  return line;
}

}  // namespace mtf::tools
