// GGUF: every type's elements are those of gguf's own library, a converted model is the one that it was made of, to the
// bit, and no file that ends early or was changed is read beyond its end.
// links: model_tool
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
#include <mtf/data/load_tokenizer.hpp>

#include "../tools/from_gguf.hpp"
#include "../tools/gguf_file.hpp"

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

TEST_CASE("any range of a tensor is that of the whole, as it is converted") {
  std::mt19937 random(7);
  for (std::string const path :
       {MTF_TEST_DIR "/data/reference/blocks.gguf", MTF_TEST_DIR "/reference/hugging_face/llama.gguf"}) {
    auto const bytes = bytes_in(path);
    gguf_file const file(path, bytes);
    std::vector<mtf::tools::converted_tensor> tensors;
    for (auto const& t : file.tensors()) {
      if (t.size() < 2) continue;
      std::uint64_t const columns = t.extents[0], rows = t.size() / columns;
      tensors.push_back({t.name, {rows, columns}, &t});
      tensors.push_back({t.name, {columns, rows}, &t, true});
      if (rows % 4 == 0) tensors.push_back({t.name, {rows, columns}, &t, false, 2});
    }
    mtf::tools::converted_reader reader(file);
    for (auto const& t : tensors) {
      CAPTURE(t.name);
      auto const whole = mtf::tools::converted_elements(t, file), from = mtf::tools::elements_of(*t.from, path);
      auto const rows = t.shape[0], columns = t.shape[1];
      for (std::uint64_t i = 0; i < rows; ++i)
        for (std::uint64_t j = 0; j < columns; ++j) {
          auto const n = rows / std::max<std::uint64_t>(t.heads, 1);
          auto const there = t.heads == 0 ? i : i / n * n + 2 * (i % n % (n / 2)) + i % n / (n / 2);
          auto const at = t.transposed ? j * rows + i : there * columns + j;
          REQUIRE(std::memcmp(&whole[i * columns + j], &from[at], sizeof(float)) == 0);
        }
      for (int k = 0; k < 40; ++k) {
        auto const begin = random() % whole.size();
        std::vector<float> some(1 + random() % (whole.size() - begin));
        reader.read(t, begin, some);
        REQUIRE(std::memcmp(some.data(), whole.data() + begin, some.size() * sizeof(float)) == 0);
      }
    }
  }
}

std::string unhex(std::string const& hex) {
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 2) text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return text;
}

TEST_CASE("a vocabulary of sentencepiece's gives its ids, and the text back") {
  std::string const folder = MTF_TEST_DIR "/data/reference/";
  auto const all = nlohmann::json::parse(bytes_in(folder + "sentencepiece.json"));
  for (auto const& [name, expected] : all["models"].items()) {
    CAPTURE(name);
    auto const path = folder + name + ".gguf", bytes = bytes_in(path);
    auto const words = mtf::tokenizer_of_text(mtf::tools::tokenizer_of(gguf_file(path, bytes)), path);
    CHECK(words->vocabulary() == 700);
    CHECK(words->end_of_text() == 2U);
    for (std::uint32_t const id : {0U, 1U, 2U}) CHECK(words->is_special(id));
    CHECK(!words->is_special(3));
    bool const space = expected["space"];
    CHECK(words->before_text() == (space ? std::vector<std::uint32_t>{1} : std::vector<std::uint32_t>()));
    for (std::size_t i = 0; i < all["texts"].size(); ++i) {
      auto const text = unhex(all["texts"][i]);
      CAPTURE(text);
      // (Its user's tokens of spaces are no tokens of this letter, which stands for a space there.)
      if (space || text.find("\u2581") == std::string::npos)
        CHECK(words->encode(text) == expected["ids"][i].get<std::vector<std::uint32_t>>());
      bool const has_special = text.find("<s>") != std::string::npos || text.find("</s>") != std::string::npos ||
                               text.find("<unk>") != std::string::npos;
      if (text.find("\u2581") == std::string::npos && !has_special) CHECK(words->decode(words->encode(text)) == text);
    }
    // What is no UTF-8 is its bytes.
    for (std::string const odd : {"a\xff\xc0 b", "\xe2\x82", "\xf0\x9f\x98 x\x80"})
      CHECK(words->decode(words->encode(odd)) == odd);
  }
}

