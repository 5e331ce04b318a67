#pragma once
// A task's model with its caches, on a rank.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/mtf.hpp>
#include <mtf/ops/indexing.hpp>

#include "../model_source.hpp"
#include "../model_under_layout.hpp"
#include "../task.hpp"
#include "model_on_ranks.hpp"

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
            .speaks = machine_->ranks().rank() == 0,
            .tell = [this](std::span<std::int32_t> message) { tell(message); },
            .begin = [this](std::int64_t n) { prompt_ = empty(rows_of_, prompt_memory_ = n); },
            .read = [this](std::vector<std::int32_t> const& ids, std::int64_t start) { return read(ids, start); },
            .arrange = [this](std::vector<std::int32_t> const& from, std::int64_t n) { arrange(from, n); },
            .keep = [this](std::int64_t row) { keep(row); },
            .next = [this](std::vector<std::int32_t> const& ids,
                           std::vector<std::int32_t> const& at) { return next(ids, at); }};
  }

 private:
  using layout_type = mtf::any_layout<>;
  using batch = typename Task::batch;
  using sequence = typename Task::sequence;
  using memory = typename Task::memory;
  using computed = typename computed_in<Precision>::type;
  using cache = typename Task::template cache<mtf::place<computed, layout_type, Backend>::template tensor>;
  using parameters =
      decltype(parameters_of_source<Task, Precision>(std::declval<Backend&>(), std::declval<model_source const&>()));
  using numbers = mtf::place<std::int32_t, layout_type, Backend>;
  using tokens = typename numbers::template tensor<batch, sequence>;
  using each = typename numbers::template tensor<batch>;
  struct one_row : mtf::dim<"one_row", 1> {};
  struct shorter : mtf::dim<"shorter"> {};  // the memory, before it grew

  void tell(std::span<std::int32_t> message) {
    auto& ranks = machine_->ranks();
    if (ranks.rank() != 0) std::fill(message.begin(), message.end(), 0);
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
    auto logits = continued(prompt_, rows_of_, all, places, typename Task::all_rows_at{start});
    logits.resize(logits.size() / static_cast<std::size_t>(rows_of_));
    return logits;
  }
  std::vector<float> next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
    std::vector<std::int32_t> lengths;
    for (auto const at : places) lengths.push_back(at + 1);
    mtf::extents_value const count{{"batch", row_count_}};
    using at = typename Task::template each_row_at<each>;
    return continued(
        rows_, row_count_, ids, places,
        at{mtf::from_global<each>(*machine_, places, count), mtf::from_global<each>(*machine_, lengths, count)});
  }
  std::vector<float> continued(cache& kept, std::int64_t rows, std::vector<std::int32_t> const& ids,
                               std::vector<std::int32_t> const& places, auto const& at) {
    mtf::extents_value const size{{"batch", rows}, {"sequence", static_cast<std::int64_t>(ids.size()) / rows}};
    auto const tokens_in = mtf::from_global<tokens>(*machine_, ids, size);
    auto const places_in = mtf::from_global<tokens>(*machine_, places, size);
    return with_settings<Task>(settings_, [&](auto const&... more) {
      return mtf::to_global(mtf::cast<float>(Task::continued(p_, kept, tokens_in, places_in, at, more...)));
    });
  }

  Backend* machine_;
  typename settings_of_task<Task>::type settings_;
  parameters p_;
  std::int64_t rows_of_, memory_of_, row_count_ = 0, memory_ = 0, prompt_memory_ = 0;
  cache prompt_, rows_;
};

}  // namespace mtf::tools
