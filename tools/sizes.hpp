#pragma once
// The sizes of a model, by name: fixed in a program's types, or said by its command line.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/extents_value.hpp>

namespace mtf::tools {

/// Names and numbers, such as the extents of dimensions.
using named_sizes = std::vector<std::pair<std::string, std::int64_t>>;

/// "layers 4, batch 32"
inline std::string text_of(named_sizes const& sizes) {
  std::string text;
  for (auto const& [name, n] : sizes) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(n);
  return text;
}

/// The same, to be looked up.
inline mtf::extents_value values_of(named_sizes const& sizes) {
  mtf::extents_value values;
  for (auto const& [name, n] : sizes) values.give(name, n);
  return values;
}

/// Whether a task's model is in another tool's files too: by these names, beside such a config.
template <class Task>
concept has_files = requires(mtf::extents_value const& sizes) {
  Task::names_in_files(sizes);
  Task::config_from_sizes(sizes);
};

/// Whether a task says what its model is called where a program has several.
template <class Task>
concept has_model_type = requires { std::string(Task::model_type); };

/// What a task's sizes are, and where they come from.
struct sizes_of_task {
  struct size {
    std::string name;
    std::int64_t fixed = -1;  // in types; below 0: a value
  };
  std::vector<size> all{};
  mtf::extents_value defaults{};
  std::string model_type{};  // as config.json and --model-type have it, of a task that says it
  /// Those that a config file of another tool's says; none, if it is not such a one. A model that computes otherwise is
  /// a user_error.
  mtf::extents_value (*from_config)(mtf::config_values const&) = nullptr;
  /// A config file of that tool's for such sizes, with what one that may be empty says besides.
  std::string (*to_config)(mtf::extents_value const& sizes, mtf::config_values const& config) = nullptr;
  /// All extents of the program's dimensions, of sizes that were asked for. What cannot be is a user_error.
  mtf::extents_value (*extents_from)(mtf::extents_value const&) = nullptr;

  [[nodiscard]] bool are_values() const {
    for (auto const& s : all)
      if (s.fixed < 0) return true;
    return false;
  }
};

/// What --model-type takes, in this order.
inline std::vector<std::string> model_types_of(std::vector<sizes_of_task> const& models) {
  std::vector<std::string> types;
  types.reserve(models.size());
  for (auto const& model : models) types.push_back(model.model_type);
  return types;
}

template <class List>
struct sizes_in;
template <template <class...> class List, class... Dims>
struct sizes_in<List<Dims...>> {
  template <class D>
  static constexpr std::int64_t fixed() {
    if constexpr (requires { D::extent; })
      return D::extent;
    else
      return -1;
  }
  static std::vector<sizes_of_task::size> all() { return {{std::string(Dims::name), fixed<Dims>()}...}; }
};
template <class Task>
struct sizes_list {
  using type = typename Task::dimensions;
};
template <class Task>
  requires requires { typename Task::sizes; }
struct sizes_list<Task> {
  using type = typename Task::sizes;
};

/// Those of a task. `Program`: the same task as its program has it.
template <class Task, class Program = Task>
sizes_of_task sizes_of() {
  sizes_of_task of{.all = sizes_in<typename sizes_list<Task>::type>::all()};
  if constexpr (requires { Task::default_sizes(); }) of.defaults = Task::default_sizes();
  if constexpr (has_model_type<Task>) of.model_type = Task::model_type;
  if constexpr (requires(mtf::config_values const& c) { Task::sizes_from_config(c); })
    of.from_config = [](mtf::config_values const& config) { return Task::sizes_from_config(config); };
  if constexpr (has_files<Task>)
    of.to_config = [](mtf::extents_value const& sizes, [[maybe_unused]] mtf::config_values const& config) {
      if constexpr (requires { Task::settings_from_config(config); })
        return Task::config_from_sizes(sizes, Task::settings_from_config(config));
      else
        return Task::config_from_sizes(sizes);
    };
  if constexpr (requires(mtf::extents_value const& asked) { Program::extents_from(asked); })
    of.extents_from = [](mtf::extents_value const& asked) { return Program::extents_from(asked); };
  return of;
}

}  // namespace mtf::tools
