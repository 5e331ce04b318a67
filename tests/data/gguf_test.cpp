// GGUF: every type's elements are those of gguf's own library, a converted model is the one that it was made of, to the
// bit, and no file that ends early or was changed is read beyond its end.
// links: convert_tool
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

#include "../tools/convert/from_gguf.hpp"
#include "../tools/convert/gguf_file.hpp"

namespace {

using mtf::tools::gguf_file;

std::string bytes_in(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("elements of every type") {
  std::string const path = MTF_TEST_DIR "/data/reference/blocks.gguf";
  auto const bytes = bytes_in(path);
  gguf_file const file(path, bytes);
  int compared = 0;
  for (auto const& t : file.tensors()) {
    auto const* const wide = file.find(t.name + ".f32");
    if (wide == nullptr) continue;
    CAPTURE(t.name);
    auto const ours = mtf::tools::elements_of(t, path), theirs = mtf::tools::elements_of(*wide, path);
    REQUIRE(ours.size() == 1024);
    REQUIRE(theirs.size() == 1024);
    float largest = 0, difference = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, std::abs(theirs[i]));
      difference = std::max(difference, std::abs(ours[i] - theirs[i]));
    }
    CHECK(largest > 0);
    CHECK(difference <= 1e-6F * largest);
    ++compared;
  }
  CHECK(compared == 10);
  CHECK(file.get<std::string>("a.text") == "words");
  CHECK(file.get<std::vector<double>>("a.list") == std::vector<double>{1, 2, 3});
  CHECK_THROWS_WITH_AS(static_cast<void>(file.count("a.text")),
                       doctest::Contains("\"a.text\" has a value of another kind"), mtf::user_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(file.count("b")), doctest::Contains("does not say \"b\""), mtf::user_error);
  CHECK_THROWS_WITH_AS(mtf::tools::converted_tensors(file),
                       doctest::Contains("\"general.architecture\" is none; converted are llama and gpt2"),
                       mtf::user_error);
}

TEST_CASE("a model is that of Hugging Face's directory") {
  std::string const folder = MTF_TEST_DIR "/reference/hugging_face/", path = folder + "llama.gguf";
  auto const bytes = bytes_in(path), theirs = bytes_in(folder + "llama/model.safetensors");
  gguf_file const file(path, bytes);
  std::uint64_t length = 0;
  std::memcpy(&length, theirs.data(), sizeof(length));
  auto const header = nlohmann::json::parse(theirs.substr(8, length));
  auto const tensors = mtf::tools::converted_tensors(file);
  CHECK(tensors.size() + 1 == header.size());  // and its metadata
  for (auto const& t : tensors) {
    CAPTURE(t.name);
    REQUIRE(header.contains(t.name));
    CHECK(header[t.name]["shape"] == t.shape);
    auto const ours = mtf::tools::converted_elements(t, file);
    std::uint64_t const begin = header[t.name]["data_offsets"][0], end = header[t.name]["data_offsets"][1];
    REQUIRE(end - begin == 4 * ours.size());
    CHECK(std::memcmp(theirs.data() + 8 + length + begin, ours.data(), end - begin) == 0);
  }
  auto const ours = nlohmann::json::parse(mtf::tools::config_of(file));
  auto const config = nlohmann::json::parse(bytes_in(folder + "llama/config.json"));
  for (auto const* const key : {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                                "vocab_size", "num_key_value_heads", "head_dim", "max_position_embeddings",
                                "model_type", "rope_parameters", "tie_word_embeddings", "eos_token_id", "hidden_act"})
    CHECK(ours[key] == config[key]);
  CHECK(std::abs(ours["rms_norm_eps"].get<double>() - 1e-5) < 1e-12);
  auto const words = nlohmann::json::parse(mtf::tools::tokenizer_of(file));
  CHECK(words["model"]["vocab"]["AB"] == 59);
  CHECK(words["model"]["merges"] == nlohmann::json::array({nlohmann::json::array({"A", "B"})}));
  CHECK(words["added_tokens"].size() == 1);
  CHECK(words["added_tokens"][0]["content"] == "<|end|>");
}

TEST_CASE("a file that ends early, or of which bytes are others, is refused or read, and no memory beyond it") {
  for (std::string const path :
       {MTF_TEST_DIR "/data/reference/blocks.gguf", MTF_TEST_DIR "/reference/hugging_face/llama.gguf"}) {
    auto const whole = bytes_in(path);
    auto const read = [&](std::string const& given) {
      // In memory of its own: a sanitizer sees what is beyond.
      std::vector<char> const copy(given.begin(), given.end());
      try {
        gguf_file const file("x", {copy.data(), copy.size()});
        for (auto const& t : file.tensors())
          if (t.size() < 100000) mtf::tools::elements_of(t, "x");
        mtf::tools::converted_tensors(file);
        mtf::tools::config_of(file);
        mtf::tools::tokenizer_of(file);
        return true;
      } catch (mtf::user_error const&) {
        return false;
      }
    };
    for (std::size_t n = 0; n < whole.size(); n += n < 4000 ? 7 : 997) CHECK(!read(whole.substr(0, n)));
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
      auto changed = whole;
      for (auto k = 1 + random() % 3; k > 0; --k) changed[random() % 4000] = static_cast<char>(random());
      read(changed);
    }
  }
}

}  // namespace
