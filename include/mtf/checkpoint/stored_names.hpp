#pragma once
// How another tool's files call the tensors of a structure and keep them: said once, for reading and for writing.
#include <cstdint>
#include <string>
#include <vector>

namespace mtf {

/// A tensor of a structure in another tool's files. In both names * stands for the number of a layer.
struct stored_name {
  std::string here;    // "blocks.*.wq"
  std::string stored;  // "transformer.h.*.attn.c_attn.weight"
  /// The dimensions of the stored array, outermost first, by the names of the tensor's: "(heads d_head) d_model" has
  /// the first two as one. `i/n` among them says that the tensor is part i, from 0, of n equal ones: "d_model (0/3
  /// heads d_head)" is the first third of the columns. Empty: the tensor's own dimensions.
  std::string form{};
  std::int64_t first = 0;  // what the stored number is for layer 0
};

/// An array that is a copy of another one.
struct stored_copy {
  std::string copy, of;
};

/// Those of all tensors of a structure.
struct stored_names {
  std::vector<stored_name> tensors{};
  /// What some files leave out at the begin of stored names. It is written.
  std::string prefix{};
  /// Stored names of what is no parameter, such as a mask, in which * stands for any characters. Not read.
  std::vector<std::string> not_parameters{};
  /// An array that files may have besides, and the one of which it is a copy, as of a tied output. Not written; read to
  /// see that it is one.
  std::vector<stored_copy> copies{};
};

}  // namespace mtf
