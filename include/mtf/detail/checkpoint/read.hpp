#pragma once
// Reading checkpoints and other directories of safetensors files: each rank reads the bytes of its shards and no
// others.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/checksum.hpp>
#include <mtf/detail/checkpoint/convert.hpp>
#include <mtf/detail/checkpoint/copy_past_caches.hpp>
#include <mtf/detail/checkpoint/directory.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/manifest.hpp>
#include <mtf/detail/checkpoint/mapped_file.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/detail/checkpoint/write.hpp>
#include <mtf/detail/core/name_pattern.hpp>

namespace mtf::detail {

/// An open safetensors file.
struct tensor_file {
  file in;
  safetensors_header header;
  std::uint32_t header_checksum = 0;
  std::unique_ptr<mapped_file> data;
  std::string part;  // whose tensors it has; empty: of whatever is read, as another tool's files are

  explicit tensor_file(std::string const& path) : in(file::to_read(path)) {
    auto const begin = std::min<std::uint64_t>(in.size(), 8);
    std::string text(static_cast<std::size_t>(begin), '\0');
    in.read(0, text.data(), text.size());
    std::uint64_t length = 0;
    for (std::size_t i = text.size(); i-- > 0;) length = length << 8U | static_cast<unsigned char>(text[i]);
    if (begin == 8 && length <= in.size() - 8 && length <= longest_safetensors_header) {
      text.resize(static_cast<std::size_t>(8 + length));
      in.read(8, text.data() + 8, text.size() - 8);
    }
    header = safetensors_from(text, in.size(), path);
    header_checksum = checksum_of(text.data(), text.size());
    data = std::make_unique<mapped_file>(in);
    data->expect_long_reads();
  }
};

/// Where one tensor is in the files.
struct tensor_source {
  std::size_t file;
  stored_array array;
  std::optional<std::uint32_t> checksum;
};

/// The files of a checkpoint, of a directory as Hugging Face's tools write it, or one file.
class tensor_files {
 public:
  explicit tensor_files(std::string path) : path_(std::move(path)) {
    std::error_code none;
    if (is_checkpoint(path_)) {
      auto const m = read_manifest(path_);
      notes = m.notes;
      for (auto const& f : m.files) add_file(path_ + "/" + f.name, &f);
    } else if (path_.ends_with(".writing") ||  // its files have headers and their full length, and zeros
               (std::filesystem::exists(path_ + ".writing", none) && !std::filesystem::exists(path_, none))) {
      throw user_error(path_ + " is no checkpoint: it was begun, and not completed");
    } else if (!std::filesystem::is_directory(path_, none)) {
      add_file(path_, nullptr);
    } else if (auto const index = path_ + "/model.safetensors.index.json"; std::filesystem::exists(index, none)) {
      for (auto const& name : files_in(index)) add_file(path_ + "/" + name, nullptr);
    } else if (auto const only = path_ + "/model.safetensors"; std::filesystem::exists(only, none)) {
      add_file(only, nullptr);
    } else {
      throw user_error(path_ + " is no checkpoint: it has neither manifest.json nor model.safetensors");
    }
  }

  checkpoint_notes notes;

