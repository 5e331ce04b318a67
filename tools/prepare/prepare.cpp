// From texts to files of tokens, and BPE vocabularies of texts. See --help.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include <mtf/checkpoint/distinct_files.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/shown_text.hpp>
#include <mtf/tokenizers.hpp>
#include <mtf/train/text_output.hpp>

#include "sources.hpp"
#include "work.hpp"

namespace {

/// On standard output. What cannot be written is a user_error.
void say(std::string const& text) {
  mtf::text_output screen("standard output", stdout);
  screen.write(text);
  if (!screen.failure().empty()) throw mtf::user_error(screen.failure());
}

int run(int argc, char** argv) {
  prepare::source_options sources;
  std::string tokenizer = "bytes", output;
  std::uint32_t vocabulary = 0;
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  bool special = false;
  CLI::Validator const is_path(
      [](std::string& path) {
        return path.empty() || path.starts_with("--") ? "a path was expected, found \"" + path + "\"" : "";
      },
      "", "path");
  CLI::App app{
      "Makes a file of tokens, for `train --data`, of texts.\nInput: text files, files of JSON lines (.jsonl, "
      ".ndjson), "
      "or directories of both."};
  app.add_option("input", sources.paths, "files and directories; a text file is one document")
      ->required()
      ->check(is_path);
  app.add_option("-o,--output", output, "the file of tokens (.bin), or the vocabulary of --train-bpe (.json)")
      ->required()
      ->check(is_path);
  auto* const with =
      app.add_option("--tokenizer", tokenizer,
                     "bytes, a tokenizer.json, a vocab.json with merges.txt beside it, a .model of sentencepiece, or a "
                     "directory with one of them")
          ->check(is_path)
          ->capture_default_str();
  auto* const trained = app.add_option("--train-bpe", vocabulary,
                                       "train a BPE vocabulary of so many tokens, and write its tokenizer.json")
                            ->check(CLI::Range(257, 1 << 24))
                            ->excludes(with);
  app.add_option("--separator", sources.separator,
                 "what stands between documents in a text file, such as <|endoftext|>");
  app.add_option("--field", sources.field, "the field of the text in JSON lines")->capture_default_str();
  app.add_option("--threads", threads, "threads; the output is the same")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--special-tokens", special,
               "names of special tokens in the texts are these tokens; else they are letters like others")
      ->excludes(trained);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    say(app.help());
    return 0;
  } catch (CLI::ParseError const& e) {
    throw mtf::user_error(std::string(e.what()) + " (see --help)");
  }
  auto const begin = std::chrono::steady_clock::now();
  bool const train = vocabulary > 0, terminal = ::isatty(2) == 1;
  char const* const suffix = train ? ".json" : ".bin";
  if (!output.ends_with(suffix))
    throw mtf::user_error("--output " + output + ": a name that ends in " + suffix + " was expected");
  mtf::distinct_files all;
  for (auto const& path : prepare::files_of(sources)) all.reads("the input", path);
  if (tokenizer != "bytes") all.reads("--tokenizer", tokenizer);
  all.writes("--output", output);
  auto const done = train ? prepare::train_bpe(sources, vocabulary, output, threads, terminal)
                          : prepare::tokenize(sources,
                                              *mtf::load_tokenizer(tokenizer, special ? mtf::special_tokens::matched
                                                                                      : mtf::special_tokens::as_text),
                                              output, threads, terminal);
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto const name = mtf::shown_text(output);
  auto const megabytes = static_cast<double>(done.bytes) / 1e6;
  std::array<char, 100> speed{};
  std::snprintf(speed.data(), speed.size(), ", of %.1f MB in %.2f s: %.1f MB/s\n", megabytes, seconds,
                megabytes / seconds);
  say(name + ": " + (train ? "a vocabulary of " : std::to_string(done.documents) + " documents, ") +
      std::to_string(done.tokens) + " tokens" + speed.data());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (mtf::user_error const& e) {
    std::fprintf(stderr, "prepare: %s\n", e.what());
    return 2;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "prepare: %s\n", mtf::shown_text(e.what()).c_str());
    return 1;
  }
}
