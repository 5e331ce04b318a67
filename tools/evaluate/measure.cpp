#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/data/text_file.hpp>
#include <mtf/data/tokenizer.hpp>
#include <mtf/train/text_output.hpp>

#include "../model_source.hpp"
#include "../text_of.hpp"
#include "options.hpp"
#include "questions.hpp"
#include "windows.hpp"

namespace mtf::tools {
namespace {

using ids = std::vector<std::int32_t>;

class measuring {
 public:
  measuring(evaluate_options const& o, losses_on_ranks const& model)
      : o_(&o),
        model_(&model),
        words_(o.on.model->tokenizer(o.on.tokenizer)),
        before_(ids_before(*words_)),
        out_("standard output", model.speaks ? stdout : nullptr) {}

  void operator()() {
    auto const began = now();
    // Both are read first: what is wrong with them is said before anything is computed.
    std::vector<scored_row> windows, choices;
    std::vector<question> questions;
    std::size_t bytes = 0;
    if (!o_->text.empty()) windows = windows_of(text(bytes), o_->context, o_->stride);
    if (!o_->choices.empty()) {
      questions = questions_in(o_->choices);
      for (std::size_t i = 0; i < questions.size(); ++i) add_choices(questions[i], i, choices);
    }
    mtf::text_output log;
    if (!o_->log.empty() && model_->speaks) log.open("--log", o_->log, "w");
    if (!log.failure().empty()) throw mtf::user_error(log.failure());

    if (!windows.empty()) say_text(windows, bytes);
    if (!questions.empty()) say_choices(questions, choices, o_->log.empty() ? out_ : log);
    log.close();
    for (auto const* file : {&log, &out_})
      if (!file->failure().empty()) throw mtf::user_error(file->failure());
    if (model_->speaks && !o_->quiet) {
      auto const seconds = now() - began;
      std::fprintf(stderr, "mtf: %s\n",
                   mtf::tools::text_of("read %lld tokens in %.3f s (%.0f a second)", static_cast<long long>(read_),
                                       seconds, static_cast<double>(read_) / std::max(seconds, 1e-9))
                       .c_str());
    }
  }

 private:
  /// Its tokens, and how many bytes they are of.
  ids text(std::size_t& bytes) {
    ids all = before_;
    mtf::text_file const file(o_->text);
    bytes = file.size();
    if (bytes == 0) throw mtf::user_error("--text: " + o_->text + " is empty");
    file.read([&](std::string_view text) { append(all, text); });
    check(all, "--text: " + o_->text);
    if (all.size() < 2)
      throw mtf::user_error("--text: " + o_->text + " has one token: two are needed, one that predicts the other");
    return all;
  }
  void append(ids& to, std::string_view text) {
    auto const more = words_->encode(text);
    to.insert(to.end(), more.begin(), more.end());
  }
  void check(ids const& all, std::string const& where) const {
    for (auto const id : all)
      if (id >= model_->vocabulary)
        throw mtf::user_error(where + " has the token " + std::to_string(id) + ", but the model's vocabulary has " +
                              std::to_string(model_->vocabulary) + ": is the tokenizer this model's?");
  }

  /// A question's choices as lm-evaluation-harness takes them apart: question and choice are one text, whose tokens
  /// behind those of the question alone are the choice's. White space at the question's end is the choice's.
  void add_choices(question const& q, std::size_t number, std::vector<scored_row>& to) {
    auto const end = q.context.find_last_not_of(" \t\n\v\f\r");
    auto const context = q.context.substr(0, end == std::string::npos ? 0 : end + 1);
    auto const space = q.context.substr(context.size());
    auto const where = "--choices: question " + std::to_string(number + 1);
    auto asked = before_;
    append(asked, context);
    if (asked.empty() && o_->first) asked = {*o_->first};
    if (asked.empty())
      throw mtf::user_error(where + " has no tokens before its choices, and the model none to begin with");
    for (auto const& choice : q.choices) {
      auto const continuation = space + o_->delimiter + choice;
      ids tokens;
      if (context.empty()) {
        append(tokens, continuation);
      } else {
        auto whole = before_;
        append(whole, context + continuation);
        tokens.assign(whole.begin() + static_cast<std::ptrdiff_t>(std::min(asked.size(), whole.size())), whole.end());
      }
      if (tokens.empty())
        throw mtf::user_error(where + ": the choice \"" + choice + "\" adds no token to the question");
      if (std::cmp_greater(tokens.size(), o_->context))
        throw mtf::user_error(where + ": the choice \"" + choice + "\" has " + std::to_string(tokens.size()) +
                              " tokens, more than --context, " + std::to_string(o_->context));
      check(asked, where);
      check(tokens, where);
      to.push_back(continuation_of(asked, tokens, o_->context));
    }
  }

