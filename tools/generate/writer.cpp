#include "writer.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/data/tokenizer.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/train/text_output.hpp>

#include "../chat.hpp"
#include "../model_source.hpp"
#include "../text_of.hpp"
#include "../writing/completion.hpp"
#include "../writing/engine.hpp"

namespace mtf::tools {
namespace {

/// A prompt and what is written on from it.
struct row {
  std::shared_ptr<completion> of;
  std::string text;
  std::string_view ended_by;
};

std::string text_of_ids(std::vector<std::int32_t> const& ids) {
  std::string text;
  for (auto const id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

class writer {
 public:
  writer(generate_options const& o, model_on_ranks const& model)
      : o_(&o), model_(&model), out_("standard output", model.speaks ? stdout : nullptr) {
    if (o.tokens.empty()) {
      words_ = o.on.model->tokenizer(o.on.tokenizer);
      prompts_ = o.prompts;
      if (o.question.empty())
        before_ = ids_before(*words_);
      else
        prompts_ = {asked()};
    }
    rows_.resize(std::max(prompts_.size(), o.tokens.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].of = completion_of(i);
  }

  void operator()() {
    auto const began = std::chrono::steady_clock::now();
    engine of(*model_, {.rows = std::min(o_->rows, std::ssize(rows_)), .chunk = o_->chunk});
    if (!model_->speaks) {
      of.follow();
      return;
    }
    for (auto& r : rows_) {
      r.of->tell = [this, &r](piece const& p) {
        if (p.ended_by == "error") throw mtf::user_error(p.text);
        say(r, p.text);
        r.ended_by = p.ended_by;
      };
      of.add(r.of);
    }
    if (o_->echo)
      for (std::size_t i = 0; i < prompts_.size(); ++i) say(rows_[i], prompts_[i]);
    while (of.step()) {
    }
    of.end();
    if (o_->several || !words_) {
      for (std::size_t i = 0; i < rows_.size(); ++i) out_.write(line_of(i));
    } else {
      out_.write("\n");
    }
    if (!out_.failure().empty()) throw mtf::user_error(out_.failure());
    if (!o_->quiet) tell(of.counts(), std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }

 private:
  /// The question as the model knows it. (Its template writes the tokens that begin a text.)
  [[nodiscard]] std::string asked() const {
    std::vector<message> messages;
    if (!o_->system.empty()) messages.push_back({"system", o_->system});
    messages.push_back({"user", o_->question});
    std::string begin;
    if (o_->first) begin = words_->decode(std::vector{static_cast<std::uint32_t>(*o_->first)});
    return chat_text(*o_->on.model, messages, begin);
  }

  [[nodiscard]] std::shared_ptr<completion> completion_of(std::size_t i) const {
    auto one = std::make_shared<completion>();
    one->how = o_->how;
    one->key = mtf::random_key(o_->seed);
    one->most = o_->most;
    one->ends = o_->ends;
    auto& prompt = one->prompt;
    if (words_) {
      auto const ids = words_->encode(prompts_[i]);
      prompt = before_;
      prompt.insert(prompt.end(), ids.begin(), ids.end());
      if (prompt.empty() && o_->first) prompt = {*o_->first};
      one->stream.emplace(*words_, prompt, o_->stops);
    } else {
      prompt = o_->tokens[i];
    }
    auto const name = rows_.size() == 1 && !o_->several ? "the prompt" : "prompt " + std::to_string(i + 1);
    if (prompt.empty()) throw mtf::user_error(name + " has no tokens, and the model none to begin with");
    for (auto const id : prompt)
      if (id >= model_->vocabulary)
        throw mtf::user_error(name + " has the token " + std::to_string(id) + ", but the model's vocabulary has " +
                              std::to_string(model_->vocabulary) + ": is the tokenizer this model's?");
    if (std::cmp_greater_equal(prompt.size(), model_->positions))
      throw mtf::user_error(name + " has " + std::to_string(prompt.size()) + " tokens; the model has " +
                            std::to_string(model_->positions) + " positions, and needs one for what follows");
    return one;
  }

  void say(row& r, std::string const& text) {
    if (o_->several)
      r.text += text;
    else if (!text.empty())
      out_.write(text);
  }

  [[nodiscard]] std::string line_of(std::size_t i) const {
    auto const& r = rows_[i];
    if (!words_) return text_of_ids(r.of->answer) + "\n";
    nlohmann::ordered_json line;
    line["prompt"] = prompts_[i];
    line["text"] = r.text;
    line["finish_reason"] = r.ended_by;
    line["tokens"] = r.of->answer.size();
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  static void tell(engine_counts const& did, double seconds) {
    auto const rate = [](std::int64_t n, double of) { return static_cast<double>(n) / std::max(of, 1e-9); };
    std::fprintf(
        stderr, "mtf: %s\n",
        mtf::tools::text_of("read %lld tokens in %.3f s (%.0f a second), wrote %lld in %.3f s (%.1f a second); "
                            "%.3f s in all",
                            static_cast<long long>(did.tokens_read), did.seconds_reading,
                            rate(did.tokens_read, did.seconds_reading), static_cast<long long>(did.tokens_drawn),
                            did.seconds_writing, rate(did.tokens_drawn, did.seconds_writing), seconds)
            .c_str());
  }

  generate_options const* o_;
  model_on_ranks const* model_;
  std::unique_ptr<mtf::tokenizer> words_;
  std::vector<std::string> prompts_;
  std::vector<std::int32_t> before_;  // the tokens that begin every text
  mtf::text_output out_;
  std::vector<row> rows_;
};

}  // namespace

void write_on(generate_options const& o, model_on_ranks const& model) { writer(o, model)(); }

}  // namespace mtf::tools
