#pragma once
// Continuous batching: texts that come and end at any time share a model's steps (Yu et al. 2022, Orca).
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "completion.hpp"
#include "model_on_ranks.hpp"
#include "sampling.hpp"

namespace mtf::tools {

/// What an engine may take.
struct engine_limits {
  std::int64_t rows = 16;         // texts that are written at once
  std::int64_t chunk = 256;       // tokens of a prompt that are read in a step
  std::size_t waiting = 1 << 30;  // texts that wait for a row
  std::int64_t ahead = 256;  // tokens of an answer for which a row has memory from the first; it grows with the text
};

/// What it did so far.
struct engine_counts {
  std::int64_t tokens_read = 0, tokens_drawn = 0, steps = 0, rows_stepped = 0;
  double seconds_reading = 0, seconds_writing = 0;
};

/// Of a step, first a piece of the oldest prompt that is not read yet is read, then each text that is being written
/// gets a token: a long prompt does not keep the others waiting. Rows come and go with the texts. What a text comes to
/// does not depend on the others: a row's numbers do not, and its random numbers are of its own key and position.
///
/// Where the tokens of all texts that are written depend on the logits as they are (`found_by_ranks`), the ranks draw
/// them and go on from them by themselves: if the model is asynchronous, a step is asked for before the tokens of the
/// one before it are read. What they find behind the end of a text is dropped.
///
/// One rank leads: it has the queue and draws the tokens. The others follow its messages.
class engine {
 public:
  engine(model_on_ranks const& model, engine_limits const& limits);

  /// What the ranks do that do not lead: returns when the leader ends.
  void follow();

  /// Puts a text at the end of the queue, or gives false: the queue is full. By any thread, as are the next two.
  bool add(std::shared_ptr<completion> one);
  /// Texts that are being read or written, and those that wait.
  [[nodiscard]] std::int64_t running() const;
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] engine_counts counts() const;
  /// Wakes whoever waits for work.
  void wake();

  /// A step of the leader's. False: there was nothing to do.
  bool step();
  /// Returns when there may be something to do, or after a time.
  void wait(std::chrono::milliseconds most);
  /// The others return from `follow`. Nothing is stepped after it.
  void end();

 private:
  enum class work : std::int32_t { end, idle, begin, read, arrange, keep, next, go_on };
  struct row {
    std::shared_ptr<completion> who;     // null: nobody's
    std::int32_t newest = 0, place = 0;  // the next to be stepped, unless it is still being found; where
  };

  // What all ranks do, told by the leader.
  void begin(std::int64_t memory);
  std::vector<float> read(std::vector<std::int32_t> const& ids, std::int64_t start);
  void arrange(std::vector<std::int32_t> const& from, std::int64_t memory);
  void keep(std::int64_t at);
  std::vector<float> next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places);
  void go_on(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places,
             std::vector<row_sampling> const& how);
  void tell(work what, std::int64_t a = 0, std::int64_t b = 0, std::span<std::int32_t const> first = {},
            std::span<std::int32_t const> second = {}, std::span<row_sampling const> how = {});

  void let_go_of_gone();
  void begin_next();
  void read_on();
  void write_on();
  void draw_next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places);
  void find_next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places);
  [[nodiscard]] std::vector<row_sampling> how_rows_are_drawn() const;
  [[nodiscard]] bool found_by_ranks(completion const& of) const;
  [[nodiscard]] bool all_go_on() const;
  void settle();
  void take(std::vector<std::shared_ptr<completion>> const& of);
  void make_room(std::int64_t memory);
  void make_longer();
  void give_up_room();
  [[nodiscard]] std::int64_t written() const;
  [[nodiscard]] std::int64_t rounded(std::int64_t rows) const;
  [[nodiscard]] std::int64_t memory_for(std::int64_t tokens) const;
  bool draw(completion& of, std::span<float> logits);
  piece drawn(completion& of, std::span<float> logits);
  bool tell_piece(completion& of, std::function<piece()> const& make) const;
  piece with(completion& of, drawn_token token);
  [[nodiscard]] bool is_full(completion const& of, std::size_t tokens) const;
  [[nodiscard]] std::vector<float> log_probabilities(std::span<float const> logits) const;

  model_on_ranks model_;
  engine_limits limits_;
  std::vector<std::int32_t> message_;
  sampler sampler_;  // the leader's
  std::vector<row> rows_;
  std::vector<std::shared_ptr<completion>> asked_;  // whose token the ranks are finding in each row; empty: in none
  std::int64_t memory_ = 0;                         // of a row
  std::shared_ptr<completion> reading_;
  std::int64_t prompt_memory_ = 0, read_ = 0;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<completion>> queue_;
  std::int64_t running_ = 0;
  bool woken_ = false;
  engine_counts counts_;
};

}  // namespace mtf::tools
