#include "writer.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/data/load_tokenizer.hpp>
#include <mtf/data/tokenizer.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/train/text_output.hpp>

#include "../text_of.hpp"
#include "chat.hpp"
#include "generation_file.hpp"
#include "sampling.hpp"
#include "text_stream.hpp"

namespace mtf::tools {
namespace {

/// A prompt and what is written on from it.
struct row {
  std::vector<std::int32_t> prompt, answer;
  std::optional<text_stream> stream;  // of texts
  std::string text;
  char const* ended_by = nullptr;  // "stop", "length": then it is whole
};

std::string text_of_ids(std::vector<std::int32_t> const& ids) {
  std::string text;
  for (auto const id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

class writing {
 public:
  writing(generate_options const& o, model_on_ranks const& model)
      : o_(&o), model_(&model), draw_(o.how), out_("standard output", model.speaks ? stdout : nullptr) {
    if (o.tokens.empty()) {
      words_ = mtf::load_tokenizer(o.tokenizer);
      prompts_ = o.prompts;
      if (o.question.empty())
        before_ = tokens_before(o.tokenizer);
      else
        prompts_ = {asked()};
    }
    auto const count = std::max(prompts_.size(), o.tokens.size());
    for (std::size_t i = 0; i < count; ++i) rows_.push_back(row_of(i));
  }

  void operator()() {
    auto const began = now();
    // Prompts of about the same length are read together.
    std::vector<std::size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      return std::pair(rows_[a].prompt.size(), a) < std::pair(rows_[b].prompt.size(), b);
    });
    for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(o_->rows)) {
      std::vector<row*> group;
      for (auto i = at; i < std::min(order.size(), at + static_cast<std::size_t>(o_->rows)); ++i)
        group.push_back(&rows_[order[i]]);
      write(group);
    }
    if (o_->several || !o_->tokens.empty()) {
      for (std::size_t i = 0; i < rows_.size(); ++i) out_.write(line_of(i));
    } else {
      out_.write("\n");
    }
    if (!out_.failure().empty()) throw mtf::user_error(out_.failure());
    if (model_->speaks && !o_->quiet) tell(now() - began);
  }

 private:
  /// The question as the model knows it. (Its template writes the tokens that begin a text.)
  [[nodiscard]] std::string asked() const {
    std::vector<message> messages;
    if (!o_->system.empty()) messages.push_back({"system", o_->system});
    messages.push_back({"user", o_->question});
    std::string begin;
    if (o_->first) begin = words_->decode(std::vector{static_cast<std::uint32_t>(*o_->first)});
    return chat_text(o_->model, messages, begin);
  }

  row row_of(std::size_t i) const {
    row r;
    if (words_) {
      auto const ids = words_->encode(prompts_[i]);
      r.prompt = before_;
      r.prompt.insert(r.prompt.end(), ids.begin(), ids.end());
      if (r.prompt.empty() && o_->first) r.prompt = {*o_->first};
      r.stream.emplace(*words_, r.prompt, o_->stops);
      if (o_->echo) r.text = prompts_[i];
    } else {
      r.prompt = o_->tokens[i];
    }
    auto const name = rows_.empty() && !o_->several ? "the prompt" : "prompt " + std::to_string(i + 1);
    if (r.prompt.empty()) throw mtf::user_error(name + " has no tokens, and the model none to begin with");
    for (auto const id : r.prompt)
      if (id >= model_->vocabulary)
        throw mtf::user_error(name + " has the token " + std::to_string(id) + ", but the model's vocabulary has " +
                              std::to_string(model_->vocabulary) + ": is the tokenizer this model's?");
    if (std::cmp_greater_equal(r.prompt.size(), model_->positions))
      throw mtf::user_error(name + " has " + std::to_string(r.prompt.size()) + " tokens; the model has " +
                            std::to_string(model_->positions) + " positions, and needs one for what follows");
    return r;
  }

