// What `generate` does besides the model's work: tokens drawn as transformers draws them, text that comes in whole
// letters and ends before a stop string, chat templates, what a directory says of its model.
// links: generate_tool
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/data/tokenizer.hpp>

#include "../tools/chat.hpp"
#include "../tools/generation_file.hpp"
#include "../tools/writing/sampling.hpp"
#include "../tools/writing/text_stream.hpp"

namespace {

using mtf::tools::sampler, mtf::tools::sampling, mtf::tools::text_stream;

nlohmann::json reference() {
  std::ifstream in(MTF_TEST_DIR "/data/reference/generation.json");
  return nlohmann::json::parse(in);
}

std::int32_t drawn(sampling const& how, std::vector<float> logits, double uniform,
                   std::vector<std::int32_t> const& prompt = {}, std::vector<std::int32_t> const& answer = {}) {
  return sampler()(how, logits, prompt, answer, uniform);
}

TEST_CASE("tokens are drawn with the probabilities of transformers") {
  constexpr int draws = 20000;
  for (auto const& c : reference()["sampling"]) {
    CAPTURE(c.dump());
    auto const& o = c["options"];
    sampling const how{.repetition_penalty = o.value("repetition_penalty", 1.0),
                       .temperature = o.value("temperature", 1.0),
                       .min_p = o.value("min_p", 0.0),
                       .top_k = o.value("top_k", 0),
                       .top_p = o.value("top_p", 1.0)};
    auto const logits = c["logits"].get<std::vector<float>>();
    auto const prompt = c["prompt"].get<std::vector<std::int32_t>>();
    std::vector<double> share(logits.size());
    sampler draw;
    for (int i = 0; i < draws; ++i) {
      auto z = logits;
      share[static_cast<std::size_t>(draw(how, z, prompt, {}, (i + 0.5) / draws))] += 1.0 / draws;
    }
    for (std::size_t v = 0; v < share.size(); ++v) {
      double const theirs = c["probabilities"][v];
      CHECK(std::abs(share[v] - theirs) <= 2.0 / draws);
      CHECK((share[v] > 0) == (theirs > 1.0 / draws || share[v] > 0));
    }
  }
}

TEST_CASE("the largest is taken at temperature 0, the first of equal ones; what cannot be drawn is not") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  sampling const greedy{.temperature = 0};
  CHECK(drawn(greedy, {1, 3, 3, 2}, 0.9) == 1);
  CHECK(drawn(greedy, {nan, -2, nan, -3}, 0) == 1);
  CHECK(drawn(greedy, {-infinite, -infinite, -5}, 0) == 2);
  CHECK(drawn({}, {0, infinite, 0}, 0.99) == 1);
  CHECK(drawn({}, {nan, 0, -infinite}, 0.999999) == 1);
  CHECK(drawn({}, {nan, 0, -infinite}, 0) == 1);
  CHECK(drawn({.top_k = 2}, {nan, 0, nan, -infinite, -1}, 0.999999) == 4);
  CHECK(drawn({.top_p = 0.99}, {nan, 0, nan, -infinite, -1}, 0.999999) == 4);
  CHECK(drawn({.temperature = 1e-3}, {0, 1, 0.5}, 0.999) == 1);
  for (auto const& none : {std::vector<float>{nan, nan}, {-infinite, nan}, {}})
    CHECK_THROWS_WITH_AS(
        drawn(greedy, none, 0),
        "no token can be drawn: all logits are NaN or -infinity; the model's weights may not be finite",
        mtf::user_error);
}

