#pragma once
// Writing a checkpoint and waiting for it, and reading one.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/checkpoint/save.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/read.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/detail/checkpoint/write.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

void add_tensor(std::vector<stored_tensor>& all, path const& at, std::string_view suffix, void* tensor,
                stored_access const& access, stored_on on) {
  auto name = at.text();
  if (!suffix.empty()) name += "." + std::string(suffix);
  stored_tensor t{.name = std::move(name), .access = &access, .tensor = tensor, .backend = on.backend};
  if (access.where_on != nullptr && on.backend != nullptr) {
    if (access.backend_type != on.type)
      throw user_error("the tensor " + t.name + " is to be read on a backend of another type than its own");
    t.where = access.where_on(on.backend);
  }
  if (access.where_is != nullptr && on.backend == nullptr) {
    t.where = access.where_is(tensor);
    if (access.is_empty(tensor)) has_no_value("the tensor " + t.name, t.where);
  }
  all.push_back(std::move(t));
}

void write_checkpoint(collectives& ranks, std::string const& directory, std::vector<stored_part> const& parts,
                      checkpoint_notes const& notes) {
  checkpoint_writing writing(ranks, directory, parts, notes, largest_checkpoint_file, nullptr);
  writing.complete(ranks);
}

checkpoint_notes read_checkpoint(collectives& ranks, std::string const& path, std::vector<stored_part> const& parts) {
  std::unique_ptr<tensor_files> files;
  agree(ranks, failure_of([&] {
          files = std::make_unique<tensor_files>(path);
          for (auto const& part : parts) {
            for (auto const& t : part.tensors) files->of(t);
            files->all_are_read(part);
          }
        }));
  std::vector<stored_tensor> all;
  for (auto const& part : parts) all.insert(all.end(), part.tensors.begin(), part.tensors.end());
  read_tensors(ranks, *files, all);
  return files->notes;
}

}  // namespace mtf::detail
