#pragma once
// When what is planned happens on a machine, and the memory that a rank then has.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/record.hpp>

namespace mtf {

/// What a rank does for a while: neighbouring work of one operation, or a collective, or what of one hides. The rounds
/// of a loop are drawn as one, as long as all of them take: `begin` and `end` are where to draw it, `seconds` what all
/// rounds take.
struct timeline_item {
  std::size_t first = 0, last = 0;  // events of the record
  std::uint64_t rounds = 1;
  double begin = 0, end = 0, seconds = 0;
  bool beside = false;  // of a collective what hides: it goes on beside what is computed
};

/// A loop over equal layers, where its rounds are drawn as one.
struct timeline_loop {
  std::uint64_t rounds = 1;
  double begin = 0, end = 0;
};

/// Bytes that a rank has from a time on.
struct memory_point {
  double at = 0;
  std::uint64_t bytes = 0;
};

/// One step on a machine. What is priced and what is drawn differ in one thing: the price lets all that is started in
/// the backward pass hide behind any work of that pass; here it begins when it is started, one after the other, goes on
/// while the rank computes, pauses while the rank sends something else, and what is not over when the pass ends is
/// waited for.
struct timeline {
  std::vector<timeline_item> items;
  std::vector<timeline_loop> loops;     // of more than one round, outer ones first
  std::vector<memory_point> memory;     // every round by itself
  double wait_begin = 0, wait_end = 0;  // for collectives, after the backward pass
  double seconds = 0;                   // of the step
};

namespace detail {

class timeline_maker {
 public:
  timeline_maker(plan_record const& r, machine_description const& on) : r_(r), on_(on), beside_(r.events.size()) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < r.events.size(); ++i) {
      auto const& e = r.events[i];
      depth += e.what == planned_event::kind::loop_begins ? 1 : 0;
      depth -= e.what == planned_event::kind::loop_ends ? 1 : 0;
      if (e.collective.when == pass::backward && is_item(e)) after_backward_ = none;
      if (depth == 0 && after_backward_ == none) after_backward_ = i + 1;
    }
    run(0, r.events.size(), 0);
    if (after_backward_ == r.events.size()) wait();
    t_.seconds = now_;
    draw(0, r.events.size(), 0, 1);
  }
  timeline take() { return static_cast<timeline&&>(t_); }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  struct interval {
    double begin = -1, end = 0;
  };
  struct request {
    std::size_t event = 0;
    double left = 0;  // seconds
  };

  static bool is_item(planned_event const& e) {
    return e.what == planned_event::kind::work || e.what == planned_event::kind::collective;
  }
  static bool is_beside(planned_event const& e) {
    return e.what == planned_event::kind::collective && e.collective.started && e.collective.when == pass::backward;
  }
  /// Seconds of one event, once.
  [[nodiscard]] double price(planned_event const& e) const {
    auto const& c = e.collective;
    return e.what == planned_event::kind::work ? on_.seconds(e.work)
                                               : on_.seconds(c.kind, c.payload, r_.plan.mesh, c.axes);
  }
  /// Of these, what the rank does nothing beside.
  [[nodiscard]] double alone(planned_event const& e) const {
    return is_beside(e) ? price(e) * (1 - on_.overlap) : price(e);
  }
  /// The event that ends the loop which event i begins.
  [[nodiscard]] std::size_t end_of_loop(std::size_t i) const {
    std::size_t depth = 0;
    for (;; ++i) {
      depth += r_.events[i].what == planned_event::kind::loop_begins ? 1 : 0;
      depth -= r_.events[i].what == planned_event::kind::loop_ends ? 1 : 0;
      if (depth == 0) return i;
    }
  }

