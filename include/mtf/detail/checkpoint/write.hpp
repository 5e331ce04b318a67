#pragma once
// Writing a checkpoint: each rank puts its bytes where they belong in the final files, beside what else it does.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/backend/collectives.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/beside.hpp>
#include <mtf/detail/checkpoint/checksum.hpp>
#include <mtf/detail/checkpoint/direct_file.hpp>
#include <mtf/detail/checkpoint/directory.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/manifest.hpp>
#include <mtf/detail/checkpoint/stored_form.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>

namespace mtf::detail {

/// A file to be: its first bytes, and of which tensors its arrays are.
struct file_to_write {
  std::string name;
  safetensors_header header;
  std::string first;
  std::map<std::string, std::vector<std::size_t>> tensors_of;  // by the array's name

  [[nodiscard]] std::uint64_t bytes() const {
    return header.data + (header.arrays.empty() ? 0 : header.arrays.back().end);
  }
};

/// "model.safetensors", or "model-00001-of-00003.safetensors": the names that the field's tools look for.
inline std::string name_of_file(std::string const& part, std::size_t i, std::size_t of) {
  if (of == 1) return part + ".safetensors";
  auto const padded = [](std::size_t n) {
    auto const text = std::to_string(n);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return part + "-" + padded(i + 1) + "-of-" + padded(of) + ".safetensors";
}

/// The part whose tensors are in a file of such a name.
inline std::string part_of_file(std::string_view name) {
  auto const drop = [&](std::string_view end) {
    bool const there = name.ends_with(end);
    if (there) name.remove_suffix(end.size());
    return there;
  };
  auto const drop_number = [&] { name = name.substr(0, name.find_last_not_of("0123456789") + 1); };
  drop(".safetensors");
  auto const whole = name;
  drop_number();
  if (!drop("-of-")) return std::string(whole);
  drop_number();
  return std::string(drop("-") ? name : whole);
}

/// An array to be, and its tensors by their numbers among all.
struct array_to_write {
  std::string name;
  std::vector<std::size_t> tensors;
};
/// The arrays of a part, `first_tensor` the number of its first tensor. A user_error: one that its tensors do not fill,
/// or that they see differently.
inline std::vector<array_to_write> arrays_of(stored_part const& part, std::size_t first_tensor) {
  std::vector<array_to_write> arrays;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < part.tensors.size(); ++i) {
    auto const& name = part.tensors[i].array();
    auto const [at, fresh] = known.emplace(name, arrays.size());
    if (fresh) arrays.push_back({name, {}});
    arrays[at->second].tensors.push_back(first_tensor + i);
  }
  for (auto const& a : arrays) {
    auto const& first = part.tensors[a.tensors.front() - first_tensor];
    std::uint64_t elements = 0;
    std::set<backend::index> begins;
    bool same = true;
    for (auto const i : a.tensors) {
      auto const& t = part.tensors[i - first_tensor];
      same = same && t.shape() == first.shape() && t.element() == first.element();
      elements += static_cast<std::uint64_t>(t.where.global_size());
      begins.insert(t.form ? t.form->offset : 0);
    }
    if (!same || begins.size() != a.tensors.size() ||
        elements * static_cast<std::uint64_t>(first.element_size()) != first.array_bytes())
      throw user_error("the array " + a.name + " is not whole: the tensors that are written there, of which one is " +
                       first.name + ", are not its parts, each once");
  }
  return arrays;
}

/// The files of one part: one, or several of up to `largest` bytes; `first_tensor`: the number of its first tensor
/// among all.
inline std::vector<file_to_write> files_of(stored_part const& part, std::size_t first_tensor, std::uint64_t largest) {
  std::vector<file_to_write> files(1);
  std::uint64_t filled = 0;
  for (auto& a : arrays_of(part, first_tensor)) {
    auto const& t = part.tensors[a.tensors.front() - first_tensor];
    if (filled > 0 && filled + t.array_bytes() > largest) {
      files.emplace_back();
      filled = 0;
    }
    filled += t.array_bytes();
    auto& f = files.back();
    f.tensors_of.emplace(a.name, std::move(a.tensors));
    f.header.arrays.push_back({a.name, std::string(stored_name_of(t.element())), t.shape()});
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].name = name_of_file(part.name, i, files.size());
    files[i].header.metadata["format"] = "pt";  // without it transformers refuses a file
    files[i].first = lay_out(files[i].header);
  }
  return files;
}

