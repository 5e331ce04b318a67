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
#include <mtf/checkpoint/array_source.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/checksum.hpp>
#include <mtf/detail/checkpoint/convert.hpp>
#include <mtf/detail/checkpoint/copy_past_caches.hpp>
#include <mtf/detail/checkpoint/directory.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/manifest.hpp>
#include <mtf/detail/checkpoint/mapped_file.hpp>
#include <mtf/detail/checkpoint/stored_form.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/detail/checkpoint/tensor_file.hpp>
#include <mtf/detail/checkpoint/write.hpp>
#include <mtf/detail/core/name_pattern.hpp>

namespace mtf::detail {

/// Where one tensor is in the files.
struct tensor_source {
  std::size_t file;
  stored_array array;
  std::optional<std::uint32_t> checksum;
  std::size_t number = 0;  // among the file's arrays
};

/// The files of a checkpoint, of a directory as Hugging Face's tools write it, or one file.
class tensor_files {
 public:
  explicit tensor_files(std::string path, std::shared_ptr<array_source const> const& other = {})
      : path_(std::move(path)) {
    std::error_code none;
    if (other) {
      files_.emplace_back(other);
      add_arrays(nullptr);
    } else if (is_checkpoint(path_)) {
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

  /// Where the array of this name is, or of the name without a prefix; null if there is none.
  [[nodiscard]] tensor_source const* find(std::string const& name, std::string const& without_prefix = {}) const {
    auto found = sources_.find(name);
    if (found == sources_.end() && !without_prefix.empty()) found = sources_.find(without_prefix);
    return found == sources_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] tensor_source const* find(stored_tensor const& t) const {
    return find(t.array(), t.stored_without_prefix);
  }
  /// Where this tensor is. None, one of another shape, or of elements that cannot be read as these: a user_error.
  [[nodiscard]] tensor_source const& of(stored_tensor const& t) const {
    auto const* const s = find(t);
    if (s == nullptr) throw user_error(path_ + " has no tensor " + t.array() + names_like());
    if (auto const why = unlike(*s, t); !why.empty()) throw user_error(name_of(*s) + " " + why);
    return *s;
  }
  /// "DIR/model.safetensors: the tensor blocks.0.w1"
  [[nodiscard]] std::string name_of(tensor_source const& s) const {
    return files_[s.file].path() + ": the tensor " + s.array.name;
  }
  /// Of all that is here.
  [[nodiscard]] std::map<std::string, std::vector<std::int64_t>> shapes() const {
    std::map<std::string, std::vector<std::int64_t>> all;
    for (auto const& [name, s] : sources_) all.emplace(name, s.array.shape);
    return all;
  }
  [[nodiscard]] tensor_file const& file_of(tensor_source const& s) const { return files_[s.file]; }
  /// The tensors of these parts that are here. A user_error that says all: those of them that are not, and may not be
  /// missing; those that are otherwise; those in a file of theirs that are none of them, and may not be left over.
  [[nodiscard]] std::vector<stored_tensor> to_read(std::vector<stored_part> const& parts,
                                                   load_options const& may) const {
    auto const listed = [](std::vector<std::string> const& patterns, std::string const& name) {
      return std::any_of(patterns.begin(), patterns.end(), [&](auto const& p) { return name_matches(p, name); });
    };
    std::vector<stored_tensor> all;
    differences found;
    std::set<std::string> names, read{""};  // of arrays; of parts in whose files they are
    for (auto const& part : parts) {
      read.insert(part.name);
      for (auto const& t : part.tensors) {
        auto const* const s = find(t);
        names.insert(s != nullptr ? s->array.name : t.array());
        if (s == nullptr && (listed(may.may_be_missing, t.name) || listed(may.may_be_missing, t.array()))) continue;
        if (s == nullptr)
          add_once(found.missing, t.array());
        else if (auto const why = unlike(*s, t); !why.empty())
          add_once(found.unlike, s->array.name + " " + why);
        if (s != nullptr) read.insert(file_of(*s).part);
        all.push_back(t);
      }
    }
    auto const& other = may.names;
    auto const not_read = [&](std::string const& name) {
      auto const full = other.prefix.empty() || name.starts_with(other.prefix) ? name : other.prefix + name;
      return listed(may.may_be_left_over, name) || listed(other.not_parameters, name) ||
             listed(other.not_parameters, full) || std::any_of(other.copies.begin(), other.copies.end(), [&](auto& c) {
               return c.copy == name || c.copy == full;
             });
    };
    if (!parts.empty())
      for (auto const& [name, s] : sources_)
        if (read.contains(file_of(s).part) && !names.contains(name) && !not_read(name)) found.left_over.push_back(name);
    refuse(found, all);
    return all;
  }

 private:
  void add_file(std::string const& path, manifest_file const* known) {
    auto& f = files_.emplace_back(path);
    if (known != nullptr) f.part = part_of_file(known->name);
    if (known != nullptr && (known->bytes != f.in.size() || known->header != f.header_checksum))
      throw user_error(path + " is damaged: its length or its header are not those that manifest.json says");
    add_arrays(known);
  }
  /// Those of the file that was added last.
  void add_arrays(manifest_file const* known) {
    auto const& f = files_.back();
    auto const& path = f.path();
    std::size_t number = 0;
    for (auto const& a : f.header.arrays) {
      tensor_source s{files_.size() - 1, a, {}, number++};
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
    auto const json = strict_json(text_of_file(index), index);
    std::set<std::string> names;
    try {
      for (auto const& [tensor, name] : json.at("weight_map").items())
        names.insert(name_beside(name.get<std::string>(), index + ": the tensor " + tensor));
    } catch (nlohmann::json::exception const& e) {
      throw user_error(index + " is no index of safetensors files: " + e.what());
    }
    return names;
  }
  /// What the files have otherwise than what is read.
  struct differences {
    std::vector<std::string> missing{}, unlike{}, left_over{};  // names; names and what is so; names
  };
  /// Why an array cannot be read as this tensor; empty if it can.
  static std::string unlike(tensor_source const& s, stored_tensor const& t) {
    if (s.array.shape != t.shape())
      return "is [" + extents_text(s.array.shape) + "]; here it is [" + shape_text(t) + "]";
    if (converter_for(s.array.type, t.element()) == nullptr)
      return "has elements " + s.array.type + ", which are not read as " + std::string(stored_name_of(t.element()));
    return {};
  }
  /// (An array may be several tensors, one after the other.)
  static void add_once(std::vector<std::string>& to, std::string const& text) {
    if (to.empty() || to.back() != text) to.push_back(text);
  }
  /// Throws a user_error of all that is different, if something is.
  void refuse(differences const& d, std::vector<stored_tensor> const& tensors) const {
    constexpr char const* others = "it is another model's, or is to be listed in load_options::may_be_left_over";
    auto const count = d.missing.size() + d.unlike.size() + d.left_over.size();
    if (count == 0) return;
    if (count == 1 && d.left_over.size() == 1)
      throw user_error(name_of(sources_.at(d.left_over.front())) + " is not in the structure that is read: " + others);
    if (count == 1)
      for (auto const& t : tensors) (void)of(t);
    std::vector<std::string> kinds;
    if (!d.missing.empty()) kinds.push_back("it has no tensor " + joined(d.missing, ", "));
    if (!d.unlike.empty()) kinds.push_back("the tensor " + joined(d.unlike, "; the tensor "));
    if (!d.left_over.empty())
      kinds.push_back("not in the structure that is read: " + joined(d.left_over, ", ") + ": " + others);
    std::string text = path_ + " is not what is read, in " + std::to_string(count) + " ways: ";
    for (auto const& kind : kinds) text += (&kind == kinds.data() ? "" : "; ") + kind;
    throw user_error(text);
  }
  /// All of them; those that differ in numbers of layers alone in one.
  static std::string joined(std::vector<std::string> const& texts, std::string const& between) {
    std::vector<std::pair<std::string, int>> alike;  // the first, and how many
    std::map<std::string, std::size_t> known;        // by the text without numbers
    for (auto const& text : texts) {
      auto pattern = text;
      for (std::size_t dot = 0; (dot = pattern.find('.', dot)) != std::string::npos; ++dot) {
        auto const end = std::min(pattern.find_first_not_of("0123456789", dot + 1), pattern.size());
        if (end > dot + 1 && (end == pattern.size() || pattern[end] == '.'))
          pattern.replace(dot + 1, end - dot - 1, "*");
      }
      auto const [at, fresh] = known.emplace(pattern, alike.size());
      if (fresh) alike.emplace_back(text, 0);
      ++alike[at->second].second;
    }
    std::string all;
    for (std::size_t i = 0; i < alike.size(); ++i) {
      if (i == most_differences) return all + between + "...";
      all += (i == 0 ? "" : between) + alike[i].first;
      if (int const n = alike[i].second; n > 1) all += " (and " + std::to_string(n - 1) + " more like it)";
    }
    return all;
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
    if (t.form) return extents_text(t.form->shape);
    std::string text;
    for (int d = 0; d < t.where.ndim; ++d)
      text += (d == 0 ? "" : ", ") + std::string(t.where[d].name) + " " + std::to_string(t.where[d].extent);
    return text;
  }

  static constexpr std::size_t most_differences = 40;  // that are said

  std::string path_;
  std::vector<tensor_file> files_;
  std::map<std::string, tensor_source> sources_;
};

/// Reads a rank's shard of one tensor into `shard`; the remainder of what was read. `arrays`: the bytes of the file's
/// arrays, null where these have to be asked for.
inline std::uint32_t read_shard(char const* arrays, tensor_file const& from, tensor_source const& s,
                                std::string const& name, stored_tensor const& t, mesh_shape const& mesh, int rank,
                                char* shard) {
  struct piece {
    std::uint64_t begin;  // in the tensor, in bytes
    std::span<char const> data;
    char* to;
    std::uint64_t step;
  };
  auto const stored = stored_type_of(s.array.type)->bytes, size = static_cast<std::uint64_t>(t.element_size());
  bool const same = s.array.type == stored_name_of(t.element()) && t.element() != element::boolean;
  auto const convert = converter_for(s.array.type, t.element());
  remainder_of_ranges remainder;
  // Each piece comes here first, into the nearest cache, as another process may change the file: the checksum is of
  // what is used.
  alignas(64) std::array<char, std::size_t{1} << 14U> here, converted;
  auto const read = [&](piece const& p, std::span<char const> next) {
    if (from.other)
      from.other->read(s.number, p.begin, {here.data(), p.data.size()});
    else
      std::memcpy(here.data(), p.data.data(), p.data.size());
    std::span<char const> const copied(here.data(), p.data.size());
    remainder.add(p.begin, copied.data(), copied.size());
    auto const n = copied.size() / stored;
    if (same && p.step == 1) return copy_past_caches(copied, p.to, next);
    if (!same && !convert(copied.data(), p.step == 1 ? p.to : converted.data(), n))
      throw user_error(name + " has an element that does not fit into " + std::string(stored_name_of(t.element())));
    if (p.step != 1)
      with_bytes(size, [&]<class Bytes>() {
        scatter_elements<Bytes>(p.to, same ? copied.data() : converted.data(), n, p.step);
      });
  };
  // (What has to be asked for is not fetched before.)
  auto const* const tensor = arrays == nullptr ? nullptr : arrays + s.array.begin;
  std::optional<piece> last;
  for_each_range(form_of(t), t.where, mesh, rank, [&](stored_range const& r) {
    for (std::uint64_t done = 0, some = 0; done < r.count; done += some) {
      some = std::min(here.size() / std::max(stored, size), r.count - done);
      auto const at = (r.at + done) * stored;
      piece const now{at,
                      {tensor == nullptr ? nullptr : tensor + at, static_cast<std::size_t>(some * stored)},
                      shard + (r.mine + done * r.step) * size,
                      r.step};
      if (last) read(*last, tensor == nullptr ? std::span<char const>() : now.data);
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
          if (memory == nullptr) staging.assign(bytes, 0);  // pads are 0
          if (memory != nullptr) expect_writes(memory, bytes);
          auto const& from = files.file_of(s);
          try {
            from.look([&](char const* arrays) {
              mine[i] =
                  static_cast<std::int32_t>(read_shard(arrays, from, s, files.name_of(s), tensors[i], mesh,
                                                       ranks.rank(), memory != nullptr ? memory : staging.data()));
            });
          } catch (lost_pages const&) {
            throw user_error(files.name_of(s) + " cannot be read: the file is shorter than it was, or the disk fails");
          }
          if (memory == nullptr) tensors[i].from_host(staging.data());
        }
      }));
  // Each shard counts once; ranks that hold the same one have read the same bytes. Of an array that is several tensors
  // all must have been read.
  struct array_read {
    std::uint32_t whole = 0, expected = 0;
    bool same = true;
    std::uint64_t elements = 0;
  };
  auto const all = of_all_ranks(ranks, mine);
  std::map<tensor_source const*, array_read> arrays;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto const& s = files.of(tensors[i]);
    if (!s.checksum) continue;
    auto& array = arrays[&s];
    array.expected = *s.checksum;
    array.elements += static_cast<std::uint64_t>(tensors[i].where.global_size());
    axis_mask const split = tensors[i].where.split_axes();
    std::map<int, std::int32_t> of_shard;
    for (int r = 0; r < mesh.size(); ++r) {
      auto const read = all[static_cast<std::size_t>(r) * tensors.size() + i];
      auto const [known, fresh] = of_shard.emplace(mesh.index_within(r, split), read);
      if (fresh) array.whole ^= static_cast<std::uint32_t>(read);
      array.same = array.same && known->second == read;
    }
  }
  for (auto const& [s, array] : arrays) {
    auto const bytes = s->array.end - s->array.begin;
    bool const is_whole = array.elements * stored_type_of(s->array.type)->bytes == bytes;
    if (!array.same || (is_whole && checksum_from(array.whole, bytes) != array.expected))
      throw user_error(files.name_of(*s) + " is damaged: its bytes do not have the checksum that manifest.json says");
  }
}

/// Some bytes of an array.
inline void read_bytes(tensor_files const& files, tensor_source const& s, std::uint64_t begin, std::span<char> to) {
  auto const& from = files.file_of(s);
  try {
    from.look([&](char const* arrays) {
      if (from.other)
        from.other->read(s.number, begin, to);
      else
        std::memcpy(to.data(), arrays + s.array.begin + begin, to.size());
    });
  } catch (lost_pages const&) {
    throw user_error(files.name_of(s) + " cannot be read: the file is shorter than it was, or the disk fails");
  }
}

/// That arrays which are copies of others are: else a user_error on all ranks, each of which compares a part.
/// (What is read as a tensor of its own is none.)
inline void check_copies(collectives& ranks, tensor_files const& files, stored_names const& names,
                         std::vector<stored_tensor> const& tensors) {
  if (names.copies.empty()) return;
  auto const find = [&](std::string const& name) {
    bool const has_prefix = !names.prefix.empty() && name.starts_with(names.prefix);
    return files.find(name, has_prefix ? name.substr(names.prefix.size()) : "");
  };
  std::vector<char> a(std::size_t{1} << 20U), b(a.size());
  auto const are_same = [&](tensor_source const& x, tensor_source const& y) {
    if (x.array.type != y.array.type || x.array.shape != y.array.shape) return false;
    auto const bytes = x.array.end - x.array.begin, n = static_cast<std::uint64_t>(ranks.mesh().size()),
               r = static_cast<std::uint64_t>(ranks.rank());
    auto const end = r + 1 == n ? bytes : bytes / n * (r + 1);
    for (auto at = bytes / n * r; at < end;) {
      auto const some = static_cast<std::size_t>(std::min<std::uint64_t>(a.size(), end - at));
      read_bytes(files, x, at, {a.data(), some});
      read_bytes(files, y, at, {b.data(), some});
      if (std::memcmp(a.data(), b.data(), some) != 0) return false;
      at += some;
    }
    return true;
  };
  agree(ranks, failure_of([&] {
          for (auto const& [copy, of] : names.copies) {
            if (std::any_of(tensors.begin(), tensors.end(), [&](auto const& t) { return t.array() == copy; })) continue;
            auto const *const x = find(copy), *const y = find(of);
            if (x != nullptr && y != nullptr && !are_same(*x, *y))
              throw user_error(files.name_of(*x) + " should be a copy of " + y->array.name +
                               ", as the structure that is read has one tensor for both; they differ");
          }
        }));
}

}  // namespace mtf::detail
