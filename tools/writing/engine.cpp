#include "engine.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>

#include "sampling.hpp"

namespace mtf::tools {
namespace {

std::int64_t up_to(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr std::size_t head = 6;  // of a message: what, two numbers, the lengths of three lists
constexpr std::size_t of_row_sampling = 6;

/// Numbers of a message.
template <class Out>
Out put(row_sampling const& row, Out to) {
  auto const bits = [](float x) { return std::bit_cast<std::int32_t>(x); };
  for (std::int32_t const n : {bits(row.how.temperature), bits(row.how.min_p), row.how.top_k, bits(row.how.top_p),
                               upper_half(row.key), lower_half(row.key)})
    *to++ = n;
  return to;
}
template <class In>
row_sampling row_sampling_at(In from) {
  auto const number = [&](std::ptrdiff_t i) { return std::bit_cast<float>(from[i]); };
  return {{.temperature = number(0), .min_p = number(1), .top_k = from[2], .top_p = number(3)},
          of_halves(from[4], from[5])};
}

}  // namespace

engine::engine(model_on_ranks const& model, engine_limits const& limits) : model_(model), limits_(limits) {
  limits_.rows = up_to(limits_.rows, model_.rows_of);
  limits_.chunk = std::min(limits_.chunk, model_.positions);
  message_.resize(head + static_cast<std::size_t>(std::max<std::int64_t>(
                             limits_.chunk, (2 + std::int64_t{of_row_sampling}) * limits_.rows)));
}

// --- all ranks -------------------------------------------------------------------------------------------------------

void engine::tell(work what, std::int64_t a, std::int64_t b, std::span<std::int32_t const> first,
                  std::span<std::int32_t const> second, std::span<row_sampling const> how) {
  auto const number = [](auto n) { return static_cast<std::int32_t>(n); };
  message_[0] = number(what);
  message_[1] = number(a);
  message_[2] = number(b);
  message_[3] = number(first.size());
  message_[4] = number(second.size());
  message_[5] = number(how.size());
  auto rest = std::copy(first.begin(), first.end(), message_.begin() + head);
  rest = std::copy(second.begin(), second.end(), rest);
  for (auto const& row : how) rest = put(row, rest);
  model_.tell(message_);
}
void engine::begin(std::int64_t memory) {
  tell(work::begin, memory);
  model_.begin(memory);
}
std::vector<float> engine::read(std::vector<std::int32_t> const& ids, std::int64_t start) {
  tell(work::read, start, 0, ids);
  return model_.read(ids, start);
}
void engine::arrange(std::vector<std::int32_t> const& from, std::int64_t memory) {
  tell(work::arrange, memory, 0, from);
  model_.arrange(from, memory);
}
void engine::keep(std::int64_t at) {
  tell(work::keep, at);
  model_.keep(at);
}
std::vector<float> engine::next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
  tell(work::next, 0, 0, ids, places);
  return model_.next(ids, places);
}
void engine::go_on(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places,
                   std::vector<row_sampling> const& how) {
  tell(work::go_on, 0, 0, ids, places, how);
  model_.go_on(ids, places, how);
}

void engine::follow() {
  while (true) {
    model_.tell(message_);
    auto const first = message_.begin() + head, second = first + message_[3], third = second + message_[4];
    std::vector<std::int32_t> const ids(first, second), places(second, third);
    std::vector<row_sampling> how;
    for (std::int32_t i = 0; i < message_[5]; ++i)
      how.push_back(row_sampling_at(third + static_cast<std::ptrdiff_t>(of_row_sampling) * i));
    switch (static_cast<work>(message_[0])) {
      case work::end:
        return;
      case work::idle:
        // (A rank that waits for a message keeps its core busy; most of the time it sleeps.)
        std::this_thread::sleep_for(std::chrono::milliseconds(message_[1]));
        break;
      case work::begin:
        model_.begin(message_[1]);
        break;
      case work::read:
        model_.read(ids, message_[1]);
        break;
      case work::arrange:
        model_.arrange(ids, message_[1]);
        break;
      case work::keep:
        model_.keep(message_[1]);
        break;
      case work::next:
        model_.next(ids, places);
        break;
      case work::go_on:
        model_.go_on(ids, places, how);
        break;
    }
  }
}

// --- the queue -------------------------------------------------------------------------------------------------------

bool engine::add(std::shared_ptr<completion> one) {
  {
    std::scoped_lock const lock(mutex_);
    if (queue_.size() >= limits_.waiting) return false;
    queue_.push_back(std::move(one));
  }
  changed_.notify_one();
  return true;
}
std::int64_t engine::running() const {
  std::scoped_lock const lock(mutex_);
  return running_;
}
std::size_t engine::waiting() const {
  std::scoped_lock const lock(mutex_);
  return queue_.size();
}
engine_counts engine::counts() const {
  std::scoped_lock const lock(mutex_);
  return counts_;
}
void engine::wake() {
  {
    std::scoped_lock const lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}
void engine::wait(std::chrono::milliseconds most) {
  tell(work::idle, std::max<std::int64_t>(most.count() - 1, 0));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return woken_ || !queue_.empty(); });
  woken_ = false;
}
void engine::end() { tell(work::end); }

