// Tokenizers give the ids that Hugging Face's library and sentencepiece give (tests/data/reference: make.py,
// make_patterns.py, make_steps.py), and the text back.
// links: tokenizers
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/tokenizers.hpp>

#include "support/scratch.hpp"

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

TEST_CASE("a byte that the vocabulary lacks has no id, and what is beside it merges, as in Hugging Face's library") {
  scratch const dir;
  auto j = nlohmann::json::parse(bytes_of(reference + "gpt2.json"));
  auto const whole = mtf::load_tokenizer(reference + "gpt2.json");
  auto merges = nlohmann::json::array();
  for (auto const& m : j["model"]["merges"]) {
    auto const text = m.is_string() ? m.get<std::string>() : m[0].get<std::string>() + " " + m[1].get<std::string>();
    if (text.find('q') == std::string::npos) merges.push_back(m);
  }
  j["model"]["merges"] = merges;
  for (auto const* token : {"q", "Q"}) j["model"]["vocab"].erase(token);
  j["model"]["vocab"].erase("Ą");  // the byte 4
  write_bytes(dir.of("t.json"), j.dump());
  auto const lacks = mtf::load_tokenizer(dir.of("t.json"));
  CHECK(lacks->encode("\x04").empty());
  CHECK(lacks->encode("thqe") == whole->encode("the"));
  CHECK(lacks->encode("In the\x04 beginning") == whole->encode("In the beginning"));
  CHECK(lacks->decode(lacks->encode("a\x04 b")) == "a b");
}

TEST_CASE("a template says what stands before every text") {
  scratch const dir;
  auto j = nlohmann::json::parse(bytes_of(reference + "gpt2.json"));
  auto const before = [&](char const* processor) {
    j["post_processor"] = nlohmann::json::parse(processor);
    write_bytes(dir.of("t.json"), j.dump());
    auto const t = mtf::load_tokenizer(dir.of("t.json"));
    CHECK(t->clone()->before_text() == t->before_text());
    CHECK(t->encode("In the") == mtf::load_tokenizer(reference + "gpt2.json")->encode("In the"));
    return t->before_text();
  };
  using ids = std::vector<std::uint32_t>;
  CHECK(before("null").empty());
  CHECK(before(R"({"type": "ByteLevel"})").empty());
  CHECK(before(R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<s>"}}],
                   "special_tokens": {"<s>": {"ids": [1]}}})")
            .empty());
  CHECK(before(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
                   "single": [{"SpecialToken": {"id": "<s>"}}, {"SpecialToken": {"id": "<t>"}}, {"Sequence": {"id": "A"}}],
                   "special_tokens": {"<s>": {"ids": [1]}, "<t>": {"ids": [2, 3]}}}]})") == ids{1, 2, 3});
  CHECK(has(error_of([&] {
              before(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}],
                         "special_tokens": {"<s>": {"ids": ["x"]}}})");
            }),
            "no tokenizer.json"));
  CHECK(mtf::byte_tokenizer().before_text().empty());
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

std::string unhex(std::string const& hex) {
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 2) text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return text;
}
std::string utf8(std::uint32_t c) {
  auto const part = [&](unsigned shift) { return static_cast<char>(0x80U | ((c >> shift) & 0x3fU)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xc0U | (c >> 6U)), part(0)};
  if (c < 0x10000) return {static_cast<char>(0xe0U | (c >> 12U)), part(6), part(0)};
  return {static_cast<char>(0xf0U | (c >> 18U)), part(12), part(6), part(0)};
}

TEST_CASE("patterns mean what they mean to Hugging Face's library: those of models, and each construct") {
  auto const all = nlohmann::json::parse(bytes_of(reference + "patterns.json"));
  mtf::detail::word_matcher matcher;
  for (auto const& p : all["patterns"]) {
    std::string const name = p["name"];
    CAPTURE(name);
    mtf::detail::word_pattern const pattern(p["pattern"].get<std::string>(), name);
    for (std::size_t i = 0; i < all["texts"].size(); ++i) {
      auto const text = unhex(all["texts"][i]);
      CAPTURE(text);
      std::vector<std::size_t> words;
      matcher.for_each_word(pattern, text, [&](std::string_view word) { words.push_back(word.size()); });
      CHECK(words == p["words"][i].get<std::vector<std::size_t>>());
    }
  }
}

