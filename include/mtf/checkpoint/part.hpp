#pragma once
// What a checkpoint consists of.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mtf/checkpoint/array_source.hpp>
#include <mtf/checkpoint/stored_names.hpp>

#if !defined(MTF_CHECKPOINT_COMPILED)
/// Before the declaration of a function whose code is in mtf/checkpoint/code/: mtf::checkpoint_compiled has it.
#define MTF_CHECKPOINT_CODE inline
#else
#define MTF_CHECKPOINT_CODE
#endif

namespace mtf {

/// Something that is stored under a name, NAME.safetensors: a structure of tensors, or an optimizer.
template <class T>
struct checkpoint_part {
  std::string name;
  T& what;
};
/// The same, without naming its type: `stored_as("optimizer", optimizer)`.
template <class T>
checkpoint_part<T> stored_as(std::string name, T& what) {
  return {std::move(name), what};
}

/// What else a checkpoint's manifest says: texts by name, such as the step and the layout.
using checkpoint_notes = std::map<std::string, std::string>;

/// What a structure that is read and its files need not have in common: tensors by name, the structure's or the files',
/// in which * stands for any characters, as in "blocks.*.bias". And what the files call them.
struct load_options {
  std::vector<std::string> may_be_missing{};    // of the structure; those that no file has stay as they are
  std::vector<std::string> may_be_left_over{};  // of the files; those that the structure lacks are not read
  stored_names names{};                         // of another tool's files; none: the structure's own
  /// What is read in place of the path's files; none: these.
  std::shared_ptr<array_source const> arrays{};
};

/// How a structure is written for another tool.
struct save_options {
  stored_names names{};  // none: the structure's own
  std::map<std::string, std::string>
      texts{};  // further files beside the tensors', by name: config.json, tokenizer.json
};

/// A file has at most so many bytes, unless it has a single tensor: what Hugging Face's tools write.
inline constexpr std::uint64_t largest_checkpoint_file = 5'000'000'000;

}  // namespace mtf