// --- steps -----------------------------------------------------------------------------------------------------------

bool engine::step() {
  let_go_of_gone();
  begin_next();
  if (!all_go_on()) settle();  // somebody has gone away
  if (reading_) settle();      // what is found is told before a prompt's piece is read
  auto const writes = written();
  if (!reading_ && writes == 0) {
    std::scoped_lock const lock(mutex_);
    running_ = 0;
    return false;
  }
  auto const before = now();
  auto const n = reading_ ? std::min(limits_.chunk, static_cast<std::int64_t>(reading_->prompt.size()) - read_) : 0;
  if (reading_) read_on();
  auto const middle = now();
  if (writes > 0) write_on();
  std::scoped_lock const lock(mutex_);
  counts_.tokens_read += n;
  counts_.seconds_reading += middle - before;
  counts_.seconds_writing += now() - middle;
  counts_.steps += writes > 0 ? 1 : 0;
  counts_.rows_stepped += writes;
  running_ = written() + (reading_ ? 1 : 0);
  return true;
}

void engine::let_go_of_gone() {
  if (reading_ && reading_->gone) reading_.reset();
  for (auto& r : rows_)
    if (r.who && r.who->gone) r.who.reset();
  std::scoped_lock const lock(mutex_);
  std::erase_if(queue_, [](auto const& one) { return one->gone.load(); });
  running_ = written() + (reading_ ? 1 : 0);
}

void engine::begin_next() {
  if (reading_) return;
  if (written() >= limits_.rows) return;
  {
    std::scoped_lock const lock(mutex_);
    if (queue_.empty()) return;
    reading_ = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
  }
  read_ = 0;
  // What is kept needs the rows' room: theirs, if somebody writes, unless it needs more.
  prompt_memory_ = std::max(memory_for(std::ssize(reading_->prompt) + std::min(reading_->most, limits_.ahead)),
                            written() > 0 ? memory_ : 0);
  begin(prompt_memory_);
}

void engine::read_on() {
  auto const& prompt = reading_->prompt;
  auto const end = std::min(static_cast<std::int64_t>(prompt.size()), read_ + limits_.chunk);
  auto logits = read({prompt.begin() + read_, prompt.begin() + end}, read_);
  read_ = end;
  if (std::cmp_less(end, prompt.size())) return;
  auto const who = std::exchange(reading_, nullptr);
  if (!draw(*who, logits)) return;
  settle();
  make_room(prompt_memory_);  // (Rows may have become longer than the prompt's cache, meanwhile.)
  auto const free = std::find_if(rows_.begin(), rows_.end(), [](row const& r) { return r.who == nullptr; });
  *free = {who, who->answer.back(), static_cast<std::int32_t>(prompt.size())};
  keep(free - rows_.begin());
}

void engine::write_on() {
  make_longer();
  std::vector<std::int32_t> ids, places;
  if (asked_.empty())
    for (auto const& r : rows_) {  // nobody's: anything, at a place that the next one overwrites
      ids.push_back(r.who ? r.newest : 0);
      places.push_back(r.who ? r.place : 0);
    }
  auto const found = [&](row const& r) { return !r.who || found_by_ranks(*r.who); };
  if (std::all_of(rows_.begin(), rows_.end(), found))
    find_next(ids, places);
  else
    draw_next(ids, places);
  give_up_room();
}