TEST_CASE("classes have the code points that they have for Hugging Face's library") {
  auto const all = nlohmann::json::parse(bytes_of(reference + "patterns.json"));
  mtf::detail::word_matcher matcher;
  for (auto const& set : all["sets"]) {
    std::string const name = set["pattern"];
    CAPTURE(name);
    mtf::detail::word_pattern const pattern(name, "the set"), any("(?m:.)", "any");
    std::vector<std::uint32_t> wrong;
    auto const& has_points = set["points"];
    std::size_t at = 0;
    for (auto const& range : all["assigned"])
      for (auto c = range[0].get<std::uint32_t>(); c <= range[1].get<std::uint32_t>(); ++c) {
        while (at < has_points.size() && has_points[at][1].get<std::uint32_t>() < c) ++at;
        bool const wanted = at < has_points.size() && has_points[at][0].get<std::uint32_t>() <= c;
        // Behind a character that no set here has alone: a match is a word of its own.
        auto const one = utf8(c);
        int words = 0;
        matcher.for_each_word(pattern, one + one, [&](std::string_view) { ++words; });
        if ((words == 2) != wanted) wrong.push_back(c);
      }
    CHECK_MESSAGE(wrong.empty(), wrong.size() << " code points, from " << (wrong.empty() ? 0 : wrong.front()));
  }
}

TEST_CASE("ids are those of Hugging Face's library behind each step of a tokenizer.json") {
  auto const all = nlohmann::json::parse(bytes_of(reference + "steps.json"));
  auto const gpt2 = nlohmann::json::parse(bytes_of(reference + "gpt2.json"));
  REQUIRE(all["cases"].size() == 48);
  scratch const dir;
  for (auto const& c : all["cases"]) {
    std::string const name = c["name"], base = c["base"];
    CAPTURE(name);
    auto j = base == "gpt2" ? gpt2 : all[base];
    j.merge_patch(c["change"]);
    write_bytes(dir.of("t.json"), j.dump());
    auto const t = mtf::load_tokenizer(dir.of("t.json")), other = t->clone();
    for (std::size_t i = 0; i < all["texts"].size(); ++i) {
      auto const text = unhex(all["texts"][i]);
      CAPTURE(text);
      auto const wanted = c["ids"][i].get<std::vector<std::uint32_t>>();
      CHECK(t->encode(text) == wanted);
      CHECK(other->encode(text) == wanted);
    }
  }
}

TEST_CASE("nothing is left of a token whose white space is that of the token before it, as in Hugging Face's library") {
  scratch const dir;
  auto j = nlohmann::json::parse(bytes_of(reference + "gpt2.json"));
  j["added_tokens"] = {{{"id", 700}, {"content", "<r>"}, {"rstrip", true}},
                       {{"id", 701}, {"content", "  "}, {"lstrip", true}}};
  write_bytes(dir.of("t.json"), j.dump());
  auto const t = mtf::load_tokenizer(dir.of("t.json"));
  using ids = std::vector<std::uint32_t>;
  CHECK(t->encode("<r>  a") == ids{700, 65});
  CHECK(t->encode("x  <r>  ") == ids{88, 701, 700});
  CHECK(t->encode("    ") == ids{701, 701});
}

TEST_CASE("letters without tokens come back by their bytes, and spaces by what stands for them") {
  auto const all = nlohmann::json::parse(bytes_of(reference + "steps.json"));
  scratch const dir;
  for (auto const& c : all["cases"]) {
    std::string const name = c["name"];
    if (name != "llama 2" && name != "gemma" && name != "unigram, whole texts") continue;
    if (c["change"]["added_tokens"].size() > 1) continue;  // they take white space
    CAPTURE(name);
    auto j = all[c["base"].get<std::string>()];
    j.merge_patch(c["change"]);
    write_bytes(dir.of("t.json"), j.dump());
    auto const t = mtf::load_tokenizer(dir.of("t.json"));
    for (std::string const text :
         {"", "a b  c", " a", "  a ", "\xf0\x9f\x98\x80\xe6\xbc\xa2 \r\n", "a\xff\xc0 b\xe2\x82", "word"})
      CHECK(t->decode(t->encode(text)) == text);
    CHECK(error_of([&] { static_cast<void>(t->decode(std::vector<std::uint32_t>{100000})); }).starts_with("decode: "));
  }
}

