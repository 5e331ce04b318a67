#pragma once
// Structures of tensors in files: save(directory, p), p = load<decltype(p)>(backend, directory). Needs nlohmann-json
// and ISA-L; a program that links mtf::checkpoint_compiled does not parse them.
#include <string>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/tensor/params.hpp>

namespace mtf {

namespace detail {

MTF_CHECKPOINT_CODE void write_checkpoint(collectives& ranks, std::string const& directory,
                                          std::vector<stored_part> const& parts, checkpoint_notes const& notes,
                                          save_options const& as = {});
MTF_CHECKPOINT_CODE void check_can_write(collectives& ranks, std::string const& directory, save_options const& as);
MTF_CHECKPOINT_CODE checkpoint_notes read_checkpoint(collectives& ranks, std::string const& path,
                                                     std::vector<stored_part> const& parts,
                                                     load_options const& may = {});

}  // namespace detail

/// Writes parts to a directory of safetensors files, each tensor whole and under its path ("blocks.3.w1"), with a
/// manifest that has a checksum of each, and `notes`. Each rank writes the bytes that it has, replicas take
/// turns; nothing is gathered. All ranks call it. When it returns the files are on the disk; what was in the
/// directory before is there until then, and is replaced if it was a checkpoint. What cannot be written is a
/// user_error.
template <class... T>
void save_parts(collectives& ranks, std::string const& directory, checkpoint_notes const& notes,
                checkpoint_part<T> const&... parts) {
  detail::write_checkpoint(ranks, directory, detail::parts_to_write(parts...), notes);
}

/// Reads what `save_parts` or a tool of Hugging Face's wrote, on any mesh, under any layout, and as any element type
/// that means the same (floating from floating, integers from integers): each rank reads the bytes of its shards and no
/// others. `path`: a directory, or one safetensors file. Gives the notes, none if another tool wrote it. A user_error
/// that names file and tensor: those that are missing, of another shape, or in the files and not in the structure,
/// unless `may` lists them; one that is damaged. (Of a checkpoint, those of the parts that are read; of other tools'
/// files, all.) With `may.arrays` what these have is read, and `path` is a name in errors.
template <class Backend, class... T>
checkpoint_notes load_parts(Backend& b, std::string const& path, load_options const& may,
                            checkpoint_part<T> const&... parts) {
  return detail::read_checkpoint(b.ranks(), path, detail::parts_to_read(b, parts...), may);
}
/// The same, with nothing missing or left over.
template <class Backend, class... T>
checkpoint_notes load_parts(Backend& b, std::string const& path, checkpoint_part<T> const&... parts) {
  return load_parts(b, path, load_options{}, parts...);
}

/// Writes a structure of tensors as "model": DIRECTORY/model.safetensors. As save_parts. `as`: by the names and in the
/// forms of another tool's files, with further texts beside them, such as a config.json.
template <class Structure>
void save(std::string const& directory, Structure const& p, save_options const& as = {}) {
  collectives* ranks = nullptr;
  for_each_tensor([&](auto, auto const& x) { ranks = &x.backend().ranks(); }, p);
  if (ranks != nullptr)
    detail::write_checkpoint(*ranks, directory, detail::parts_to_write(stored_as("model", p)), {}, as);
}

/// A user_error, now, if `save` could not write there: the directory cannot be made, or has something that would be
/// lost. For a program that saves what took it long. All ranks call it.
inline void check_can_save(collectives& ranks, std::string const& directory, save_options const& as = {}) {
  detail::check_can_write(ranks, directory, as);
}

/// A structure of tensors from a directory, or a file, that has them as "model". As load_parts; a tensor that may be
/// missing, and is, has no value.
template <class Structure, class Backend>
Structure load(Backend& b, std::string const& path, load_options const& may = {}) {
  Structure p{};
  load_parts(b, path, may, stored_as("model", p));
  return p;
}

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/checkpoint/code/save.hpp>  // IWYU pragma: export
#endif
