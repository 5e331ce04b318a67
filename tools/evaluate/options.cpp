#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <mtf/checkpoint/distinct_files.hpp>
#include <mtf/core/error.hpp>

#include "../command_line.hpp"
#include "../generation_file.hpp"
#include "../model_options.hpp"
#include "../sizes.hpp"

namespace mtf::tools {

evaluate_line parse_evaluate(int argc, char** argv, std::vector<sizes_of_task> const& models,
                             bool has_ranks_as_threads) {
  evaluate_line line;
  auto& o = line.chosen;
  CLI::App app{
      "Says how well a model in a directory of Hugging Face's predicts a text, and which answers to questions it "
      "takes.\nWhat it finds is written as JSON objects, each in a line."};
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

  model_options with(app, o.on, models, has_ranks_as_threads, argc, argv, "--rows windows");
  auto* const text =
      app.add_option("--text", o.text, "a file with a text: tokens, nats per token, perplexity, bits per byte")
          ->check(is_path);
  auto* const choices =
      app.add_option(
             "--choices", o.choices,
             "a file of questions, in each line {\"question\": text, \"choices\": [texts], \"answer\": number from "
             "0}: the share of those whose likeliest choice is the right one (acc), and the same of logarithms of "
             "probabilities divided by the bytes of a choice (acc_norm)")
          ->check(is_path);
  app.add_option("--delimiter", o.delimiter, "what stands between a question and a choice")
      ->capture_default_str()
      ->needs(choices);
  app.add_option("--log", o.log, "write what was found of each question into this file, not to standard output")
      ->check(is_path);
  app.add_flag("--quiet", o.quiet, "do not tell how long it took");

  add_number(app, "--context", o.context, std::int64_t{1}, most, "how many tokens of a text are read at once");
  app.get_option("--context")->default_str("1024, or all positions of a model that has less");
  add_number(app, "--stride", o.stride, std::int64_t{1}, most,
             "tokens from one window to the next; less than --context: most tokens have more before them");
  app.get_option("--stride")->default_str("as --context")->needs(text);
  add_number(app, "--rows", o.rows, std::int64_t{1}, std::int64_t{4096}, "windows that are worked on at once");

  parse_line(app, argc, argv, o.on.wrong, line.help, [&] {
    if (o.text.empty() && o.choices.empty()) throw CLI::RequiredError("--text or --choices");
    if (!o.log.empty() && o.choices.empty()) throw mtf::user_error("--log is of questions: give --choices");
    mtf::distinct_files files;
    files.reads("--text", o.text);
    files.reads("--choices", o.choices);
    files.writes("--log", o.log);
    line.model = with.find_model();
    auto const positions = o.on.extents.find("positions").value_or(most);
    if (app.count("--context") == 0) o.context = std::min<std::int64_t>(positions, 1024);
    if (app.count("--stride") == 0) o.stride = o.context;
    if (o.context > positions)
      throw mtf::user_error("--context: the model has " + std::to_string(positions) + " positions, found " +
                            std::to_string(o.context));
    if (o.stride > o.context)
      throw mtf::user_error("--stride: expected at most --context, " + std::to_string(o.context) +
                            ", as tokens between two windows would not be counted; found " + std::to_string(o.stride));
    o.first = generation_file_of(*o.on.model, false).first;
    o.on.rows = o.rows;
    o.on.positions = o.context;
  });
  return line;
}

}  // namespace mtf::tools