TEST_CASE("what a pattern may not have is refused by name") {
  auto const said = [](char const* pattern) {
    return error_of([&] { mtf::detail::word_pattern const p(pattern, "t.json"); });
  };
  for (auto const& [pattern, construct] :
       std::vector<std::pair<char const*, char const*>>{{R"(\X)", R"(\X)"},
                                                        {R"(a\Kb)", R"(\K)"},
                                                        {R"((a)\1)", R"(\1)"},
                                                        {R"(\xc3\xa9)", R"(\xc3, a byte of a letter)"},
                                                        {"[[:graph:]]", "[:graph:]"},
                                                        {"[[:^print:]]", "[:print:]"},
                                                        {"[a&&]", "a side of && that is empty"},
                                                        {"[&&a]", "a side of && that is empty"},
                                                        {"[a-[b]]", "a - before a [ in a set"},
                                                        {R"([\s-x])", "a - behind a class in a set"},
                                                        {"(?i:ss)", "(?i) about a letter that may be several"},
                                                        {"(?i)a|s(?:t)", "(?i) about a letter that may be several"},
                                                        {"(?i:\u00df)", "(?i) about a letter that may be several"},
                                                        {R"((?i:[\x{df}]))", "(?i) about a letter that may be several"},
                                                        {R"((?i:[\p{Lu}]))", R"((?i) about \p in a set)"},
                                                        {R"((?i:[\w]))", R"((?i) about \w in a set)"},
                                                        {"(?i:[[:upper:]])", "(?i) about [:upper:] in a set"},
                                                        {"(?i:[^[a]])", "(?i) about a set in a set"},
                                                        {"(?i:[a-z&&a])", "(?i) about && in a set"},
                                                        {"(?i:[\u00e0-\u00f6])", "(?i) about a range beyond ASCII"},
                                                        {"(?x: a)", "the group (?x...)"},
                                                        {"(*FAIL)", "(*"},
                                                        {R"(a$\O*)", "a repetition of any character"},
                                                        {"(?m)(?=a).+", "a repetition of any character"},
                                                        {"(?m:.{1,})", "a repetition of any character"},
                                                        {R"((?>\W+?)x)", "a reluctant repetition in (?>...)"},
                                                        {"(?>a|(b{1,2}?))x", "a reluctant repetition in (?>...)"},
                                                        {"(?s:a)", "the group (?s...)"},
                                                        {R"(\pL)", R"(\p without braces)"},
                                                        {R"([\R])", R"(\R)"},
                                                        {R"(\Qa\E)", R"(\Q)"},
                                                        {"(?~a)", "the group (?~...)"},
                                                        {"[a", "a [ without its ]"},
                                                        {R"(\)", R"(a \ at its end)"}})
    CHECK_MESSAGE(has(said(pattern), std::string("t.json: the pattern has ") + construct),
                  pattern << ": " << said(pattern));
  for (auto const* pattern : {"(x", "a)", "[b-a]", R"(\p{Nothing})"}) CHECK(has(said(pattern), "cannot be compiled"));
}

