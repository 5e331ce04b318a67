#include "work.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <mtf/data.hpp>

#include "progress.hpp"

namespace prepare {
namespace {

constexpr std::size_t piece_size = 1 << 18U;

/// All pieces of all files, in order. Each thread takes the next one when it is done with its own.
class line_of_pieces {
 public:
  line_of_pieces(source_options const& options, break_function break_behind)
      : options_(&options), break_behind_(std::move(break_behind)), paths_(files_of(options)) {
    for (auto const& path : paths_) {
      files_.push_back(std::make_unique<mtf::text_file>(path));
      sources_.push_back({path, is_json_lines(path), files_.back()->text()});
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
      taken.push_back(next_piece(from, at_, piece_size, *options_, break_behind_));
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

/// Lets threads work on pieces side by side, each in turn hand over what came of them. The first error in the order of
/// the input is the one that is thrown, whatever the number of threads.
void in_order(line_of_pieces& line, int threads, bool shows_progress,
              std::function<std::function<std::function<void()>(std::vector<piece> const&)>()> const& worker) {
  progress bar(line.bytes(), shows_progress);
  std::mutex taking, handing;
  std::condition_variable turn_changed;
  std::uint64_t next = 0, turn = 0;
  std::exception_ptr failure;
  auto const work = [&] {
    std::function<std::function<void()>(std::vector<piece> const&)> work_on;
    std::exception_ptr wrong;
    try {
      work_on = worker();
    } catch (...) {
      wrong = std::current_exception();
    }
    while (true) {
      std::unique_lock take(taking);
      auto const pieces = line.take();
      if (pieces.empty()) return;
      auto const mine = next++;
      take.unlock();
      std::function<void()> hand_over;
      try {
        if (!wrong) hand_over = work_on(pieces);
      } catch (...) {
        wrong = std::current_exception();
      }
      std::unique_lock hand(handing);
      turn_changed.wait(hand, [&] { return turn == mine || failure; });
      if (failure) return;
      try {
        if (wrong) std::rethrow_exception(wrong);
        hand_over();
      } catch (...) {
        failure = std::current_exception();
      }
      std::uint64_t bytes = 0;
      for (auto const& p : pieces) bytes += p.bytes.size();
      bar.add(bytes);
      ++turn;
      turn_changed.notify_all();
      if (failure) return;
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
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
