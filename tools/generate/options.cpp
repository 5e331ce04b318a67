#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <mtf/core/error.hpp>

#include "../command_line.hpp"
#include "../generation_file.hpp"
#include "../model_options.hpp"
#include "../writing/row_options.hpp"

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
    number("top_k", "--top-k", o.how.top_k);
    number("top_p", "--top-p", o.how.top_p);
    number("min_p", "--min-p", o.how.min_p);
  }
  number("repetition_penalty", "--repetition-penalty", o.how.repetition_penalty);
  number("max_new_tokens", "--max-new-tokens", o.most);
}

/// What a layout is searched for. (A text has as many tokens as bytes at most.)
void expect(generate_options& o) {
  std::size_t longest = o.system.size() + o.question.size();
  for (auto const& prompt : o.prompts) longest = std::max(longest, prompt.size());
  for (auto const& prompt : o.tokens) longest = std::max(longest, prompt.size());
  auto const count = std::max<std::size_t>({1, o.prompts.size(), o.tokens.size()});
  o.on.rows = std::min(o.rows, static_cast<std::int64_t>(count));
  auto const most = o.on.extents.find("positions").value_or(o.most);
  o.on.positions = (std::min(most, static_cast<std::int64_t>(longest) + o.most) + 63) / 64 * 64;
}

}  // namespace

generate_line parse_generate(int argc, char** argv, std::vector<generator> const& models) {
  generate_line line;
  auto& o = line.chosen;
  CLI::App app{"Writes on from a prompt, by a model in a directory of Hugging Face's."};
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  constexpr double any = std::numeric_limits<float>::max();

  model_options with(app, o.on, sizes_of_models(models), models.front().has_ranks_as_threads, argc, argv,
                     "a token of each of --rows texts");
  add_rows_and_chunk(app, o.rows, o.chunk);
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
  tokens->excludes(chat)->excludes(app.get_option("--tokenizer"));
  app.add_flag("--echo", o.echo, "write the prompt too")->excludes(tokens);
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
  app.add_option("--stop", o.stops, "end before this text; may be given several times; not of --tokens")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->excludes(tokens);
  bool no_ends = false, no_defaults = false;
  app.add_flag("--ignore-eos", no_ends, "go on where the model would end its text");
  app.add_flag("--ignore-generation-config", no_defaults,
               "draw tokens by the options alone, whatever generation_config.json says");

  parse_line(app, argc, argv, o.on.wrong, line.help, [&] {
    if (text->empty() && file->empty() && tokens->empty() && chat->empty())
      throw CLI::RequiredError("--prompt, --prompts, --chat or --tokens");
    for (auto const& stop : o.stops)
      if (stop.empty()) throw mtf::user_error("--stop: a text was expected, found none");
    if (!chat->empty() && o.question.empty()) throw mtf::user_error("--chat: a question was expected, found none");
    o.several = !file->empty();
    if (!text->empty()) o.prompts = {prompt};
    if (!file->empty()) o.prompts = lines_of(prompts);
    for (auto const& some : ids) o.tokens.push_back(ids_of(some));
    line.model = with.find_model();
    auto const said = generation_file_of(*o.on.model, !no_defaults);
    settle(o, said, [&](char const* flag) { return app.count(flag) > 0; });
    if (!no_ends) o.ends = said.ends;
    o.first = said.first;
    expect(o);
  });
  return line;
}

}  // namespace mtf::tools