TEST_CASE("a text that is broken where it may be has the same ids") {
  auto const breaks_of = [](mtf::tokenizer& t, std::string const& text) {
    auto const whole = t.encode(text);
    int fewest = 1 << 30;
    for (auto const step : {std::size_t{1}, std::size_t{50}, std::size_t{3000}}) {
      std::vector<std::uint32_t> parts;
      int breaks = 0;
      for (std::size_t at = 0; at < text.size(); ++breaks) {
        auto const rest = std::string_view(text).substr(at);
        auto const end = t.break_behind(rest, step);
        t.encode(rest.substr(0, end), parts);
        at += end;
      }
      CHECK(parts == whole);
      fewest = std::min(fewest, breaks);
    }
    return fewest;
  };
  std::string text;
  for (auto const& r : rows()) text += r.text + "x\n \n";
  for (auto const* name : {"gpt2.json", "llama3.json"}) {
    mtf::bpe_tokenizer t(reference + name);
    CHECK(breaks_of(t, text) > 3);
  }
  // Behind the steps of other files; a token's white space behind a letter is the end of its line too.
  auto const all = nlohmann::json::parse(bytes_of(reference + "steps.json"));
  auto const gpt2 = nlohmann::json::parse(bytes_of(reference + "gpt2.json"));
  text.clear();
  for (int again = 0; again < 20; ++again)
    for (auto const& t : all["texts"]) text += unhex(t) + "word\nword \n\n<mask>end\n end\n";
  scratch const dir;
  for (auto const& c : all["cases"]) {
    auto j = c["base"] == "gpt2" ? gpt2 : all[c["base"].get<std::string>()];
    j.merge_patch(c["change"]);
    std::string const name = c["name"];
    CAPTURE(name);
    write_bytes(dir.of("t.json"), j.dump());
    auto const t = mtf::load_tokenizer(dir.of("t.json"));
    CHECK(breaks_of(*t, text) >= (name == "smollm 2" ? 4 : 1));
    j["added_tokens"].push_back({{"id", t->vocabulary()}, {"content", "end"}, {"rstrip", true}});
    write_bytes(dir.of("t.json"), j.dump());
    static_cast<void>(breaks_of(*mtf::load_tokenizer(dir.of("t.json")), text));
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
  CHECK(has(told([](json& j) { j["model"]["type"] = "WordPiece"; }), "of the type BPE or Unigram was expected"));
  CHECK(has(told([](json& j) { j["model"]["type"] = "Unigram"; }), "ByteLevel is not read before"));
  CHECK(has(told([](json& j) { j["normalizer"] = {{"type", "NFC"}}; }), "normalizer"));
  CHECK(has(told([](json& j) { j["model"]["dropout"] = 0.1; }), "dropout"));
  CHECK(has(told([](json& j) { j["model"]["vocab"]["x"] = -1; }), "\"x\" has the id -1"));
  CHECK(has(told([](json& j) { j["model"]["vocab"]["x"] = 4000000000; }), "has the id 4000000000"));
  CHECK(has(told([](json& j) { j["model"]["vocab"]["the"] = 5; }), "two tokens have the id"));
  CHECK(has(told([](json& j) {
              json few = json::object();
              for (char c = 'a'; c <= 'z'; ++c) few[std::string(1, c)] = c;
              j["model"]["vocab"] = few;
            }),
            "has tokens for 26 bytes of 256"));
  CHECK(has(told([](json& j) { j["model"]["vocab"] = 3; }), "should be an object"));
  CHECK(has(told([](json& j) { j["model"]["merges"][3] = "a b c"; }), "merge 3 should be two tokens"));
  CHECK(has(told([](json& j) { j["model"]["merges"][3] = {"z", "zzz"}; }), "merge 3"));
  CHECK(has(told([](json& j) { j["model"]["merges"] = "x"; }), "should be a list"));
  CHECK(has(told([](json& j) { j["pre_tokenizer"] = {{"type", "Whitespace"}}; }), "pre-tokenizer"));
  CHECK(has(told([](json& j) {
              j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(x"}}}, {"behavior", "Isolated"}};
            }),
            "cannot be compiled"));
  CHECK(has(told([](json& j) {
              j["pre_tokenizer"] = {{"type", "Sequence"},
                                    {"pretokenizers", {j["pre_tokenizer"], {{"type", "Digits"}}}}};
            }),
            "Digits behind ByteLevel"));
  CHECK(has(told([](json& j) { j["model"]["unk_token"] = "<none>"; }), "has no token \"<none>\""));
  CHECK(has(told([](json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }), "end_of_word_suffix"));
  CHECK(has(told([](json& j) { j["added_tokens"][0]["content"] = ""; }), "an added token is empty"));
  CHECK(has(told([](json& j) { j["added_tokens"][0].erase("id"); }), "should have \"content\" and \"id\""));
  // Hugging Face's library numbers added tokens itself: 700 is the vocabulary's size.
  auto const added = [&](std::vector<std::pair<unsigned, char const*>> const& tokens) {
    return told([&](json& j) {
      for (auto const& [id, content] : tokens) j["added_tokens"].push_back({{"id", id}, {"content", content}});
    });
  };
  CHECK(added({{700, "<x>"}, {701, "<y>"}, {702, "<z>"}}).empty());
  CHECK(added({{good["model"]["vocab"]["And"], "And"}, {700, "<x>"}}).empty());
  CHECK(
      has(added({{705, "<x>"}}), "the added token \"<x>\" has the id 705, where Hugging Face's library gives it 700"));
  CHECK(has(added({{701, "<y>"}, {700, "<x>"}}), "\"<y>\" has the id 701, where"));
  CHECK(has(added({{5, "<x>"}}), "\"<x>\" has the id 5, where"));
  CHECK(has(added({{700, "<x>"}, {700, "<y>"}}), "\"<y>\" has the id 700, where Hugging Face's library gives it 701"));
  CHECK(has(added({{700, "And"}}), "\"And\" has the id 700, where"));
  CHECK(has(added({{700, "\u00e9"}}), "has the id 700, where"));  // the vocabulary's letter of a byte
  CHECK(has(added({{700, "<x>"}, {700, "<x>"}}), "the added token \"<x>\" is there twice"));
  CHECK(has(told([](json& j) { j["model"]["ignore_merges"] = "yes"; }), "no tokenizer.json"));
  auto const text = [&](std::string const& bytes) {
    write_bytes(dir.of("t.json"), bytes);
    return error_of([&] { mtf::load_tokenizer(dir.of("t.json")); });
  };
  CHECK(has(text("{\"model\": 1, \"model\": 2}"), "twice"));
  CHECK(has(text("{"), "is not JSON"));
  CHECK(has(text("{}"), "has tokens for 0 bytes of 256"));
  CHECK(has(error_of([&] { mtf::load_tokenizer(dir.path); }), "has no tokenizer.json"));
  CHECK(has(error_of([&] { mtf::load_tokenizer("x.txt"); }), "was expected"));
  auto const unigram = [&](auto const& change) {
    json j = {{"model",
               {{"type", "Unigram"},
                {"unk_id", 0},
                {"vocab", json::array({json::array({"<unk>", 0.0}), json::array({"a", -1.5})})}}}};
    change(j);
    return text(j.dump());
  };
  CHECK(unigram([](json&) {}).empty());
  CHECK(has(unigram([](json& j) { j["normalizer"] = {{"type", "Precompiled"}}; }), "Precompiled"));
  CHECK(has(unigram([](json& j) { j["model"]["unk_id"] = 2; }), "\"unk_id\" should be one of the vocabulary"));
  CHECK(has(unigram([](json& j) { j["model"]["vocab"][1] = json::array({"a", "b"}); }),
            "token 1 should be a text and its score"));
  CHECK(has(unigram([](json& j) { j["model"]["vocab"] = json::object(); }), "should be a list of tokens with their"));
  CHECK(has(unigram([](json& j) { j["pre_tokenizer"] = {{"type", "ByteLevel"}}; }), "ByteLevel is not read before"));
  CHECK(unigram([](json& j) { j["model"].erase("unk_id"); }).empty());
  CHECK(has(error_of([&] { static_cast<void>(mtf::load_tokenizer(dir.of("t.json"))->encode("ab")); }),
            "has no unknown token"));
  write_bytes(dir.of("t.model"), "no model");
  CHECK(has(error_of([&] { mtf::load_tokenizer(dir.of("t.model")); }), "no model of sentencepiece"));
}

}  // namespace
