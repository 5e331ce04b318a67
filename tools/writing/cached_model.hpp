#pragma once
// A task's model with its caches, on a rank.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/core/host_device.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/sorting/sample.hpp>
#include <mtf/tensor/host_copy.hpp>

#include "../model_source.hpp"
#include "../model_under_layout.hpp"
#include "../task.hpp"
#include "model_on_ranks.hpp"
#include "most_likely.hpp"

namespace mtf::tools {

/// Has a task what writing needs: files of another tool's, and, for tensors of `ids` and `places` [batch, sequence],
///   template <template <class...> class Tensor> struct cache { ...; MTF_FIELDS(...); };   // its dimensions batch,
///   memory static auto continued(p, cache& c, ids, places, at);   // logits [batch, newest, vocab]
/// where `at` is a all_rows_at{start} of its own, or each_row_at<tensor [batch]>{start, length}.
template <class Task>
concept continues = has_files<Task> && requires {
  typename Task::template cache<mtf::place<float, mtf::any_layout<>>::template tensor>;
  typename Task::newest;
  typename Task::all_rows_at;
};

/// The number that draws the token behind the one at `place`, of a text with this key.
struct number_behind {
  MTF_FUNCTION double operator()(std::int32_t key_upper, std::int32_t key_lower, std::int32_t place) const {
    return number_of_token(of_halves(key_upper, key_lower), std::int64_t{place} + 1);
  }
};

/// All of x on every rank.
template <class X>
auto whole(X const& x) {
  return mtf::relayout<mtf::layout<typename X::mesh_type>>(x);
}

template <class Task, class Precision, class Backend>
class cached_model {
 public:
  cached_model(Backend& machine, mtf::layout_value const& layout, model_source const& source)
      : machine_(&machine),
        settings_(settings_of_source<Task>(source)),
        p_(parameters_of_source<Task, Precision>(machine, source)),
        rows_of_(ranks_of(layout, batch::id)),
        memory_of_(ranks_of(layout, memory::id)) {}

  /// What `model` asks goes to *this, which outlives it.
  model_on_ranks on_ranks() {
    auto const extent = [&](char const* name) { return machine_->layouts().extents().find(name).value(); };
    return {.vocabulary = extent("vocab"),
            .positions = extent("positions"),
            .rows_of = rows_of_,
            .memory_of = memory_of_,
            .speaks = speaks(),
            .asynchronous = !Backend::memory_is_the_hosts,
            .tell = [this](std::span<std::int32_t> message) { tell(message); },
            .begin = [this](std::int64_t n) { prompt_ = empty(rows_of_, prompt_memory_ = n); },
            .read = [this](std::vector<std::int32_t> const& ids, std::int64_t start) { return read(ids, start); },
            .arrange = [this](std::vector<std::int32_t> const& from, std::int64_t n) { arrange(from, n); },
            .keep = [this](std::int64_t row) { keep(row); },
            .next = [this](std::vector<std::int32_t> const& ids,
                           std::vector<std::int32_t> const& at) { return next(ids, at); },
            .go_on = [this](std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& at,
                            std::vector<row_sampling> const& how) { go_on(ids, at, how); },
            .found = [this] { return found(); }};
  }

 private:
  using layout_type = mtf::any_layout<>;
  using batch = typename Task::batch;
  using sequence = typename Task::sequence;
  using memory = typename Task::memory;
  using newest = typename Task::newest;
  using vocab = typename Task::vocab;
  using computed = typename computed_in<Precision>::type;
  using cache = typename Task::template cache<mtf::place<computed, layout_type, Backend>::template tensor>;
  using parameters =
      decltype(parameters_of_source<Task, Precision>(std::declval<Backend&>(), std::declval<model_source const&>()));
  using numbers = mtf::place<std::int32_t, layout_type, Backend>;
  using tokens = typename numbers::template tensor<batch, sequence>;
  using each = typename numbers::template tensor<batch>;
  using each_float = typename mtf::place<float, layout_type, Backend>::template tensor<batch>;
  struct one_row : mtf::dim<"one_row", 1> {};
  struct shorter : mtf::dim<"shorter"> {};  // the memory, before it grew

  [[nodiscard]] bool speaks() const { return machine_->ranks().rank() == 0; }
  void tell(std::span<std::int32_t> message) {
    auto& ranks = machine_->ranks();
    if (!speaks()) std::fill(message.begin(), message.end(), 0);
    auto const all = (mtf::axis_mask{1} << static_cast<unsigned>(ranks.mesh().ndim)) - 1;
    ranks.communicate(mtf::collective::all_reduce(all, mtf::combine::sum, mtf::element::i32, message.size()),
                      message.data(), message.data());
  }