/// A header with these values alone, as GGUF has them.
class gguf_bytes {
 public:
  gguf_bytes& text(std::string const& key, std::string const& value) {
    begin(key, 8);
    put(value);
    return *this;
  }
  gguf_bytes& flag(std::string const& key, bool value) {
    begin(key, 7);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  gguf_bytes& texts(std::string const& key, std::vector<std::string> const& values) {
    list(key, 8, values.size());
    for (auto const& v : values) put(v);
    return *this;
  }
  gguf_bytes& numbers(std::string const& key, std::vector<float> const& values) {
    list(key, 6, values.size());
    for (float const v : values) raw(v);
    return *this;
  }
  [[nodiscard]] std::string whole() const {
    gguf_bytes all;
    all.bytes_ = "GGUF";
    all.raw(std::uint32_t{3});
    all.raw(std::uint64_t{0});
    all.raw(count_);
    return all.bytes_ + bytes_;
  }

 private:
  template <class T>
  void raw(T x) {
    bytes_.append(reinterpret_cast<char const*>(&x), sizeof(x));
  }
  void put(std::string const& text) {
    raw(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void begin(std::string const& key, std::uint32_t kind) {
    put(key);
    raw(kind);
    ++count_;
  }
  void list(std::string const& key, std::uint32_t of, std::size_t size) {
    begin(key, 9);
    raw(of);
    raw(std::uint64_t{size});
  }
  std::string bytes_;
  std::uint64_t count_ = 0;
};

TEST_CASE("random vocabularies: of all pairs that are a token the one of the largest score is merged, then the first") {
  std::mt19937 random(11);
  for (int v = 0; v < 200; ++v) {
    std::vector<std::string> tokens{"<unk>", "a", "b", "c"};
    while (tokens.size() < 20) {
      auto const some = [&] { return tokens[1 + random() % (tokens.size() - 1)]; };
      auto const token = some() + some();
      if (token.size() <= 7 && std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
    }
    std::vector<float> scores(tokens.size()), types(tokens.size(), 1);
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
    if (v % 2 == 0) std::shuffle(scores.begin() + 4, scores.end(), random);
    types[0] = 2;
    auto const bytes = gguf_bytes()
                           .text("tokenizer.ggml.model", "llama")
                           .texts("tokenizer.ggml.tokens", tokens)
                           .numbers("tokenizer.ggml.scores", scores)
                           .numbers("tokenizer.ggml.token_type", types)
                           .flag("tokenizer.ggml.add_space_prefix", false)
                           .flag("tokenizer.ggml.add_bos_token", false)
                           .whole();
    auto const words = mtf::tokenizer_of_text(mtf::tools::tokenizer_of(gguf_file("x", bytes)), "x");
    for (int k = 0; k < 20; ++k) {
      std::string text(1 + random() % 40, ' ');
      for (auto& c : text) c = static_cast<char>('a' + random() % (v % 3 == 0 ? 2 : 3));
      std::vector<std::string> parts;
      for (char const c : text) parts.emplace_back(1, c);
      for (;;) {
        std::size_t best = parts.size();
        float most = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
          auto const at = std::find(tokens.begin() + 1, tokens.end(), parts[i] + parts[i + 1]);
          if (at == tokens.end()) continue;
          float const score = scores[static_cast<std::size_t>(at - tokens.begin())];
          if (best == parts.size() || score > most) best = i, most = score;
        }
        if (best == parts.size()) break;
        parts[best] += parts[best + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      }
      std::vector<std::uint32_t> expected;
      for (auto const& part : parts)
        expected.push_back(static_cast<std::uint32_t>(std::find(tokens.begin(), tokens.end(), part) - tokens.begin()));
      CHECK(words->encode(text) == expected);
    }
  }
}

TEST_CASE("what a tokenizer lacks is said") {
  auto const told = [](gguf_bytes const& of) {
    auto const bytes = of.whole();
    try {
      mtf::tools::tokenizer_of(gguf_file("x.gguf", bytes));
    } catch (mtf::user_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  auto const has = [](std::string const& text, char const* part) { return text.find(part) != std::string::npos; };
  CHECK(has(told(gguf_bytes()), "does not say \"tokenizer.ggml.model\""));
  CHECK(has(told(gguf_bytes().text("tokenizer.ggml.model", "bert")),
            "\"tokenizer.ggml.model\" is bert; read are gpt2, byte-level BPE, and llama"));
  auto const letters = [] {
    return gguf_bytes().text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", {"<unk>", "a"});
  };
  CHECK(has(told(letters()), "does not say \"tokenizer.ggml.scores\""));
  CHECK(has(told(letters().numbers("tokenizer.ggml.scores", {0})), "has 2 tokens, but 1 scores"));
  CHECK(has(told(letters().numbers("tokenizer.ggml.scores", {0, 0}).numbers("tokenizer.ggml.token_type", {2})),
            "has 2 tokens, but 1 of their types"));
  CHECK(has(told(letters().numbers("tokenizer.ggml.scores", {0, 0}).text("tokenizer.ggml.bos_token_id", "x")),
            "\"tokenizer.ggml.bos_token_id\" has a value of another kind"));
  CHECK(has(told(letters().numbers("tokenizer.ggml.scores", {0, NAN})), "a score of a token that is no number"));
  CHECK(told(letters().numbers("tokenizer.ggml.scores", {0, 0})).empty());
}

TEST_CASE("a file that ends early, or of which bytes are others, is refused or read, and no memory beyond it") {
  for (std::string const path :
       {MTF_TEST_DIR "/data/reference/blocks.gguf", MTF_TEST_DIR "/reference/hugging_face/llama.gguf",
        MTF_TEST_DIR "/data/reference/sentencepiece.gguf"}) {
    auto const whole = bytes_in(path);
    auto const read = [&](std::string const& given) {
      // In memory of its own: a sanitizer sees what is beyond.
      std::vector<char> const copy(given.begin(), given.end());
      try {
        gguf_file const file("x", {copy.data(), copy.size()});
        for (auto const& t : file.tensors())
          if (t.size() < 100000) mtf::tools::elements_of(t, "x");
        mtf::tools::converted_tensors(file);
        mtf::tools::tokenizer_of(file);
        mtf::tools::config_of(file);
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
