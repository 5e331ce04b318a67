#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/data/bpe.hpp>
#include <mtf/data/unigram.hpp>
#include <mtf/train/text_output.hpp>

#include "../chat.hpp"
#include "../command_line.hpp"
#include "../model_source.hpp"
#include "../sizes.hpp"
#include "../text_of.hpp"
#include "../which_model.hpp"
#include "inspector.hpp"
#include "stored_arrays.hpp"

namespace mtf::tools {
namespace {

/// What is asked for.
struct inspect_options {
  std::string model;  // a path
  layout_asked under{.mesh = "one:1", .layout = ""};
  bool tells_layout = false, json = false;
};

/// Of a model.
struct tokenizer_found {
  std::string kind = "none";
  std::uint32_t size = 0;
};

/// All that is known of a model.
struct inspected {
  std::string directory, type;
  named_sizes sizes;
  std::int64_t parameters = 0;
  stored_arrays files;
  file_differences differences;
  tokenizer_found tokenizer;
  bool chat_template_known = false;
  laid_model laid;
};

std::uint64_t bytes_on_rank(laid_tensor const& t, mtf::mesh_shape const& mesh) {
  return static_cast<std::uint64_t>(t.where.local_size(mesh)) * static_cast<std::uint64_t>(t.element_bytes);
}
std::uint64_t bytes_on_rank(std::vector<laid_tensor> const& all, mtf::mesh_shape const& mesh) {
  std::uint64_t bytes = 0;
  for (auto const& t : all) bytes += bytes_on_rank(t, mesh);
  return bytes;
}

tokenizer_found tokenizer_of(model_source const& model) {
  auto const found = [&](char const* file) {
    auto const words = model.tokenizer();
    auto const* const kind = dynamic_cast<mtf::bpe_tokenizer const*>(words.get()) != nullptr       ? "BPE"
                             : dynamic_cast<mtf::unigram_tokenizer const*>(words.get()) != nullptr ? "Unigram"
                                                                                                   : "sentencepiece";
    return tokenizer_found{std::string(kind) + " (" + file + ")", words->vocabulary()};
  };
  if (model.is_gguf()) return found("GGUF");
  std::error_code none;
  for (char const* file : {"tokenizer.json", "vocab.json", "tokenizer.model"})
    if (std::filesystem::exists(model.path() + "/" + file, none)) return found(file);
  return {};
}

/// Whether it has one of the templates that `generate --chat` knows.
bool knows_chat_template(model_source const& model) try {
  chat_text(model, {{"user", ""}}, "");
  return true;
} catch (mtf::user_error const&) {
  return false;
}

inspected inspected_in(inspect_options const& o, std::vector<inspector> const& models) {
  std::error_code none;
  model_source const source(o.model);
  if (!source.is_gguf() && !std::filesystem::is_directory(o.model, none))
    throw mtf::user_error(o.model + " is no directory, and no file NAME.gguf");
  std::vector<sizes_of_task> sizes;
  sizes.reserve(models.size());
  for (auto const& model : models) sizes.push_back(model.sizes);
  auto const config = source.config();
  auto const which = model_that_is_of(config, sizes);
  auto asked = o.under;
  asked.extents = which.extents;
  if (auto const most = which.extents.find("positions"); most && asked.positions > *most)
    throw mtf::user_error("--positions: the model has " + std::to_string(*most) + ", found " +
                          std::to_string(asked.positions));
  inspected all;
  all.directory = o.model;
  all.laid = models[which.number].laid(asked);
  all.type = config.text("model_type").value_or("gpt2");  // as GPT-2's first files have none
  for (auto const& size : sizes[which.number].all)
    if (size.name != "batch" && size.name != "sequence")
      all.sizes.emplace_back(size.name, all.laid.extents.find(size.name).value_or(0));
  std::vector<model_tensor> tensors;
  tensors.reserve(all.laid.parameters.size());
  for (auto const& t : all.laid.parameters) {
    model_tensor one{t.name};
    std::int64_t elements = 1;
    for (int d = 0; d < t.where.ndim; ++d) {
      one.dims.emplace_back(t.where[d].name, t.where[d].logical());
      elements *= t.where[d].logical();
    }
    all.parameters += elements;
    tensors.push_back(std::move(one));
  }
  all.files = arrays_of(source);
  if (!all.files.files.empty()) all.differences = differences_of(all.files, tensors, all.laid.names);
  all.tokenizer = tokenizer_of(source);
  all.chat_template_known = knows_chat_template(source);
  return all;
}

/// "vocab 61 + 1, d_model 32"
std::string global_text(mtf::sharding const& s) {
  std::string text;
  for (int d = 0; d < s.ndim; ++d)
    text += (d == 0 ? "" : ", ") + std::string(s[d].name) + " " + std::to_string(s[d].logical()) +
            (s[d].pad > 0 ? " + " + std::to_string(s[d].pad) : "");
  return text;
}
std::vector<std::int64_t> shard_shape(mtf::sharding const& s, mtf::mesh_shape const& mesh) {
  std::vector<std::int64_t> shape;
  for (int d = 0; d < s.ndim; ++d) shape.push_back(s.local_extent(d, mesh));
  return shape;
}

/// Lines of columns. Lines that differ in numbers of layers alone are one, with how many they are.
class table {
 public:
  void add(std::string const& name, std::vector<std::string> const& rest) {
    std::vector<std::string> row{without_numbers(name)};
    row.insert(row.end(), rest.begin(), rest.end());
    std::string key;
    for (auto const& cell : row) key += cell + "\n";
    auto const [at, fresh] = known_.emplace(key, rows_.size());
    if (fresh) rows_.push_back({name, row, 0});
    ++rows_[at->second].count;
  }
  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> width;
    for (auto const& r : rows_) {
      width.resize(std::max(width.size(), r.cells.size()));
      for (std::size_t i = 0; i < r.cells.size(); ++i) width[i] = std::max(width[i], cell(r, i).size());
    }
    std::string text;
    for (auto const& r : rows_) {
      std::string line = " ";
      for (std::size_t i = 0; i < r.cells.size(); ++i)
        line += " " + cell(r, i) + std::string(width[i] - cell(r, i).size() + 1, ' ');
      if (r.count > 1) line += " x " + std::to_string(r.count);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  struct row {
    std::string name;
    std::vector<std::string> cells;
    int count;
  };
  static std::string const& cell(row const& r, std::size_t i) { return i == 0 && r.count == 1 ? r.name : r.cells[i]; }

  std::vector<row> rows_;
  std::map<std::string, std::size_t> known_;
};

std::string amount(std::uint64_t bytes) {
  auto const n = static_cast<double>(bytes);
  return n < 1e6 ? text_of("%.1f kB", n / 1e3) : n < 1e9 ? text_of("%.1f MB", n / 1e6) : text_of("%.2f GB", n / 1e9);
}

std::string describe(inspected const& all, inspect_options const& o) {
  std::string text = all.directory + ": " + all.type + ", " + std::to_string(all.parameters) + " parameters\n" +
                     "sizes: " + text_of(all.sizes) + "\n";
  text += "tokenizer: " + all.tokenizer.kind +
          (all.tokenizer.size > 0 ? ", " + std::to_string(all.tokenizer.size) + " tokens" : "") +
          "; chat template: " + (all.chat_template_known ? "known" : "none that is known") + "\n";
  if (all.files.files.empty()) {
    text += "weights: none: neither model.safetensors nor model.safetensors.index.json is there\n";
  } else {
    text +=
        "weights: " + std::to_string(all.files.arrays.size()) + " tensors in " +
        (all.files.files.size() == 1 ? all.files.files.front() : std::to_string(all.files.files.size()) + " files") +
        ", " + amount(all.files.bytes) + "\n";
    table files;
    for (std::size_t i = 0; i < all.files.arrays.size(); ++i) {
      auto const& a = all.files.arrays[i];
      files.add(a.name, {all.files.types[i], "[" + text_of(a.shape) + "]"});
    }
    text += files.text();
    auto const list = [&](char const* what, std::vector<std::string> const& names) {
      for (auto const& name : names) text += std::string(what) + ": " + name + "\n";
    };
    list("missing", all.differences.missing);
    list("unexpected", all.differences.unexpected);
    list("different", all.differences.different);
  }
  auto const& mesh = all.laid.mesh;
  if (o.tells_layout) {
    text += "under the mesh " + o.under.mesh + " and the layout \"" + o.under.layout +
            "\": dimensions (+ pads), a rank's shard, bytes a rank\n";
    table laid;
    for (auto const* tensors : {&all.laid.parameters, &all.laid.cache})
      for (auto const& t : *tensors)
        laid.add((tensors == &all.laid.cache ? "cache: " : "") + t.name,
                 {global_text(t.where), "[" + text_of(shard_shape(t.where, mesh)) + "]",
                  std::to_string(bytes_on_rank(t, mesh))});
    text += laid.text();
  }
  auto const weights = bytes_on_rank(all.laid.parameters, mesh), cache = bytes_on_rank(all.laid.cache, mesh);
  return text + "memory of a rank: weights " + amount(weights) + ", keys and values of " +
         std::to_string(all.laid.rows) + " x " + std::to_string(all.laid.positions) + " tokens " + amount(cache) + "\n";
}

nlohmann::ordered_json json_of(inspected const& all, inspect_options const& o) {
  using json = nlohmann::ordered_json;
  json j{{"directory", all.directory}, {"model_type", all.type}, {"parameters", all.parameters}};
  for (auto const& [name, n] : all.sizes) j["sizes"][name] = n;
  j["tokenizer"] = {{"kind", all.tokenizer.kind}, {"tokens", all.tokenizer.size}};
  j["chat_template_known"] = all.chat_template_known;
  j["files"] = all.files.files;
  j["tensors"] = json::array();
  for (std::size_t i = 0; i < all.files.arrays.size(); ++i) {
    auto const& a = all.files.arrays[i];
    j["tensors"].push_back({{"name", a.name}, {"dtype", all.files.types[i]}, {"shape", a.shape}});
  }
  j["missing"] = all.differences.missing;
  j["unexpected"] = all.differences.unexpected;
  j["different"] = all.differences.different;
  auto const& mesh = all.laid.mesh;
  auto const list = [&](std::vector<laid_tensor> const& tensors) {
    auto of = json::array();
    for (auto const& t : tensors) {
      auto dims = json::array();
      for (int d = 0; d < t.where.ndim; ++d)
        dims.push_back({{"name", t.where[d].name},
                        {"extent", t.where[d].logical()},
                        {"pads", t.where[d].pad},
                        {"shard", t.where.local_extent(d, mesh)}});
      of.push_back({{"name", t.name}, {"dimensions", std::move(dims)}, {"bytes", bytes_on_rank(t, mesh)}});
    }
    return of;
  };
  j["rank"] = {{"mesh", o.under.mesh},
               {"layout", o.under.layout},
               {"parameters", list(all.laid.parameters)},
               {"cache", list(all.laid.cache)},
               {"rows", all.laid.rows},
               {"positions", all.laid.positions},
               {"parameter_bytes", bytes_on_rank(all.laid.parameters, mesh)},
               {"cache_bytes", bytes_on_rank(all.laid.cache, mesh)}};
  return j;
}

/// Help, or what is found.
std::string run(int argc, char** argv, std::vector<inspector> const& models) {
  inspect_options o;
  CLI::App app{
      "Says what is in a directory of Hugging Face's or a GGUF file, and where its model would lie under a layout. "
      "Nothing is loaded: "
      "of weights only the headers are read."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  app.add_option("--model", o.model, "a directory with config.json, or a GGUF file of llama.cpp's")
      ->check(is_path)
      ->required();
  app.add_option("--mesh", o.under.mesh, "the machine's axes with their ranks, such as \"data:2;model:2\"")
      ->capture_default_str();
  app.add_option("--layout", o.under.layout,
                 "which dimensions are split over which axes, such as \"batch:data;heads:model\"");
  add_number(app, "--rows", o.under.rows, std::int64_t{1}, most, "texts at once, whose keys and values are kept");
  add_number(app, "--positions", o.under.positions, std::int64_t{1}, most, "and so many tokens of each");
  app.get_option("--positions")->default_str("as many as the model has");
  app.add_flag("--json", o.json, "write all of it as JSON");
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return app.help();
  } catch (CLI::ParseError const& e) {
    throw mtf::user_error(std::string(e.what()) + " (see --help)");
  }
  o.tells_layout = app.count("--mesh") + app.count("--layout") > 0;
  auto const all = inspected_in(o, models);
  if (!o.json) return describe(all, o);
  return json_of(all, o).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

int inspect_by(int argc, char** argv, std::vector<inspector> const& models) try {
  mtf::text_output screen("standard output", stdout);
  screen.write(run(argc, argv, models));
  if (!screen.failure().empty()) throw mtf::user_error(screen.failure());
  return 0;
} catch (mtf::user_error const& e) {
  std::fprintf(stderr, "mtf: %s\n", e.what());
  return 2;
}

}  // namespace mtf::tools