TEST_CASE("penalties: of repetition for prompt and answer, each token once; the others count the answer alone") {
  sampling const once{.repetition_penalty = 2, .temperature = 0};
  CHECK(drawn(once, {4, 3}, 0, {0}) == 1);
  CHECK(drawn(once, {4, 3}, 0, {}, {0}) == 1);
  CHECK(drawn(once, {8, 3}, 0, {0, 0, 0}, {0, 0}) == 0);  // 4: not divided five times
  CHECK(drawn(once, {-4, -6}, 0, {0}) == 1);
  sampling const counted{.frequency_penalty = 1, .temperature = 0};
  CHECK(drawn(counted, {4, 3}, 0, {0, 0, 0}) == 0);
  CHECK(drawn(counted, {4, 2.5F}, 0, {}, {0}) == 0);
  CHECK(drawn(counted, {4, 2.5F}, 0, {}, {0, 1, 0}) == 0);
  CHECK(drawn(counted, {4, 2.5F}, 0, {}, {0, 0}) == 1);
  sampling const there{.presence_penalty = 1, .temperature = 0};
  CHECK(drawn(there, {4, 2.5F}, 0, {}, {0, 0, 0}) == 0);
  CHECK(drawn(there, {4, 3.5F}, 0, {}, {0}) == 1);
}

/// A token is a piece of a text; the last one is special.
class pieces final : public mtf::tokenizer {
 public:
  explicit pieces(std::vector<std::string> all, bool drops_space = false)
      : all_(std::move(all)), drops_space_(drops_space) {}
  void encode(std::string_view, std::vector<std::uint32_t>&) override {}
  [[nodiscard]] std::string decode(std::span<std::uint32_t const> ids) const override {
    std::string text;
    for (auto const id : ids) text += all_[id];
    if (drops_space_ && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }
  [[nodiscard]] std::uint32_t vocabulary() const override { return static_cast<std::uint32_t>(all_.size()); }
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view) const override { return {}; }
  [[nodiscard]] bool is_special(std::uint32_t id) const override { return id + 1 == all_.size(); }
  [[nodiscard]] std::unique_ptr<mtf::tokenizer> clone() const override { return std::make_unique<pieces>(all_); }
  [[nodiscard]] std::size_t break_behind(std::string_view text, std::size_t) const override { return text.size(); }

 private:
  std::vector<std::string> all_;
  bool drops_space_;
};

TEST_CASE("a stream gives whole letters, and holds back what may begin a stop string") {
  pieces const words({"\xF0\x9F", "\x98", "\x80", "st", "opera", "o", "p", " ", "\xC3", "<end>"});
  std::vector<std::string> came;
  auto const all = [&](std::vector<std::int32_t> const& ids, std::vector<std::string> const& stops) {
    text_stream stream(words, {}, stops);
    came.clear();
    for (auto const id : ids) came.push_back(stream.add(id));
    came.push_back(stream.finish());
    return stream.stopped_by();
  };
  using texts = std::vector<std::string>;
  CHECK(!all({0, 1, 2}, {}));
  CHECK(came == texts{"", "", "\xF0\x9F\x98\x80", ""});  // an emoji in three tokens
  CHECK(all({7, 3, 4}, {"stop"}) == "stop");             // that ends within a token
  CHECK(came == texts{" ", "", "", ""});
  CHECK(!all({3, 5, 7}, {"stop"}));
  CHECK(came == texts{"", "", "sto ", ""});
  CHECK(!all({3, 5}, {"stop"}));
  CHECK(came == texts{"", "", "sto"});                 // flushed at the end
  CHECK(all({3, 5, 6, 5}, {"op", "stop"}) == "stop");  // the one that begins first
  CHECK(!all({3, 9, 5}, {"<end>"}));
  CHECK(came == texts{"st", "", "o", ""});  // special tokens are no text
  CHECK(!all({8, 3}, {}));
  CHECK(came == texts{"", "\xEF\xBF\xBDst", ""});
  CHECK(!all({0, 1}, {}));
  CHECK(came == texts{"", "", "\xEF\xBF\xBD"});  // no letter, and no more to come
}

TEST_CASE("a text's first space is its own, that of an answer stays") {
  pieces const words({" a", " b", "<end>"}, true);
  text_stream alone(words, {}, {});
  CHECK(alone.add(0) == "a");
  CHECK(alone.add(1) == " b");
  text_stream behind(words, {1}, {});
  CHECK(behind.add(0) == " a");
  CHECK(behind.add(1) == " b");
  text_stream far(words, std::vector<std::int32_t>(100, 1), {});
  CHECK(far.add(0) == " a");
}

