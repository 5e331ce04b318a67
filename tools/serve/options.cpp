#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "../command_line.hpp"
#include "../generation_file.hpp"
#include "../model_options.hpp"
#include "../writing/row_options.hpp"

namespace mtf::tools {
namespace {

/// A request that does not say it has temperature 1, or what the directory's generation_config.json says.
sampling sampling_of(generation_file const& said) {
  sampling how;
  auto const number = [&](char const* key, auto& to) {
    if (auto const at = said.numbers.find(key); at != said.numbers.end())
      to = static_cast<std::remove_reference_t<decltype(to)>>(at->second);
  };
  if (said.samples) {
    number("temperature", how.temperature);
    number("top_k", how.top_k);
    number("top_p", how.top_p);
    number("min_p", how.min_p);
  }
  number("repetition_penalty", how.repetition_penalty);
  return how;
}

}  // namespace

serve_line parse_serve(int argc, char** argv, std::vector<generator> const& models) {
  serve_line line;
  auto& o = line.chosen;
  CLI::App app{
      "Answers requests for texts over HTTP, as OpenAI's interface has them, by a model in a directory of "
      "Hugging Face's."};
  model_options with(app, o.on, sizes_of_models(models), models.front().has_ranks_as_threads, argc, argv,
                     "a token of each of --rows texts");
  add_rows_and_chunk(app, o.rows, o.chunk);
  constexpr auto million = std::int64_t{1000000};
  std::int64_t port = o.port, waiting = static_cast<std::int64_t>(o.waiting), body = static_cast<std::int64_t>(o.body);
  app.add_option("--host", o.host, "the address to listen on; 0.0.0.0: all, so that others than this machine may ask")
      ->capture_default_str();
  add_number(app, "--port", port, std::int64_t{0}, std::int64_t{65535}, "0: one that is free, which is told");
  app.add_option("--name", o.name, "what requests call the model")->default_str("the directory's or the file's name");
  add_number(app, "--context", o.context, std::int64_t{2}, million,
             "tokens of a prompt and its answer, at most; the model may have fewer positions");
  add_number(app, "--queue", waiting, std::int64_t{1}, million,
             "texts that wait for one of the --rows; more are refused");
  add_number(app, "--texts", o.most_texts, std::int64_t{1}, million, "texts that one request may ask for");
  add_number(app, "--connections", o.connections, 1, 100000, "connections at once");
  add_number(app, "--body-bytes", body, std::int64_t{256}, std::int64_t{1} << 30, "bytes of a request");
  add_number(app, "--keep-alive", o.silence, 0.001, 1e6,
             "seconds without a token after which a stream gets a comment, so that nobody takes it for dead");
  bool no_defaults = false;
  app.add_flag("--ignore-generation-config", no_defaults,
               "draw tokens by requests alone, whatever generation_config.json says");
  parse_line(app, argc, argv, o.on.wrong, line.help, [&] {
    line.model = with.find_model();
    o.port = static_cast<std::uint16_t>(port);
    o.waiting = static_cast<std::size_t>(waiting);
    o.body = static_cast<std::size_t>(body);
    o.said = generation_file_of(*o.on.model, !no_defaults);
    o.how = sampling_of(o.said);
    o.on.rows = o.rows;
    o.on.positions = std::min(o.context, o.on.extents.find("positions").value_or(o.context));
    std::filesystem::path const path(o.on.model->path());
    if (o.name.empty()) o.name = o.on.model->is_gguf() ? path.stem() : (path / "").parent_path().filename();
  });
  return line;
}

}  // namespace mtf::tools
