// Tokenizers give the ids that Hugging Face's library and sentencepiece give (tests/data/reference/make.py), and the
// text back.
// links: tokenizers
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/tokenizers.hpp>

#include "scratch.hpp"

namespace {

std::string const reference = MTF_TEST_DIR "/data/reference/";

struct row {
  std::string text;
  std::vector<std::uint32_t> gpt2, llama3, unigram;
};
std::vector<row> const& rows() {
  static auto const all = [] {
    std::vector<row> found;
    for (auto const& j : nlohmann::json::parse(bytes_of(reference + "texts.json"))) {
      row r{"", j["gpt2"], j["llama3"], j["unigram"]};
      auto const hex = j["text"].get<std::string>();
      for (std::size_t i = 0; i < hex.size(); i += 2)
        r.text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      found.push_back(r);
    }
    return found;
  }();
  return all;
}

TEST_CASE("BPE gives Hugging Face's ids, each time, and the text back") {
  REQUIRE(rows().size() > 150);
  auto const gpt2 = mtf::load_tokenizer(reference + "gpt2.json"), files = mtf::load_tokenizer(reference + "gpt2"),
             llama3 = mtf::load_tokenizer(reference + "llama3.json"), other = gpt2->clone();
  for (int again = 0; again < 2; ++again)  // the second time words are remembered
    for (auto const& r : rows()) {
      CAPTURE(r.text);
      CHECK(gpt2->encode(r.text) == r.gpt2);
      CHECK(files->encode(r.text) == r.gpt2);
      CHECK(other->encode(r.text) == r.gpt2);
      CHECK(llama3->encode(r.text) == r.llama3);
      CHECK(gpt2->decode(r.gpt2) == r.text);
      CHECK(llama3->decode(r.llama3) == r.text);
    }
  CHECK(gpt2->vocabulary() == 700);
  CHECK(gpt2->end_of_text() == 0U);
  CHECK(files->end_of_text() == 0U);
}

TEST_CASE("the trainer finds the vocabulary that Hugging Face's finds, and what it writes is read") {
  auto const expected = nlohmann::json::parse(bytes_of(reference + "trained.json"));
  mtf::bpe_trainer one, other;
  for (std::size_t i = 0; i < rows().size(); ++i) (i % 3 == 0 ? other : one).add(rows()[i].text);
  one.add(other);
  auto const text = one.train(900);
  auto const found = nlohmann::json::parse(text)["model"];
  CHECK(found["vocab"] == expected["vocab"]);
  auto merges = expected["merges"];
  for (auto& m : merges)
    if (m.is_string()) {
      auto const pair = m.get<std::string>();
      m = {pair.substr(0, pair.find(' ')), pair.substr(pair.find(' ') + 1)};
    }
  CHECK(found["merges"] == merges);
  scratch const dir;
  write_bytes(dir.of("tokenizer.json"), text);
  auto const t = mtf::load_tokenizer(dir.path);
  CHECK(t->vocabulary() == 900);
  for (auto const& r : rows()) CHECK(t->decode(t->encode(r.text)) == r.text);
  CHECK(has(error_of([&] { static_cast<void>(one.train(256)); }), "at least 257 are needed"));
}

TEST_CASE("sentencepiece gives its library's ids") {
  auto const unigram = mtf::load_tokenizer(reference + "unigram.model");
  for (auto const& r : rows()) {
    CAPTURE(r.text);
    CHECK(unigram->encode(r.text) == r.unigram);
  }
  CHECK(unigram->vocabulary() == 400);
  CHECK(unigram->end_of_text() == 2U);
  CHECK(unigram->decode(unigram->encode("In the beginning")) == "In the beginning");
}

TEST_CASE("bytes that are no UTF-8 come back, and special tokens may be letters") {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  std::vector<std::string> const odd{all,         "\xff\xfe",       "a\xc3",        "\xe2\x82", "\xf0\x9f\x98",
                                     "\xc0\x80x", "\xed\xa0\x80 y", "ab\x80\x80 cd"};
  for (auto const* name : {"gpt2.json", "llama3.json"}) {
    mtf::bpe_tokenizer t(reference + name), as_text(reference + name, mtf::special_tokens::as_text);
    for (auto const& text : odd) CHECK(t.decode(t.encode(text)) == text);
    CHECK(t.encode("<|endoftext|>") == std::vector<std::uint32_t>{0});
    CHECK(as_text.encode("<|endoftext|>").size() > 5);
    CHECK(as_text.decode(as_text.encode("<|endoftext|>")) == "<|endoftext|>");
  }
  mtf::byte_tokenizer bytes;
  CHECK(bytes.decode(bytes.encode(all)) == all);
}

TEST_CASE("a text that is broken where it may be has the same ids") {
  std::string text;
  for (auto const& r : rows()) text += r.text + "x\n \n";
  for (auto const* name : {"gpt2.json", "llama3.json"}) {
    mtf::bpe_tokenizer t(reference + name);
    auto const whole = t.encode(text);
    for (std::size_t step : {1, 50, 3000}) {
      std::vector<std::uint32_t> parts;
      int breaks = 0;
      for (std::size_t at = 0; at < text.size(); ++breaks) {
        auto const rest = std::string_view(text).substr(at);
        auto const end = t.break_behind(rest, step);
        t.encode(rest.substr(0, end), parts);
        at += end;
      }
      CHECK(breaks > 3);
      CHECK(parts == whole);
    }
  }
}

TEST_CASE("a file that is no such tokenizer is refused, by what is wrong with it") {
  scratch const dir;
  auto const good = nlohmann::json::parse(bytes_of(reference + "gpt2.json"));
  auto const told = [&](auto const& change) {
    auto j = good;
    change(j);
    write_bytes(dir.of("t.json"), j.dump());
    auto const error = error_of([&] { mtf::load_tokenizer(dir.of("t.json")); });
    CHECK((error.empty() || has(error, dir.of("t.json"))));
    return error;
  };
  using json = nlohmann::json;
  CHECK(told([](json&) {}).empty());
  CHECK(has(told([](json& j) { j["model"]["type"] = "Unigram"; }), "of the type BPE was expected"));
  CHECK(has(told([](json& j) { j["normalizer"] = {{"type", "NFC"}}; }), "normalizer"));
  CHECK(has(told([](json& j) { j["model"]["dropout"] = 0.1; }), "dropout"));
  CHECK(has(told([](json& j) { j["model"]["vocab"]["x"] = -1; }), "\"x\" has the id -1"));
  CHECK(has(told([](json& j) { j["model"]["vocab"]["x"] = 4000000000; }), "has the id 4000000000"));
  CHECK(has(told([](json& j) { j["model"]["vocab"]["the"] = 5; }), "two tokens have the id"));
  CHECK(has(told([](json& j) { j["model"]["vocab"].erase("a"); }), "no token for the byte 97"));
  CHECK(has(told([](json& j) { j["model"]["vocab"] = 3; }), "should be an object"));
  CHECK(has(told([](json& j) { j["model"]["merges"][3] = "a b c"; }), "merge 3 should be two tokens"));
  CHECK(has(told([](json& j) { j["model"]["merges"][3] = {"z", "zzz"}; }), "merge 3"));
  CHECK(has(told([](json& j) { j["model"]["merges"] = "x"; }), "should be a list"));
  CHECK(has(told([](json& j) { j["pre_tokenizer"] = {{"type", "Whitespace"}}; }), "pre-tokenizer"));
  CHECK(has(told([](json& j) {
              j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(x"}}}, {"behavior", "Isolated"}};
            }),
            "cannot be compiled"));
  CHECK(has(told([](json& j) { j["added_tokens"][0]["lstrip"] = true; }), "lstrip"));
  CHECK(has(told([](json& j) { j["added_tokens"][0].erase("id"); }), "should have \"content\" and \"id\""));
  CHECK(has(told([](json& j) { j["model"]["ignore_merges"] = "yes"; }), "no tokenizer.json"));
  auto const text = [&](std::string const& bytes) {
    write_bytes(dir.of("t.json"), bytes);
    return error_of([&] { mtf::load_tokenizer(dir.of("t.json")); });
  };
  CHECK(has(text("{\"model\": 1, \"model\": 2}"), "twice"));
  CHECK(has(text("{"), "is not JSON"));
  CHECK(has(text("{}"), "no token for the byte 0"));
  CHECK(has(error_of([&] { mtf::load_tokenizer(dir.path); }), "has no tokenizer.json"));
  CHECK(has(error_of([&] { mtf::load_tokenizer("x.txt"); }), "was expected"));
  write_bytes(dir.of("t.model"), "no model");
  CHECK(has(error_of([&] { mtf::load_tokenizer(dir.of("t.model")); }), "no model of sentencepiece"));
}

}  // namespace