/// What Hugging Face's tools read where a model has several files.
inline std::string index_text(std::vector<file_to_write> const& files) {
  nlohmann::ordered_json::object_t files_by_name;
  std::uint64_t size = 0;
  for (auto const& f : files)
    for (auto const& a : f.header.arrays) {
      files_by_name.emplace_back(a.name, f.name);
      size += a.end - a.begin;
    }
  nlohmann::ordered_json const index{{"metadata", {{"total_size", size}}}, {"weight_map", std::move(files_by_name)}};
  return index.dump(2) + "\n";
}

/// The name of a directory that is to be written, without a slash at its end. A user_error: one that is a file's.
inline std::string directory_to_write(std::string name) {
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  if (name.empty()) throw user_error("the name of a directory was expected, to write tensors into; it is empty");
  if (name.ends_with(".safetensors"))
    throw user_error(name + " is a file's name, and a directory is written, with model.safetensors in it: leave out " +
                     "the ending");
  return name;
}

/// That a directory may be written, or replaced, and so what was interrupted beside it, with these texts; the texts of
/// the checkpoint that is there. A user_error if something would be lost.
inline std::set<std::string> check_may_be_written(std::string const& directory, std::set<std::string> const& texts) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (fs::exists(directory, none) && !is_checkpoint(directory) && !fs::is_empty(directory, none))
    throw user_error(directory + " is there, and is no checkpoint that could be replaced: give another directory");
  auto replaced = texts_of(directory);
  check_is_checkpoints_alone(directory, replaced);
  for (auto const* const end : {".writing", ".old"}) {
    auto const left = directory + end;  // what was interrupted has no manifest
    check_is_checkpoints_alone(left, is_checkpoint(left) ? texts_of(left) : texts);
  }
  return replaced;
}
/// Makes an empty directory, in the place of what was interrupted. One that cannot be made is a user_error.
inline void make_directory(std::string const& directory, std::set<std::string> const& texts) {
  try {
    remove_checkpoint(directory, texts);
    std::filesystem::create_directories(directory);
  } catch (std::filesystem::filesystem_error const& e) {
    throw user_error(directory + " cannot be made: " + e.code().message());
  }
}