  void write(std::vector<row*> const& group) {
    auto const multiple = model_->rows_of;
    auto const count = (static_cast<std::int64_t>(group.size()) + multiple - 1) / multiple * multiple;
    std::int64_t longest = 0, shortest = model_->positions;
    for (auto const* r : group) {
      longest = std::max(longest, static_cast<std::int64_t>(r->prompt.size()));
      shortest = std::min(shortest, static_cast<std::int64_t>(r->prompt.size()));
    }
    model_->begin(count, std::min(model_->positions, longest + o_->most));
    for (auto* r : group)
      if (o_->echo) say(*r, std::exchange(r->text, {}));
    auto const ids_at = [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int32_t> ids;
      for (std::int64_t k = 0; k < count; ++k)  // beyond the group: the first row again
        for (auto at = begin; at < end; ++at)
          ids.push_back(token_at(*group[static_cast<std::size_t>(k) < group.size() ? static_cast<std::size_t>(k) : 0],
                                 static_cast<std::size_t>(at)));
      return ids;
    };
    std::vector<float> logits;
    auto const reads = now();
    for (std::int64_t at = 0; at < shortest; at += o_->chunk)
      logits = model_->continued(ids_at(at, std::min(shortest, at + o_->chunk)), at);
    read_seconds_ += now() - reads;
    read_ += shortest * static_cast<std::int64_t>(group.size());
    auto const writes = now();
    for (auto at = shortest;; ++at) {
      bool any = false;
      for (std::size_t k = 0; k < group.size(); ++k) {
        auto& r = *group[k];
        if (r.ended_by != nullptr) continue;
        if (static_cast<std::size_t>(at) >= r.prompt.size())
          draw(r, {logits.data() + static_cast<std::int64_t>(k) * model_->vocabulary,
                   static_cast<std::size_t>(model_->vocabulary)});
        any = any || r.ended_by == nullptr;
      }
      if (!any) break;
      logits = model_->continued(ids_at(at, at + 1), at);
    }
    written_seconds_ += now() - writes;
  }

  /// What a row has at a position; beyond its end anything.
  static std::int32_t token_at(row const& r, std::size_t at) {
    if (at < r.prompt.size()) return r.prompt[at];
    at -= r.prompt.size();
    return at < r.answer.size() ? r.answer[at] : r.prompt.front();
  }

  void draw(row& r, std::span<float> logits) {
    auto const at = r.prompt.size() + r.answer.size();
    auto const bits = mtf::random_key(o_->seed).of("token").of(static_cast<std::uint64_t>(at)).bits();
    auto const id = draw_(logits, r.prompt, r.answer, static_cast<double>(bits >> 11U) * 0x1p-53);
    ++drawn_;
    if (std::find(o_->ends.begin(), o_->ends.end(), id) != o_->ends.end()) {
      r.ended_by = "stop";
    } else {
      r.answer.push_back(id);
      if (r.stream) say(r, r.stream->add(id));
      if (r.stream && r.stream->stopped_by())
        r.ended_by = "stop";
      else if (std::cmp_greater_equal(r.answer.size(), o_->most) || std::cmp_greater_equal(at + 1, model_->positions))
        r.ended_by = "length";
    }
    if (r.ended_by != nullptr && r.stream) say(r, r.stream->finish());
  }

  void say(row& r, std::string const& text) {
    r.text += text;
    if (!o_->several && !text.empty()) out_.write(text);
  }

  [[nodiscard]] std::string line_of(std::size_t i) const {
    auto const& r = rows_[i];
    if (!words_) return text_of_ids(r.answer) + "\n";
    nlohmann::ordered_json line;
    line["prompt"] = prompts_[i];
    line["text"] = r.text;
    line["finish_reason"] = r.ended_by;
    line["tokens"] = r.answer.size();
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  void tell(double seconds) const {
    std::fprintf(
        stderr, "mtf: %s\n",
        mtf::tools::text_of("read %lld tokens in %.3f s (%.0f a second), wrote %lld in %.3f s (%.1f a second); "
                            "%.3f s in all",
                            static_cast<long long>(read_), read_seconds_,
                            static_cast<double>(read_) / std::max(read_seconds_, 1e-9), static_cast<long long>(drawn_),
                            written_seconds_, static_cast<double>(drawn_) / std::max(written_seconds_, 1e-9), seconds)
            .c_str());
  }
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  generate_options const* o_;
  model_on_ranks const* model_;
  std::unique_ptr<mtf::tokenizer> words_;
  std::vector<std::string> prompts_;
  std::vector<std::int32_t> before_;  // the tokens that begin every text
  sampler draw_;
  mtf::text_output out_;
  std::vector<row> rows_;
  double read_seconds_ = 0, written_seconds_ = 0;
  std::int64_t read_ = 0, drawn_ = 0;
};

}  // namespace

void write_on(generate_options const& o, model_on_ranks const& model) { writing(o, model)(); }

}  // namespace mtf::tools