TEST_CASE("whatever bytes come, in whatever pieces: the stream is the whole text's letters, up to the first stop") {
  mtf::byte_tokenizer const bytes;
  std::mt19937 random(3);
  std::vector<std::string> const letters{"a",        "b",    "ab",  "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                         "\xE2\x82", "\xFF", "\x80"};
  std::vector<std::vector<std::string>> const stops{{},
                                                    {"ab"},
                                                    {"aab", "ba"},
                                                    {"\xC3\xA9"
                                                     "a"},
                                                    {"bbbb", "\xE2\x82\xAC"}};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (auto n = random() % 12; n > 0; --n) text += letters[random() % letters.size()];
    auto const& ends = stops[random() % stops.size()];
    text_stream stream(bytes, {}, ends);
    std::string given;
    for (char const c : text) given += stream.add(static_cast<unsigned char>(c));
    given += stream.finish();
    auto whole = mtf::tools::with_letters_alone(text);
    auto first = std::string::npos;
    for (auto const& end : ends) first = std::min(first, whole.find(end));
    CHECK(given == whole.substr(0, first));
    CHECK(stream.stopped_by().has_value() == (first != std::string::npos));
  }
}

TEST_CASE("chat templates write what jinja makes of them") {
  for (auto const& c : reference()["chats"]) {
    std::vector<mtf::tools::message> messages;
    for (auto const& m : c["messages"]) messages.push_back({m["role"], m["content"]});
    CHECK(mtf::tools::chat_text_by({c["template"], "x"}, messages, "<|begin_of_text|>") ==
          c["text"].get<std::string>());
  }
  CHECK_THROWS_WITH_AS(mtf::tools::chat_text_by({"[INST]", "d/chat_template.jinja"}, {{"user", "?"}}, ""),
                       doctest::Contains("d/chat_template.jinja is none of the templates that are known"),
                       mtf::user_error);
}

TEST_CASE("a directory's ends of a text are those of both its files; what is not done is refused by name") {
  std::string const dir = "generation_test.files";
  std::filesystem::create_directories(dir);
  auto const write = [&](char const* name, std::string const& text) { std::ofstream(dir + "/" + name) << text; };
  auto const read = [&](bool defaults = true) {
    return mtf::tools::generation_file_of(mtf::tools::model_source(dir), defaults);
  };
  write("config.json", R"({"eos_token_id": 7, "bos_token_id": 1})");
  std::filesystem::remove(dir + "/generation_config.json");
  CHECK(read().ends == std::vector<std::int32_t>{7});
  write("generation_config.json", R"({"eos_token_id": [8, 7, 9], "do_sample": true, "temperature": 0.6, "top_k": null,
                                      "num_beams": 1, "pad_token_id": 0, "transformers_version": "5"})");
  auto const found = read();
  CHECK(found.ends == std::vector<std::int32_t>{7, 8, 9});
  CHECK(found.first == 1);
  CHECK(found.samples);
  CHECK(found.numbers == std::map<std::string, double>{{"temperature", 0.6}, {"top_k", 50}});
  for (auto const* const key : {"num_beams", "no_repeat_ngram_size", "penalty_alpha", "suppress_tokens"}) {
    write("generation_config.json", std::string("{\"") + key + "\": 4}");
    CHECK_THROWS_WITH_AS(read(),
                         doctest::Contains((std::string("\"") + key + "\" is 4, which is not done here").c_str()),
                         mtf::user_error);
    CHECK_NOTHROW(read(false));
  }
  for (auto const* const wrong :
       {R"({"eos_token_id": "x"})", R"({"eos_token_id": [1, -2]})", R"({"temperature": "hot"})", "[]", "{"}) {
    write("generation_config.json", wrong);
    CHECK_THROWS_AS(read(), mtf::user_error);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