  cache empty(std::int64_t rows, std::int64_t n) {
    machine_->layouts().give({{"batch", rows}, {"memory", n}});
    auto fresh = mtf::sized<cache>(*machine_);
    mtf::for_each_tensor([&](auto const&, auto& x) { x = mtf::zeros<std::remove_reference_t<decltype(x)>>(*machine_); },
                         fresh);
    return fresh;
  }
  /// Row `to` of one becomes row `from` of the other.
  static void put_row(cache& x, std::int64_t to, cache const& y, std::int64_t from) {
    mtf::for_each_tensor(
        [&](auto const&, auto& into, auto const& of) {
          into = mtf::update<batch, one_row>(std::move(into), mtf::slice<batch, one_row>(of, from), to);
        },
        x, y);
  }
  cache lengthened(cache const& x, std::int64_t rows, std::int64_t n) {
    auto longer = empty(rows, n);
    mtf::for_each_tensor(
        [&](auto const&, auto& into, auto const& of) {
          into = mtf::update<memory, shorter>(std::move(into), mtf::rename<memory, shorter>(of), 0);
        },
        longer, x);
    return longer;
  }
  void keep(std::int64_t row) {
    if (prompt_memory_ < memory_) prompt_ = lengthened(prompt_, rows_of_, prompt_memory_ = memory_);
    put_row(rows_, row, prompt_, 0);
  }
  void arrange(std::vector<std::int32_t> const& from, std::int64_t n) {
    auto before = std::exchange(rows_, {});
    auto const before_rows = std::exchange(row_count_, static_cast<std::int64_t>(from.size()));
    auto const before_n = std::exchange(memory_, n);
    bool const keeps = std::any_of(from.begin(), from.end(), [](auto i) { return i >= 0; });
    if (keeps && n > before_n) before = lengthened(before, before_rows, n);
    std::vector<std::int32_t> same(static_cast<std::size_t>(before_rows));
    std::iota(same.begin(), same.end(), 0);
    if (keeps && from == same) {
      rows_ = std::move(before);
      return;
    }
    rows_ = empty(row_count_, n);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] >= 0) put_row(rows_, static_cast<std::int64_t>(i), before, from[i]);
  }

  std::vector<float> read(std::vector<std::int32_t> const& ids, std::int64_t start) {
    std::vector<std::int32_t> all, places;
    for (std::int64_t row = 0; row < rows_of_; ++row)  // as many as the ranks along batch: all the same
      for (std::size_t i = 0; i < ids.size(); ++i) {
        all.push_back(ids[i]);
        places.push_back(static_cast<std::int32_t>(start) + static_cast<std::int32_t>(i));
      }
    mtf::extents_value const size{{"batch", rows_of_}, {"sequence", std::ssize(ids)}};
    auto logits = mtf::to_global(logits_behind(prompt_, mtf::from_global<tokens>(*machine_, all, size),
                                               mtf::from_global<tokens>(*machine_, places, size),
                                               typename Task::all_rows_at{start}));
    logits.resize(logits.size() / static_cast<std::size_t>(rows_of_));
    return logits;
  }
  std::vector<float> next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
    give(ids, places);
    return mtf::to_global(step());
  }
  void go_on(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places,
             std::vector<row_sampling> const& how) {
    if (ids.empty()) {
      places_ = each(places_ + 1);
    } else {
      give(ids, places);
      draw_by(how);
    }
    // (Newest is one position: the largest along it takes that away.)
    auto const logits = mtf::reduce_max<newest>(step());
    if (draws_)
      ids_ = each(mtf::sample<vocab>(logits, mtf::map(number_behind{}, key_upper_, key_lower_, places_), temperature_,
                                     min_p_, top_k_, top_p_));
    else
      ids_ = each(most_likely<vocab>(logits));
    auto const all = whole(ids_);
    if (speaks()) found_.emplace_back(all);
  }
  std::vector<std::int32_t> found() {
    auto const ids = found_.front().local();
    found_.pop_front();
    return ids;
  }
  /// How each row's tokens are drawn until this is said anew.
  void draw_by(std::vector<row_sampling> const& how) {
    draws_ = !how.empty();
    if (!draws_) return;
    mtf::extents_value const count{{"batch", row_count_}};
    auto const column = [&]<class X>(std::type_identity<X>, auto const& of) {
      std::vector<typename X::element_type> all;
      for (auto const& row : how) all.push_back(of(row));
      return mtf::from_global<X>(*machine_, all, count);
    };
    constexpr std::type_identity<each> whole_numbers;
    constexpr std::type_identity<each_float> floats;
    temperature_ = column(floats, [](row_sampling const& row) { return row.how.temperature; });
    min_p_ = column(floats, [](row_sampling const& row) { return row.how.min_p; });
    top_k_ = column(whole_numbers, [](row_sampling const& row) { return row.how.top_k; });
    top_p_ = column(floats, [](row_sampling const& row) { return row.how.top_p; });
    key_upper_ = column(whole_numbers, [](row_sampling const& row) { return upper_half(row.key); });
    key_lower_ = column(whole_numbers, [](row_sampling const& row) { return lower_half(row.key); });
  }
  /// The token of each row, and its position.
  void give(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
    mtf::extents_value const count{{"batch", row_count_}, {"sequence", 1}};
    ids_ = mtf::from_global<each>(*machine_, ids, count);
    places_ = mtf::from_global<each>(*machine_, places, count);
    column_ = mtf::from_global<tokens>(*machine_, std::vector<std::int32_t>(ids.size()), count);
  }
  auto step() {
    using at = typename Task::template each_row_at<each>;
    return logits_behind(rows_, tokens(column_ + ids_), tokens(column_ + places_), at{places_, each(places_ + 1)});
  }
  auto logits_behind(cache& kept, tokens const& ids, tokens const& places, auto const& at) {
    return with_settings<Task>(settings_, [&](auto const&... more) {
      return mtf::cast<float>(Task::continued(p_, kept, ids, places, at, more...));
    });
  }

  Backend* machine_;
  typename settings_of_task<Task>::type settings_;
  parameters p_;
  std::int64_t rows_of_, memory_of_, row_count_ = 0, memory_ = 0, prompt_memory_ = 0;
  cache prompt_, rows_;
  each ids_, places_;  // of the rows' newest tokens
  tokens column_;      // 0, of all rows
  // How the rows' tokens are drawn, if not the most likely ones are taken.
  bool draws_ = false;
  each_float temperature_, min_p_, top_p_;
  each top_k_, key_upper_, key_lower_;
  std::deque<mtf::host_copy<decltype(whole(std::declval<each const&>()))>> found_;
};

}  // namespace mtf::tools