  void say_text(std::vector<scored_row> const& windows, std::size_t bytes) {
    auto const sums = losses_of(windows);
    double const nats = std::accumulate(sums.begin(), sums.end(), 0.0);
    std::int64_t tokens = 0;
    for (auto const& w : windows)
      tokens += std::count_if(w.labels.begin(), w.labels.end(), [](auto label) { return label >= 0; });
    double const each = nats / static_cast<double>(tokens);
    say(out_, {{"text", o_->text},
               {"tokens", tokens},
               {"nats_per_token", each},
               {"perplexity", std::exp(each)},
               {"bits_per_byte", nats / std::log(2.0) / static_cast<double>(bytes)}});
  }

  void say_choices(std::vector<question> const& questions, std::vector<scored_row> const& rows, mtf::text_output& log) {
    auto const losses = losses_of(rows);
    auto at = losses.begin();
    double right = 0, right_normalized = 0;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      auto const& q = questions[i];
      std::vector<double> logs, normalized;
      for (auto const& choice : q.choices) {
        logs.push_back(-*at++);
        normalized.push_back(logs.back() / static_cast<double>(choice.size()));
      }
      auto const best = likeliest(logs), best_normalized = likeliest(normalized);
      right += best == q.answer ? 1 : 0;
      right_normalized += best_normalized == q.answer ? 1 : 0;
      say(log, {{"question", i},
                {"answer", q.answer},
                {"choice", best},
                {"choice_norm", best_normalized},
                {"log_probabilities", logs}});
    }
    auto const n = static_cast<double>(questions.size());
    say(out_, {{"choices", o_->choices},
               {"questions", questions.size()},
               {"acc", right / n},
               {"acc_norm", right_normalized / n}});
  }
  /// The first of equal ones.
  static std::size_t likeliest(std::vector<double> const& of) {
    return static_cast<std::size_t>(std::max_element(of.begin(), of.end()) - of.begin());
  }
  static void say(mtf::text_output& to, nlohmann::ordered_json const& line) {
    to.write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

  /// The sum of each row's losses. Rows of about the same length are worked on together.
  std::vector<double> losses_of(std::vector<scored_row> const& rows) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return std::pair(rows[b].ids.size(), a) < std::pair(rows[a].ids.size(), b); });
    std::vector<double> sums(rows.size());
    auto const group = multiple(o_->rows, model_->rows_of);
    for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(group)) {
      auto const here = std::min<std::int64_t>(group, static_cast<std::int64_t>(order.size() - at));
      auto const count = multiple(here, model_->rows_of);
      auto const length = multiple(static_cast<std::int64_t>(rows[order[at]].ids.size()), model_->tokens_of);
      if (length > model_->positions)
        throw mtf::user_error("--context: ranks that split a text need a multiple of " +
                              std::to_string(model_->tokens_of) + " tokens, here " + std::to_string(length) +
                              ", and the model has " + std::to_string(model_->positions) +
                              " positions: give fewer tokens");
      // What rows lack is padded behind them, where no token that is counted sees it.
      ids tokens(static_cast<std::size_t>(count * length)), labels(tokens.size(), -1);
      for (std::int64_t k = 0; k < here; ++k) {
        auto const& row = rows[order[at + static_cast<std::size_t>(k)]];
        std::copy(row.ids.begin(), row.ids.end(), tokens.begin() + k * length);
        std::copy(row.labels.begin(), row.labels.end(), labels.begin() + k * length);
        read_ += static_cast<std::int64_t>(row.ids.size());
      }
      auto const losses = model_->losses(tokens, labels, count);
      for (std::int64_t k = 0; k < here; ++k)
        sums[order[at + static_cast<std::size_t>(k)]] =
            std::accumulate(losses.begin() + k * length, losses.begin() + (k + 1) * length, 0.0);
    }
    return sums;
  }
  static std::int64_t multiple(std::int64_t n, std::int64_t of) { return (n + of - 1) / of * of; }

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  evaluate_options const* o_;
  losses_on_ranks const* model_;
  std::unique_ptr<mtf::tokenizer> words_;
  ids before_;  // the tokens that begin every text
  mtf::text_output out_;
  std::int64_t read_ = 0;
};

}  // namespace

void measure(evaluate_options const& o, losses_on_ranks const& model) { measuring(o, model)(); }

}  // namespace mtf::tools