void engine::draw_next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
  auto logits = next(ids, places);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    auto& r = rows_[i];
    if (!r.who) continue;
    auto const n = static_cast<std::size_t>(model_.vocabulary);
    if (draw(*r.who, std::span(logits).subspan(i * n, n))) {
      r.newest = r.who->answer.back();
      ++r.place;
    } else {
      r.who.reset();
    }
  }
}

// --- tokens that the ranks find --------------------------------------------------------------------------------------

/// Nothing that only this rank knows is needed for its next tokens.
bool engine::found_by_ranks(completion const& of) const {
  return model_.go_on && sampler::needs_no_text(of.how) && of.bias.empty() && !of.most_likely &&
         (of.ends.empty() || std::cmp_greater_equal(of.answer.size(), of.least));
}

/// Whether the ranks may go on from what they are finding, before it is known: the rows are those that it is of, and no
/// text is as long by it as it may be.
bool engine::all_go_on() const {
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    auto const& who = rows_[i].who;
    if (who != asked_[i] || (who && is_full(*who, who->answer.size() + 1))) return false;
  }
  return true;
}

void engine::find_next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
  std::vector<std::shared_ptr<completion>> now;
  for (auto& r : rows_) {
    now.push_back(r.who);
    ++r.place;
  }
  go_on(ids, places, ids.empty() ? std::vector<row_sampling>() : how_rows_are_drawn());
  auto const before = std::exchange(asked_, std::move(now));
  if (!before.empty()) take(before);
  if (!model_.asynchronous || !all_go_on()) settle();
}

/// None if all take their most likely token.
std::vector<row_sampling> engine::how_rows_are_drawn() const {
  std::vector<row_sampling> all(rows_.size());
  bool draws = false;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].who) continue;
    all[i] = {sampler::options(rows_[i].who->how), rows_[i].who->key.of("token").bits()};
    draws = draws || all[i].how.temperature > 0;
  }
  if (!draws) all.clear();
  return all;
}

/// Nothing is asked for any more.
void engine::settle() {
  if (!asked_.empty()) take(std::exchange(asked_, {}));
}

void engine::take(std::vector<std::shared_ptr<completion>> const& of) {
  auto const ids = model_.found();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    auto& r = rows_[i];
    if (!r.who || r.who != of[i]) continue;  // it had ended
    auto const token = [&] {
      if (ids[i] < 0) no_token_can_be_drawn();
      return with(*r.who, drawn_token{ids[i], 0, {}});
    };
    if (tell_piece(*r.who, token))
      r.newest = ids[i];
    else
      r.who.reset();
  }
}

// --- rows ------------------------------------------------------------------------------------------------------------

std::int64_t engine::written() const {
  return std::count_if(rows_.begin(), rows_.end(), [](row const& r) { return r.who != nullptr; });
}

std::int64_t engine::rounded(std::int64_t rows) const { return std::min(up_to(rows, model_.rows_of), limits_.rows); }

std::int64_t engine::memory_for(std::int64_t tokens) const {
  return up_to(up_to(std::min(model_.positions, tokens), 64), model_.memory_of);  // few lengths: rows seldom grow
}

/// Where a text has come to the end of its row, all rows become a quarter longer, or for the tokens ahead.
void engine::make_longer() {
  std::int64_t needed = 0;
  for (auto const& r : rows_)
    if (r.who) needed = std::max<std::int64_t>(needed, r.place + 1);
  if (needed <= memory_) return;
  memory_ = memory_for(needed + std::max(limits_.ahead, needed / 4));
  std::vector<std::int32_t> same(rows_.size());
  std::iota(same.begin(), same.end(), 0);
  arrange(same, memory_);
}

/// A free row, of that memory.
void engine::make_room(std::int64_t memory) {
  auto const count = static_cast<std::int64_t>(rows_.size());
  if (written() == 0) {
    rows_.assign(static_cast<std::size_t>(model_.rows_of), {});
    memory_ = memory;
    arrange(std::vector<std::int32_t>(rows_.size(), -1), memory);
    return;
  }
  if (written() < count && memory <= memory_) return;
  auto const more = written() < count ? count : rounded(2 * count);
  std::vector<std::int32_t> from(static_cast<std::size_t>(more), -1);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].who) from[i] = static_cast<std::int32_t>(i);
  rows_.resize(from.size());
  memory_ = std::max(memory_, memory);
  arrange(from, memory_);
}