  /// Where this tensor is. None, one of another shape, or of elements that cannot be read as these: a user_error.
  tensor_source const& of(stored_tensor const& t) const {
    auto const found = sources_.find(t.name);
    if (found == sources_.end()) throw user_error(path_ + " has no tensor " + t.name + names_like());
    auto const& s = found->second;
    if (s.array.shape != t.shape())
      throw user_error(name_of(s) + " is [" + extents_text(s.array.shape) + "]; here it is [" + shape_text(t) + "]");
    if (converter_for(s.array.type, t.element()) == nullptr)
      throw user_error(name_of(s) + " has elements " + s.array.type + ", which are not read as " +
                       std::string(stored_name_of(t.element())));
    return s;
  }
  /// "DIR/model.safetensors: the tensor blocks.0.w1"
  [[nodiscard]] std::string name_of(tensor_source const& s) const {
    return files_[s.file].in.path() + ": the tensor " + s.array.name;
  }
  [[nodiscard]] tensor_file const& file_of(tensor_source const& s) const { return files_[s.file]; }
  /// The tensors of these parts that are here. A user_error: one of them that is not, and may not be missing; one in a
  /// file of theirs that is none of them, and may not be left over.
  [[nodiscard]] std::vector<stored_tensor> to_read(std::vector<stored_part> const& parts,
                                                   load_options const& may) const {
    auto const listed = [](std::vector<std::string> const& patterns, std::string const& name) {
      return std::any_of(patterns.begin(), patterns.end(), [&](auto const& p) { return name_matches(p, name); });
    };
    std::vector<stored_tensor> all;
    std::set<std::string> names, read{""};  // of tensors; of parts in whose files they are
    for (auto const& part : parts) {
      read.insert(part.name);
      for (auto const& t : part.tensors) {
        names.insert(t.name);
        if (!sources_.contains(t.name) && listed(may.may_be_missing, t.name)) continue;
        read.insert(file_of(of(t)).part);
        all.push_back(t);
      }
    }
    if (parts.empty()) return all;
    std::vector<tensor_source const*> left_over;
    for (auto const& [name, s] : sources_)
      if (read.contains(file_of(s).part) && !names.contains(name) && !listed(may.may_be_left_over, name))
        left_over.push_back(&s);
    if (left_over.empty()) return all;
    auto const others = left_over.size() == 1 ? "" : " (one of " + std::to_string(left_over.size()) + ")";
    throw user_error(name_of(*left_over.front()) + " is not in the structure that is read" + others +
                     ": it is another model's, or is to be listed in load_options::may_be_left_over");
  }

