#include "work.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <mtf/data.hpp>

#include "progress.hpp"

namespace prepare {
namespace {

constexpr std::size_t piece_size = 1 << 18U;

/// All pieces of all files, in order.
class line_of_pieces {
 public:
  line_of_pieces(source_options const& options, break_function break_behind)
      : options_(&options), break_behind_(std::move(break_behind)), paths_(files_of(options)) {
    for (auto const& path : paths_) {
      files_.push_back(std::make_unique<mtf::text_file>(path));
      files_.back()->read(
          [&](std::string_view text) { sources_.push_back({path, is_json_lines(path), text, files_.back().get()}); });
      bytes_ += sources_.back().bytes.size();
    }
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Several short documents, or a piece of one; empty at the end.
  std::vector<piece> take() {
    std::vector<piece> taken;
    for (std::size_t size = 0; size < piece_size && file_ < sources_.size();) {
      auto const& from = sources_[file_];
      if (at_ == from.bytes.size()) {
        ++file_;
        at_ = 0;
        continue;
      }
      from.file->read([&](std::string_view) {
        taken.push_back(next_piece(from, at_, piece_size, *options_, break_behind_));
        taken.back().keep_own();
      });
      size += taken.back().bytes.size() + 1;
    }
    return taken;
  }

 private:
  source_options const* options_;
  break_function break_behind_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<mtf::text_file>> files_;
  std::vector<source> sources_;
  std::size_t file_ = 0, at_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Lets threads work on pieces side by side, and hands over what came of them in order. The first error in the order of
/// the input is the one that is thrown, whatever the number of threads.
void in_order(line_of_pieces& line, int threads, bool shows_progress,
              std::function<std::function<std::function<void()>(std::vector<piece> const&)>()> const& worker) {
  progress bar(line.bytes(), shows_progress);
  struct result {
    std::function<void()> hand_over;
    std::exception_ptr wrong;
    std::uint64_t bytes = 0;
  };
  std::mutex taking, handing;
  std::condition_variable turn_changed;
  std::map<std::uint64_t, result> ready;
  std::uint64_t next = 0, turn = 0;
  auto const most_ready = 16 * static_cast<std::uint64_t>(threads);  // more would be memory without end
  bool someone_hands = false;
  std::exception_ptr failure;
  // One thread at a time hands over what is ready, while others go on.
  auto const hand = [&](std::uint64_t mine, result r) {
    std::unique_lock lock(handing);
    ready.emplace(mine, std::move(r));
    if (someone_hands) turn_changed.wait(lock, [&] { return !someone_hands || failure || mine < turn + most_ready; });
    if (someone_hands) return;
    someone_hands = true;
    while (!failure && !ready.empty() && ready.begin()->first == turn) {
      auto const now = std::move(ready.begin()->second);
      ready.erase(ready.begin());
      lock.unlock();
      std::exception_ptr wrong = now.wrong;
      try {
        if (!wrong) now.hand_over();
      } catch (...) {
        wrong = std::current_exception();
      }
      bar.add(now.bytes);
      lock.lock();
      failure = wrong;
      ++turn;
      turn_changed.notify_all();
    }
    someone_hands = false;
    turn_changed.notify_all();
    turn_changed.wait(lock, [&] { return failure || mine < turn + most_ready; });
  };
  auto const failed = [&] {
    std::lock_guard const lock(handing);
    return failure != nullptr;
  };
  auto const work = [&] {
    std::function<std::function<void()>(std::vector<piece> const&)> work_on;
    std::exception_ptr wrong;
    try {
      work_on = worker();
    } catch (...) {
      wrong = std::current_exception();
    }
    while (!failed()) {
      std::unique_lock take(taking);
      std::vector<piece> pieces;
      try {
        pieces = line.take();
      } catch (...) {
        wrong = std::current_exception();
      }
      if (pieces.empty() && !wrong) return;
      auto const mine = next++;
      take.unlock();
      result r{{}, wrong, 0};
      try {
        if (!wrong) r.hand_over = work_on(pieces);
      } catch (...) {
        r.wrong = std::current_exception();
      }
      for (auto const& p : pieces) r.bytes += p.bytes.size();
      hand(mine, std::move(r));
    }
  };
  std::vector<std::thread> others;
  // The output is the same for any number: where the system gives no more threads, those that it gave do the work.
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (std::system_error const&) {
  }
  work();
  for (auto& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

/// Calls f(text, ends) for all texts of a piece: documents, or parts of one, the last of which ends it.
void for_each_text(piece const& p, std::string const& field, std::function<void(std::string_view, bool)> const& f) {
  if (p.from->json_lines)
    for_each_json_document(p, field, [&](std::string_view text) { f(text, true); });
  else
    f(p.bytes, p.ends_document);
}

}  // namespace

summary tokenize(source_options const& sources, mtf::tokenizer const& with, std::string const& to, int threads,
                 bool shows_progress) {
  line_of_pieces line(sources,
                      [&](std::string_view text, std::size_t about) { return with.break_behind(text, about); });
  mtf::token_writer out(to, with.vocabulary(), with.end_of_text());
  struct part {
    std::size_t end = 0;  // among the ids
    bool ends = true;
  };
  in_order(line, threads, shows_progress, [&] {
    return [&, own = std::shared_ptr<mtf::tokenizer>(with.clone())](std::vector<piece> const& pieces) {
      auto ids = std::make_shared<std::vector<std::uint32_t>>();
      std::vector<part> parts;
      for (auto const& p : pieces)
        for_each_text(p, sources.field, [&](std::string_view text, bool ends) {
          own->encode(text, *ids);
          parts.push_back({ids->size(), ends});
        });
      return [&out, ids, parts = std::move(parts)] {
        std::size_t begin = 0;
        for (auto const& p : parts) {
          out.add(std::span(*ids).subspan(begin, p.end - begin));
          if (p.ends) out.end_document();
          begin = p.end;
        }
      };
    };
  });
  out.end_document();
  if (out.tokens() == 0) throw mtf::user_error("there is no text: " + sources.paths.front() + " has no documents");
  out.finish();
  return {line.bytes(), out.documents(), out.tokens()};
}

summary train_bpe(source_options const& sources, std::uint32_t vocabulary, std::string const& to, int threads,
                  bool shows_progress) {
  // Of GPT-2's pattern, which the trainer has.
  line_of_pieces line(sources, mtf::bpe_trainer::break_behind);
  mtf::bpe_trainer all;
  std::mutex adding;
  std::vector<std::shared_ptr<mtf::bpe_trainer>> trainers;
  in_order(line, threads, shows_progress, [&] {
    auto own = std::make_shared<mtf::bpe_trainer>();
    std::lock_guard const lock(adding);
    trainers.push_back(own);
    return [&, own](std::vector<piece> const& pieces) {
      for (auto const& p : pieces)
        for_each_text(p, sources.field, [&](std::string_view text, bool) { own->add(text); });
      return [] {};
    };
  });
  for (auto const& t : trainers) all.add(*t);
  auto const json = all.train(vocabulary);
  mtf::write_text_file(to, json);
  return {line.bytes(), 0, mtf::bpe_tokenizer(to).vocabulary()};
}

}  // namespace prepare