/// A checkpoint on its way to the disk. It is written in DIRECTORY.writing, gets its manifest when every rank has
/// written its part, and then the name DIRECTORY; what had that name is there until then. All ranks make the same
/// calls.
class checkpoint_writing {
 public:
  /// Begins. With `kept`, beside what else the rank does, from copies of the shards there: the tensors may change
  /// when it returns. A directory that cannot be made, and one of that name which is no checkpoint, are a user_error.
  checkpoint_writing(collectives& ranks, std::string directory, std::vector<stored_part> const& parts,
                     checkpoint_notes notes, std::uint64_t largest_file, copies* kept,
                     std::map<std::string, std::string> texts = {})
      : directory_(directory_to_write(std::move(directory))),
        under_way_(directory_ + ".writing"),
        notes_(std::move(notes)),
        texts_(std::move(texts)) {
    std::size_t first = 0;
    for (auto const& part : parts) {
      auto files = files_of(part, first, largest_file);
      if (files.size() > 1) indices_[part.name + ".safetensors.index.json"] = index_text(files);
      std::move(files.begin(), files.end(), std::back_inserter(files_));
      for (auto const& t : part.tensors) tensors_.push_back(t);
      first += part.tensors.size();
    }
    agree(ranks, ranks.rank() == 0 ? failure_of([&] { make_files(); }) : "");
    mesh_ = ranks.mesh();
    rank_ = ranks.rank();
    remainders_.resize(tensors_.size());
    shards_.resize(tensors_.size());
    std::size_t copied = 0;
    std::vector<std::size_t> to_copy;
    turns_of_replicas turns;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      auto const& t = tensors_[i];
      if (!turns.mine(t, mesh_, rank_)) continue;
      if (kept == nullptr) shards_[i] = t.memory();
      if (shards_[i] != nullptr) continue;
      to_copy.push_back(i);
      copied += t.shard_bytes(mesh_);
    }
    auto* memory = (kept == nullptr ? own_copies_ : *kept).room_for(copied);
    for (auto const i : to_copy) {
      tensors_[i].to_host(memory);
      shards_[i] = memory;
      memory += tensors_[i].shard_bytes(mesh_);
    }
    if (kept == nullptr) pace_.hurry();
    thread_ = std::thread([this] {
      failure_ = failure_of([&] { write_shards(); });
      done_.store(true, std::memory_order_release);
    });
  }
  checkpoint_writing(checkpoint_writing const&) = delete;
  checkpoint_writing& operator=(checkpoint_writing const&) = delete;
  /// Of what is not complete nothing is left, as the disk may be full.
  ~checkpoint_writing() {
    pace_.hurry();
    if (thread_.joinable()) thread_.join();
  }

  /// Whether all ranks have written their parts.
  [[nodiscard]] bool written(collectives& ranks) const { return !ranks.any(!done_.load(std::memory_order_acquire)); }
  /// Waits until they have, and completes the checkpoint. What went wrong on any is a user_error on all.
  void complete(collectives& ranks) {
    pace_.hurry();
    thread_.join();
    agree(ranks, failure_);
    auto const all = of_all_ranks(ranks, remainders_);
    agree(ranks, ranks.rank() == 0 ? failure_of([&] { give_name(all); }) : "");
  }
  [[nodiscard]] std::string const& directory() const { return directory_; }

 private:
  void make_files() {
    for (auto const& [name, text] : texts_) begun_.texts.insert(name);
    replaced_texts_ = check_may_be_written(directory_, begun_.texts);
    begun_.path = under_way_;
    make_directory(under_way_, begun_.texts);
    for (auto const& f : files_) {
      auto const out = file::create(path_of(f), f.bytes());
      out.write(0, f.first.data(), f.first.size());
      out.sync();
    }
    for (auto const& [name, text] : indices_) replace_by(under_way_ + "/" + name, text);
    for (auto const& [name, text] : texts_) replace_by(under_way_ + "/" + name, text);
  }
  [[nodiscard]] std::string path_of(file_to_write const& f) const { return under_way_ + "/" + f.name; }

  // By a thread of its own: it touches the shards' copies and the files, nothing else.
  void write_shards() {
    for (auto const& f : files_) {
      direct_file out(path_of(f), mixed_parts(f));
      for (auto const& a : f.header.arrays)
        for (auto const i : f.tensors_of.at(a.name)) {
          if (shards_[i] == nullptr) continue;
          auto const why = failure_of([&] {
            remainders_[i] =
                static_cast<std::int32_t>(write_shard(out, f.header.data + a.begin, tensors_[i], shards_[i]));
          });
          if (!why.empty()) throw user_error(why + "; it was the tensor " + a.name);
        }
      std::uint64_t at = 0;
      auto const why = failure_of([&] { out.write_later(at); });
      if (!why.empty())
        for (auto const& a : f.header.arrays)
          if (at < f.header.data + a.end) throw user_error(why + "; it was the tensor " + a.name);
      out.sync();
    }
  }
  // Tensors of which each rank has many short ranges. All ranks find the same.
  [[nodiscard]] std::vector<file_part> mixed_parts(file_to_write const& f) const {
    std::vector<file_part> parts;
    for (auto const& a : f.header.arrays) {
      bool many_short = false;
      for (auto const i : f.tensors_of.at(a.name)) {
        auto const& t = tensors_[i];
        auto const range = static_cast<std::size_t>(range_length(form_of(t), t.where, mesh_)) * t.element_size();
        many_short = many_short || (range < direct_file::worth_it && t.shard_bytes(mesh_) >= many * range);
      }
      if (many_short) parts.push_back({f.header.data + a.begin, f.header.data + a.end});
    }
    return parts;
  }
  [[nodiscard]] std::uint32_t write_shard(direct_file& out, std::uint64_t at, stored_tensor const& t,
                                          char const* shard) {
    remainder_of_ranges remainder;
    auto const size = static_cast<std::uint64_t>(t.element_size());
    std::vector<char> in_order(t.form ? piece_in_order : 0);
    for_each_range(form_of(t), t.where, mesh_, rank_, [&](stored_range const& r) {
      auto const in_file = at + r.at * size;
      for (std::uint64_t done = 0, bytes = r.count * size, some = 0; done < bytes; done += some) {
        some = direct_file::piece(in_file + done, bytes - done);
        auto const* from = shard + r.mine * size + done;
        if (r.step != 1) {
          some = std::min<std::uint64_t>(bytes - done, in_order.size());
          with_bytes(size, [&]<class Bytes>() {
            gather_elements<Bytes>(shard + (r.mine + done / size * r.step) * size, in_order.data(), some / size,
                                   r.step);
          });
          from = in_order.data();
        }
        remainder.add(r.at * size + done, from, static_cast<std::size_t>(some));
        if (r.step == 1)
          out.write(in_file + done, from, static_cast<std::size_t>(some));
        else
          out.write_now(in_file + done, from, static_cast<std::size_t>(some));
        pace_.keep();
      }
    });
    return remainder.of_whole(t.array_bytes());
  }

  void give_name(std::vector<std::int32_t> const& remainders) const {
    namespace fs = std::filesystem;
    manifest m{.notes = notes_, .files = {}};
    for (auto const& [name, text] : texts_) m.texts[name] = checksum_of(text.data(), text.size());
    for (auto const& f : files_) {
      manifest_file about{
          .name = f.name, .bytes = f.bytes(), .header = checksum_of(f.first.data(), f.first.size()), .arrays = {}};
      for (auto const& [name, tensors] : f.tensors_of) {
        std::uint32_t whole = 0;
        for (auto const i : tensors)
          for (std::size_t at = i; at < remainders.size(); at += tensors_.size())
            whole ^= static_cast<std::uint32_t>(remainders[at]);
        about.arrays[name] = checksum_from(whole, tensors_[tensors.front()].array_bytes());
      }
      m.files.push_back(std::move(about));
    }
    replace_by(under_way_ + "/manifest.json", manifest_text(m));
    sync_directory(under_way_);
    try {
      // In one step, where the file system can: at no time is there none of that name.
      bool const there = fs::exists(directory_);
      if (there && !exchange_names(under_way_, directory_)) {
        remove_checkpoint(old_, replaced_texts_);
        fs::rename(directory_, old_);
        fs::rename(under_way_, directory_);
        remove_checkpoint(old_, replaced_texts_);
      } else if (there) {
        remove_checkpoint(under_way_, replaced_texts_);
      } else {
        fs::rename(under_way_, directory_);
      }
    } catch (fs::filesystem_error const& e) {
      throw user_error(directory_ + " cannot be written: " + e.code().message());
    }
    auto const above = fs::path(directory_).parent_path();
    sync_directory(above.empty() ? "." : above.string());
  }

  /// A directory that is removed in the end, if it still has this name.
  struct begun {
    std::string path;
    std::set<std::string> texts{};
    ~begun() {
      if (!path.empty()) remove_checkpoint(path, texts);
    }
  };

  static constexpr std::size_t piece_in_order = std::size_t{1} << 16U;
  static constexpr std::size_t many = 64;  // whose calls would take longer than to map the tensor

  std::string directory_, under_way_, old_ = directory_ + ".old";
  begun begun_;  // on rank 0
  checkpoint_notes notes_;
  std::vector<file_to_write> files_;
  std::map<std::string, std::string> indices_, texts_;
  std::set<std::string> replaced_texts_;  // of the checkpoint that had the name, on rank 0
  std::vector<stored_tensor> tensors_;
  mesh_shape mesh_;
  int rank_ = 0;
  std::vector<char const*> shards_;  // that this rank writes; the others are null
  copies own_copies_;
  pace pace_;
  std::vector<std::int32_t> remainders_;
  std::string failure_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace mtf::detail