  /// The rank waits for what was started.
  void wait() {
    t_.wait_begin = now_;
    double left = 0;
    for (auto i = next_; i < started_.size(); ++i) left += started_[i].left;
    compute(left);
    t_.wait_end = now_;
  }
  /// The rank computes, or waits; what was started goes on.
  void compute(double taken) {
    double const end = now_ + taken;
    while (next_ < started_.size() && now_ < end) {
      auto& s = started_[next_];
      auto& drawn = beside_[s.event];
      if (drawn.begin < 0) drawn.begin = now_;
      double const part = s.left < end - now_ ? s.left : end - now_;
      now_ += part;
      s.left -= part;
      drawn.end = now_;
      if (s.left <= 0) ++next_;
    }
    now_ = end;
  }
  void remember(std::uint64_t bytes) {
    if (t_.memory.empty() || t_.memory.back().bytes != bytes) t_.memory.push_back({now_, bytes});
  }
  /// Runs events one after the other, loops round by round. `more`: bytes beyond those that were recorded.
  void run(std::size_t first, std::size_t last, std::uint64_t more) {
    for (std::size_t i = first; i < last; ++i) {
      if (i == after_backward_) wait();
      auto const& e = r_.events[i];
      if (e.peak > e.live && e.peak + more > most_) remember(most_ = e.peak + more);
      remember(e.live + more);
      if (e.what == planned_event::kind::loop_begins) {
        auto const end = end_of_loop(i);
        auto const each = r_.events[end].live - e.live;  // that a round leaves behind; unsigned, may be less than 0
        for (std::uint64_t n = 0; n < e.count; ++n) run(i + 1, end + 1, more + n * each);
        i = end;
      } else if (e.what == planned_event::kind::work) {
        compute(price(e));
      } else if (e.what == planned_event::kind::collective) {
        now_ += alone(e);
        if (is_beside(e) && on_.overlap > 0) started_.push_back({i, price(e) * on_.overlap});
      }
    }
  }

  /// Neighbouring events that are drawn as one.
  [[nodiscard]] bool alike(planned_event const& a, planned_event const& b) const {
    auto const &x = a.collective, &y = b.collective;
    return a.what == planned_event::kind::work && b.what == a.what && a.work.bound == b.work.bound &&
           x.when == y.when && same_text(x.operation, y.operation) && same_path(x.parameter, y.parameter) &&
           same_path(x.other, y.other);
  }
  /// Draws events from `at` on, each as long as all its rounds take, and returns where they end.
  double draw(std::size_t first, std::size_t last, double at, std::uint64_t rounds) {
    for (std::size_t i = first; i < last; ++i) {
      if (i == after_backward_) at += t_.wait_end - t_.wait_begin;
      auto const& e = r_.events[i];
      if (e.what == planned_event::kind::loop_begins) {
        auto const end = end_of_loop(i), index = t_.loops.size(), item = t_.items.size();
        auto const begin = at;
        if (e.count > 1) t_.loops.push_back({e.count, begin, begin});
        at = draw(i + 1, end, at, rounds * e.count);
        if (e.count > 1) t_.loops[index].end = at;
        if (rounds == 1 && e.count > 1) spread(item);
        i = end;
      } else if (is_item(e)) {
        auto const n = static_cast<double>(rounds);
        if (is_beside(e) && on_.overlap > 0)
          t_.items.push_back(
              {i, i + 1, rounds, rounds > 1 ? at : beside_[i].begin, beside_[i].end, n * price(e) * on_.overlap, true});
        double const taken = n * alone(e);
        if (!t_.items.empty() && t_.items.back().last == i && alike(r_.events[i - 1], e)) {
          auto& before = t_.items.back();
          before.last = i + 1;
          before.end += taken;
          before.seconds += taken;
        } else if (!is_beside(e) || taken > 0) {
          t_.items.push_back({i, i + 1, rounds, at, at + taken, taken, false});
        }
        at += taken;
      }
    }
    return at;
  }
  /// In a loop's rounds collectives take turns. Those from `item` on are drawn one after the other, each as long as all
  /// its rounds take: not before it is drawn that the rank starts it, unless all would then not be over in time.
  void spread(std::size_t item) {
    double begin = -1, end = 0, left = 0;
    for (auto i = item; i < t_.items.size(); ++i)
      if (auto const& x = t_.items[i]; x.beside) {
        if (begin < 0) begin = beside_[x.first].begin;
        end = beside_[x.first].end > end ? beside_[x.first].end : end;
        left += x.seconds;
      }
    for (auto i = item; i < t_.items.size(); ++i)
      if (auto& x = t_.items[i]; x.beside) {
        double const room = end - begin, latest = end - left;
        double const wanted = x.begin < latest ? x.begin : latest;
        double const share = left > room ? room / left : 1;  // rounding alone makes it less than 1
        x.begin = wanted > begin ? wanted : begin;
        x.end = begin = x.begin + x.seconds * share;
        left -= x.seconds;
      }
  }

  plan_record const& r_;
  machine_description const& on_;
  std::vector<interval> beside_;
  timeline t_;
  std::vector<request> started_;
  std::size_t next_ = 0;  // of these, the first that is not over
  double now_ = 0;
  std::uint64_t most_ = 0;
  std::size_t after_backward_ = 0;
};

}  // namespace detail

/// When everything in a record happens on a machine.
inline timeline timeline_of(plan_record const& r, machine_description const& on) {
  return detail::timeline_maker(r, on).take();
}

}  // namespace mtf