 private:
  void add_file(std::string const& path, manifest_file const* known) {
    auto& f = files_.emplace_back(path);
    if (known != nullptr) f.part = part_of_file(known->name);
    if (known != nullptr && (known->bytes != f.in.size() || known->header != f.header_checksum))
      throw user_error(path + " is damaged: its length or its header are not those that manifest.json says");
    for (auto const& a : f.header.arrays) {
      tensor_source s{files_.size() - 1, a, {}};
      if (known != nullptr) {
        auto const checksum = known->arrays.find(a.name);
        if (checksum == known->arrays.end())
          throw user_error(path + ": the tensor " + a.name + " is not in manifest.json, which has a checksum of each");
        s.checksum = checksum->second;
      }
      if (!sources_.emplace(a.name, s).second)
        throw user_error(path + ": the tensor " + a.name + " is in another file of " + path_ + " too");
    }
  }
  static std::set<std::string> files_in(std::string const& index) {
    auto const json = strict_json(text_of_file(index, 1U << 28U), index);
    std::set<std::string> names;
    try {
      for (auto const& [tensor, name] : json.at("weight_map").items())
        names.insert(name_beside(name.get<std::string>(), index + ": the tensor " + tensor));
    } catch (nlohmann::json::exception const& e) {
      throw user_error(index + " is no index of safetensors files: " + e.what());
    }
    return names;
  }
  [[nodiscard]] std::string names_like() const {
    std::string text = "; it has ";
    int n = 0;
    for (auto const& [name, s] : sources_) {
      if (n == 3) return text + ", ... (" + std::to_string(sources_.size()) + " in all)";
      text += (n++ == 0 ? "" : ", ") + name;
    }
    return n == 0 ? "; it has none" : text;
  }
  static std::string extents_text(std::vector<std::int64_t> const& shape) {
    std::string text;
    for (auto const n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return text;
  }
  static std::string shape_text(stored_tensor const& t) {
    std::string text;
    for (int d = 0; d < t.where.ndim; ++d)
      text += (d == 0 ? "" : ", ") + std::string(t.where[d].name) + " " + std::to_string(t.where[d].extent);
    return text;
  }

  std::string path_;
  std::vector<tensor_file> files_;
  std::map<std::string, tensor_source> sources_;
};

/// Reads a rank's shard of one tensor into `shard`; the remainder of what was read. `file_data`: the file's bytes.
inline std::uint32_t read_shard(char const* file_data, tensor_file const& from, tensor_source const& s,
                                std::string const& name, stored_tensor const& t, mesh_shape const& mesh, int rank,
                                char* shard) {
  struct piece {
    std::uint64_t begin;  // in the tensor, in bytes
    std::span<char const> data;
    char* to;
  };
  auto const stored = stored_type_of(s.array.type)->bytes, size = static_cast<std::uint64_t>(t.element_size());
  bool const same = s.array.type == stored_name_of(t.element()) && t.element() != element::boolean;
  auto const convert = converter_for(s.array.type, t.element());
  remainder_of_ranges remainder;
  // Each piece comes here first, into the nearest cache, as another process may change the file: the checksum is of
  // what is used.
  alignas(64) std::array<char, std::size_t{1} << 14U> here;
  auto const read = [&](piece const& p, std::span<char const> next) {
    std::memcpy(here.data(), p.data.data(), p.data.size());
    std::span<char const> const copied(here.data(), p.data.size());
    remainder.add(p.begin, copied.data(), copied.size());
    if (same)
      copy_past_caches(copied, p.to, next);
    else if (!convert(copied.data(), p.to, copied.size() / stored))
      throw user_error(name + " has an element that does not fit into " + std::string(stored_name_of(t.element())));
  };
  auto const* const tensor = file_data + from.header.data + s.array.begin;
  std::optional<piece> last;
  for_each_range(t.where, mesh, rank, [&](std::uint64_t begin, std::uint64_t mine, std::uint64_t count) {
    for (std::uint64_t done = 0, some = 0; done < count; done += some) {
      some = std::min(here.size() / stored, count - done);
      auto const at = (begin + done) * stored;
      piece const now{at, {tensor + at, static_cast<std::size_t>(some * stored)}, shard + (mine + done) * size};
      if (last) read(*last, now.data);
      last = now;
    }
  });
  if (last) read(*last, {});
  copies_are_seen();
  return remainder.of_whole(s.array.end - s.array.begin);
}

/// That all ranks find the same tensors in their files: else a user_error on all.
inline void same_on_all_ranks(collectives& ranks, std::string const& path, std::vector<stored_tensor> const& found) {
  std::string names;
  for (auto const& t : found) names += t.name + '\n';
  auto const all = of_all_ranks(ranks, std::vector{static_cast<std::int32_t>(checksum_of(names.data(), names.size()))});
  if (std::any_of(all.begin(), all.end(), [&](auto const of_rank) { return of_rank != all.front(); }))
    throw user_error(path + " has not the same tensors on all ranks: the files that they read should be the same");
}

/// Reads all of them. What is wrong on any rank is a user_error on all; then some of the tensors may have been read.
inline void read_tensors(collectives& ranks, tensor_files const& files, std::vector<stored_tensor> const& tensors) {
  auto const& mesh = ranks.mesh();
  std::vector<std::int32_t> mine(tensors.size());
  agree(
      ranks, failure_of([&] {
        std::vector<char> staging;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
          auto const& s = files.of(tensors[i]);
          auto* const memory = tensors[i].new_memory();
          auto const bytes = tensors[i].shard_bytes(mesh);
          if (memory == nullptr) staging.resize(bytes);
          if (memory != nullptr) expect_writes(memory, bytes);
          auto const& from = files.file_of(s);
          try {
            from.data->read([&](char const* data) {
              mine[i] =
                  static_cast<std::int32_t>(read_shard(data, from, s, files.name_of(s), tensors[i], mesh, ranks.rank(),
                                                       memory != nullptr ? memory : staging.data()));
            });
          } catch (lost_pages const&) {
            throw user_error(files.name_of(s) + " cannot be read: the file is shorter than it was, or the disk fails");
          }
          if (memory == nullptr) tensors[i].from_host(staging.data());
        }
      }));
  // Each shard counts once; ranks that hold the same one have read the same bytes.
  auto const all = of_all_ranks(ranks, mine);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto const& s = files.of(tensors[i]);
    if (!s.checksum) continue;
    axis_mask const split = tensors[i].where.split_axes();
    std::map<int, std::int32_t> of_shard;
    std::uint32_t whole = 0;
    bool same = true;
    for (int r = 0; r < mesh.size(); ++r) {
      auto const read = all[static_cast<std::size_t>(r) * tensors.size() + i];
      auto const [known, fresh] = of_shard.emplace(mesh.index_within(r, split), read);
      if (fresh) whole ^= static_cast<std::uint32_t>(read);
      same = same && known->second == read;
    }
    if (!same || checksum_from(whole, s.array.end - s.array.begin) != *s.checksum)
      throw user_error(files.name_of(s) + " is damaged: its bytes do not have the checksum that manifest.json says");
  }
}

}  // namespace mtf::detail
