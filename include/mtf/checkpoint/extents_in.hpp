#pragma once
// The extents of a structure's dimensions, and its numbers of layers, as files have them.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/checkpoint/part.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/tensor/params.hpp>

namespace mtf {

namespace detail {

using shapes_by_name = std::map<std::string, std::vector<std::int64_t>>;
/// Of all tensors in a checkpoint, a directory as Hugging Face's tools write it, or a file.
MTF_CHECKPOINT_CODE shapes_by_name stored_shapes(std::string const& path);

/// What tensors of some shapes say of a structure.
class extents_of_files {
 public:
  explicit extents_of_files(std::string const& path) : path_(path), shapes_(stored_shapes(path)) {}

  /// The structure, or what of it is called `at`; its stacks become as long as the files say.
  template <class S>
  void look_at(std::string const& at, S& s) {
    if constexpr (are_layers<S>) {
      if constexpr (is_resizable<S>) {
        auto const n = layers_of(at);
        says(S::count_type::name, n, at);
        s.resize(static_cast<std::size_t>(n));
      }
      for (std::size_t i = 0; i < s.size(); ++i) look_at(inside(at, std::to_string(i)), s[i]);
    } else if constexpr (fields<S>) {
      S::hana_accessors_impl::visit_fields([&](char const* name, auto& field) { look_at(inside(at, name), field); }, s);
    } else {
      if (auto const found = shapes_.find(at); found != shapes_.end())
        look_at_tensor(at, found->second, static_cast<typename S::shape_type const*>(nullptr));
    }
  }
  [[nodiscard]] extents_value const& found() const { return found_; }

 private:
  static std::string inside(std::string const& at, std::string const& name) {
    return at.empty() ? name : at + "." + name;
  }
  /// One more than the highest number behind the name.
  [[nodiscard]] std::int64_t layers_of(std::string const& at) const {
    std::int64_t n = 0;
    for (auto const& [name, shape] : shapes_) {
      if (name.compare(0, at.size() + 1, at + ".") != 0) continue;
      std::int64_t i = 0;
      std::size_t k = at.size() + 1;
      for (; k < name.size() && name[k] >= '0' && name[k] <= '9' && i < max_extent; ++k) i = 10 * i + (name[k] - '0');
      bool const is_number = k > at.size() + 1 && (k == name.size() || name[k] == '.');
      if (is_number && i >= n) n = i + 1;
    }
    return n;
  }
  template <class... D>
  void look_at_tensor(std::string const& at, std::vector<std::int64_t> const& shape, mtf::shape<D...> const*) {
    if (shape.size() != sizeof...(D))
      throw user_error(path_ + ": the tensor " + at + " has " + std::to_string(shape.size()) +
                       " dimensions; here it has " + std::to_string(sizeof...(D)));
    std::size_t d = 0;
    auto const look = [&](bool is_value, std::string_view name) {
      if (is_value) says(name, shape[d], at);
      ++d;
    };
    (look(!has_extent<D>, D::name), ...);
  }
  void says(std::string_view name, std::int64_t extent, std::string const& who) {
    if (auto const before = found_.find(name); before && *before != extent)
      throw user_error(path_ + ": " + std::string(name) + " is " + std::to_string(*before) + " by " +
                       said_by_.at(std::string(name)) + ", and " + std::to_string(extent) + " by " + who);
    found_.give(name, extent);
    said_by_.emplace(name, who);
  }

  std::string path_;
  shapes_by_name shapes_;
  extents_value found_;
  std::map<std::string, std::string> said_by_;
};

}  // namespace detail

/// The extents of a structure's dimensions whose types have none, as a checkpoint, a directory of Hugging Face's or a
/// safetensors file has them under the structure's names; and of its stacks the numbers of layers, one more than the
/// highest. What no stored tensor tells is not among them. They are given to a backend before the same path is loaded.
/// Refused, as a user_error: two tensors that say otherwise of one dimension, one with another number of dimensions, a
/// path that cannot be read.
template <class Structure>
extents_value extents_in(std::string const& path) {
  using checked [[maybe_unused]] = checked_t<detail::fields_verdict_t<Structure>>;
  detail::extents_of_files in(path);
  Structure s{};
  in.look_at("", s);
  return in.found();
}

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/checkpoint/code/extents_in.hpp>  // IWYU pragma: export
#include <mtf/tensor/stack.hpp>
#endif
