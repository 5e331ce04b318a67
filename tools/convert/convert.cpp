// A GGUF file of llama.cpp's as a directory of Hugging Face's, which the tools read: its weights, widened to float, its
// sizes, its tokenizer, its chat template.
#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/data/text_file.hpp>

#include "../from_gguf.hpp"
#include "../gguf_file.hpp"
#include "../speaks.hpp"

namespace {

using mtf::tools::converted_tensor, mtf::tools::gguf_file;

/// The arrays, one after the other: none but one is in memory. The file gets its name when it is whole.
void write_tensors(std::string const& path, gguf_file const& file, std::vector<converted_tensor> const& tensors) {
  nlohmann::ordered_json header{{"__metadata__", {{"format", "pt"}}}};
  std::uint64_t at = 0;
  for (auto const& t : tensors) {
    auto const bytes = t.from->size() * sizeof(float);
    header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  auto text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  auto const part = path + ".part";
  std::ofstream out(part, std::ios::binary);
  std::uint64_t const size = text.size();
  out.write(reinterpret_cast<char const*>(&size), sizeof(size));
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (auto const& t : tensors) {
    auto const elements = mtf::tools::converted_elements(t, file);
    out.write(reinterpret_cast<char const*>(elements.data()),
              static_cast<std::streamsize>(elements.size() * sizeof(float)));
  }
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(part, path, failed);
  if (!out || failed) {
    std::error_code none;
    std::filesystem::remove(part, none);
    throw mtf::user_error(path + " cannot be written");
  }
}

void convert(std::string const& from, std::string const& to) {
  mtf::text_file const in(from);
  in.read([&](std::string_view bytes) {
    gguf_file const file(from, bytes);
    auto const tensors = mtf::tools::converted_tensors(file);
    auto const config = mtf::tools::config_of(file), tokenizer = mtf::tools::tokenizer_of(file),
               generation = mtf::tools::generation_config_of(file);
    std::error_code none;
    std::filesystem::create_directories(to, none);
    write_tensors(to + "/model.safetensors", file, tensors);
    mtf::write_text_file(to + "/tokenizer.json", tokenizer);
    mtf::write_text_file(to + "/generation_config.json", generation);
    if (auto const* const chat = file.find_value<std::string>("tokenizer.chat_template"))
      mtf::write_text_file(to + "/chat_template.jinja", *chat);
    mtf::write_text_file(to + "/config.json", config);  // last: without it the directory is no model's
  });
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Makes a directory of Hugging Face's of a GGUF file."};
  std::string from, to;
  app.add_option("from", from, "the GGUF file")->required();
  app.add_option("to", to, "the directory, which is made: config.json, model.safetensors (float32), tokenizer.json")
      ->required();
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return mtf::tools::tell_help(app.help());
  } catch (CLI::ParseError const& e) {
    throw mtf::user_error(std::string(e.what()) + " (see --help)");
  }
  convert(from, to);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "mtf: %s\n", e.what());
  return 2;
}