/// Half the rows where a quarter is enough: a step's time grows with them.
void engine::give_up_room() {
  auto const count = static_cast<std::int64_t>(rows_.size());
  if (written() == 0 || 4 * written() > count || count <= model_.rows_of) return;
  settle();
  if (written() == 0) return;
  std::vector<row> left;
  std::vector<std::int32_t> from;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].who) {
      left.push_back(rows_[i]);
      from.push_back(static_cast<std::int32_t>(i));
    }
  left.resize(static_cast<std::size_t>(rounded(count / 2)));
  from.resize(left.size(), -1);
  rows_ = std::move(left);
  arrange(from, memory_);
}

// --- tokens ----------------------------------------------------------------------------------------------------------

std::vector<float> engine::log_probabilities(std::span<float const> logits) const {
  float const largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float const z : logits) sum += std::exp(static_cast<double>(z - largest));
  std::vector<float> all;
  for (float const z : logits) all.push_back(z - largest - static_cast<float>(std::log(sum)));
  return all;
}

/// Tells of a text's next token, if it is one. False: the text has ended. What goes wrong ends this text alone.
bool engine::tell_piece(completion& of, std::function<piece()> const& make) const {
  piece p;
  try {
    p = make();
  } catch (mtf::user_error const& e) {
    p = {.token = {}, .text = e.what(), .ended_by = "error"};
  }
  of.tell(p);
  return p.ended_by.empty();
}

/// Of the logits behind a text, its next token.
bool engine::draw(completion& of, std::span<float> logits) {
  return tell_piece(of, [&] { return drawn(of, logits); });
}

piece engine::drawn(completion& of, std::span<float> logits) {
  drawn_token token;
  std::vector<float> told;
  if (of.most_likely) told = log_probabilities(logits);
  for (auto const& [id, by] : of.bias) logits[static_cast<std::size_t>(id)] += by;
  if (std::cmp_less(of.answer.size(), of.least))
    for (auto const id : of.ends)
      if (id < model_.vocabulary) logits[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
  auto const at = of.prompt.size() + of.answer.size();
  auto const by = number_of_token(of.key.of("token").bits(), static_cast<std::int64_t>(at));
  token.id = sampler_(of.how, logits, of.prompt, of.answer, by);
  if (of.most_likely) {
    token.log_probability = told[static_cast<std::size_t>(token.id)];
    std::vector<std::int32_t> order(told.size());
    std::iota(order.begin(), order.end(), 0);
    auto const n = std::min(static_cast<std::ptrdiff_t>(*of.most_likely), std::ssize(order));
    std::partial_sort(order.begin(), order.begin() + n, order.end(), [&](std::int32_t a, std::int32_t b) {
      float const x = told[static_cast<std::size_t>(a)], y = told[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    for (std::ptrdiff_t i = 0; i < n; ++i)
      token.most_likely.emplace_back(order[static_cast<std::size_t>(i)],
                                     told[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
  }
  return with(of, std::move(token));
}

/// The text with a further token, or what ends it.
piece engine::with(completion& of, drawn_token token) {
  piece p;
  {
    std::scoped_lock const lock(mutex_);
    ++counts_.tokens_drawn;
  }
  if (std::find(of.ends.begin(), of.ends.end(), token.id) != of.ends.end()) {
    p.ended_by = "stop";
  } else {
    of.answer.push_back(token.id);
    p.token = std::move(token);
    if (of.stream) p.text = of.stream->add(of.answer.back(), std::cmp_greater_equal(of.answer.size(), of.least));
    if (of.stream && of.stream->stopped_by())
      p.ended_by = "stop";
    else if (is_full(of, of.answer.size()))
      p.ended_by = "length";
  }
  if (!p.ended_by.empty() && of.stream) p.text += of.stream->finish();
  return p;
}

/// Whether an answer of so many tokens is as long as it may be.
bool engine::is_full(completion const& of, std::size_t tokens) const {
  return std::cmp_greater_equal(tokens, of.most) || std::cmp_greater_equal(of.prompt.size() + tokens, model_.positions);
}

}  // namespace mtf::tools
