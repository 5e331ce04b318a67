#pragma once
// Writing a checkpoint and waiting for it, and reading one.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/checkpoint/save.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/directory.hpp>
#include <mtf/detail/checkpoint/read.hpp>
#include <mtf/detail/checkpoint/stored_form.hpp>
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

std::vector<stored_part> with_names_of_their_own(std::vector<stored_part> parts) {
  std::set<std::string> names;
  std::map<std::string, std::string> part_of;  // of tensors
  for (auto const& part : parts) {
    if (!names.insert(part.name).second)
      throw user_error("a checkpoint cannot have two parts of one name, " + part.name);
    for (auto const& t : part.tensors) {
      auto const [first, fresh] = part_of.emplace(t.name, part.name);
      if (!fresh)
        throw user_error(
            "a checkpoint cannot have two tensors of one name, " + t.name + " (in " + first->second +
            (first->second == part.name ? "" : " and " + part.name) +
            "): give structures fields of other names, and each of several optimizers suffixes of its own" +
            " in visit_state");
    }
  }
  return parts;
}

void write_checkpoint(collectives& ranks, std::string const& directory, std::vector<stored_part> const& parts,
                      checkpoint_notes const& notes, save_options const& as) {
  auto named = parts;
  for (auto& part : named) give_stored_names(part.tensors, as.names);
  checkpoint_writing writing(ranks, directory, named, notes, largest_checkpoint_file, nullptr, as.texts);
  writing.complete(ranks);
}

void check_can_write(collectives& ranks, std::string const& directory, save_options const& as) {
  auto const check = [&] {
    auto const name = directory_to_write(directory);
    std::set<std::string> texts;
    for (auto const& [text, content] : as.texts) texts.insert(text);
    check_may_be_written(name, texts);
    make_directory(name + ".writing", texts);
    remove_checkpoint(name + ".writing");
  };
  agree(ranks, ranks.rank() == 0 ? failure_of(check) : "");
}

checkpoint_notes read_checkpoint(collectives& ranks, std::string const& path, std::vector<stored_part> const& parts,
                                 load_options const& may) {
  std::unique_ptr<tensor_files> files;
  std::vector<stored_tensor> all;
  agree(ranks, failure_of([&] {
          auto named = parts;
          for (auto& part : named) give_stored_names(part.tensors, may.names);
          files = std::make_unique<tensor_files>(path, may.arrays);
          all = files->to_read(named, may);
        }));
  if (!may.may_be_missing.empty()) same_on_all_ranks(ranks, path, all);
  read_tensors(ranks, *files, all);
  check_copies(ranks, *files, may.names, all);
  return files->notes;
}

}  // namespace mtf::detail
