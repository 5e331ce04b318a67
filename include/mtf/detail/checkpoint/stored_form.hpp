#pragma once
// In which form files have a tensor, and which ranges of an array there are a rank's.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <mtf/backend/work.hpp>
#include <mtf/checkpoint/stored_names.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/detail/sharding/shard.hpp>

namespace mtf::detail {

/// The form of an array that is the tensor as it is here.
inline stored_form own_form(sharding const& s) {
  stored_form f;
  for (int d = 0; d < s.ndim; ++d) {
    f.shape.push_back(s[d].logical());
    f.order.push_back(d);
    f.stride[static_cast<std::size_t>(d)] = s.global_stride(d);
  }
  return f;
}
inline stored_form form_of(stored_tensor const& t) { return t.form ? *t.form : own_form(t.where); }

/// What stored_name::form says of a tensor. A user_error: what is none, a dimension that the tensor lacks or the form
/// does, or has twice.
class form_parser {
 public:
  form_parser(std::string_view text, stored_tensor const& t) : text_(text), tensor_(t) {}

  [[nodiscard]] stored_form form() {
    stored_form f;
    std::vector<std::vector<factor>> arrays_dims;
    bool inside = false;
    for (std::size_t at = 0; at < text_.size();) {
      char const c = text_[at];
      if (c == ' ') {
        ++at;
      } else if (c == '(' || c == ')') {
        if (inside == (c == '(')) throw wrong("has parentheses that do not match");
        inside = c == '(';
        if (inside) arrays_dims.emplace_back();
        ++at;
      } else {
        auto const end = std::min(text_.find_first_of(" ()", at), text_.size());
        if (!inside) arrays_dims.emplace_back();
        arrays_dims.back().push_back(factor_from(text_.substr(at, end - at)));
        at = end;
      }
    }
    if (inside) throw wrong("has parentheses that do not match");
    std::vector<bool> there(static_cast<std::size_t>(tensor_.where.ndim));
    backend::index stride = 1;
    for (auto i = arrays_dims.size(); i-- > 0;) {
      backend::index extent = 1;
      for (auto k = arrays_dims[i].size(); k-- > 0;) {
        auto const& x = arrays_dims[i][k];
        if (x.dim < 0) {
          f.offset += x.part * stride;
        } else {
          auto const d = static_cast<std::size_t>(x.dim);
          if (there[d]) throw wrong("has " + std::string(tensor_.where[x.dim].name) + " twice");
          there[d] = true;
          f.stride[d] = stride;
          f.order.push_back(x.dim);
        }
        stride *= x.extent;
        extent *= x.extent;
      }
      f.shape.push_back(extent);
    }
    for (int d = 0; d < tensor_.where.ndim; ++d)
      if (!there[static_cast<std::size_t>(d)]) throw wrong("lacks " + std::string(tensor_.where[d].name));
    std::reverse(f.shape.begin(), f.shape.end());
    std::reverse(f.order.begin(), f.order.end());
    return f;
  }

 private:
  struct factor {
    int dim = -1;  // below 0: parts
    backend::index extent = 1, part = 0;
  };

  [[nodiscard]] factor factor_from(std::string_view word) const {
    for (int d = 0; d < tensor_.where.ndim; ++d)
      if (tensor_.where[d].name == word) return {d, tensor_.where[d].logical(), 0};
    factor f;
    auto const* const end = word.data() + word.size();
    auto const [slash, no_part] = std::from_chars(word.data(), end, f.part);
    if (no_part == std::errc{} && slash != end && *slash == '/') {
      auto const [rest, no_parts] = std::from_chars(slash + 1, end, f.extent);
      if (no_parts == std::errc{} && rest == end && f.part >= 0 && f.part < f.extent && f.extent <= max_extent)
        return f;
    }
    throw wrong("has \"" + std::string(word) + "\", which is neither a dimension of the tensor nor a part, as 0/3");
  }
  [[nodiscard]] user_error wrong(std::string const& what) const {
    return user_error("the form \"" + std::string(text_) + "\" of the tensor " + tensor_.name + " " + what);
  }

  std::string_view text_;
  stored_tensor const& tensor_;
};

/// The stored name of the tensor `name`, if `n` is of it; else empty.
inline std::string stored_name_of(stored_name const& n, std::string_view name) {
  std::string_view const here(n.here);
  auto const star = here.find('*');
  if (star == std::string_view::npos) return here == name ? n.stored : "";
  auto const before = here.substr(0, star), behind = here.substr(star + 1);
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) || !name.ends_with(behind)) return {};
  auto const digits = name.substr(star, name.size() - before.size() - behind.size());
  std::int64_t layer = 0;
  auto const* const end = digits.data() + digits.size();
  if (auto const [last, error] = std::from_chars(digits.data(), end, layer); error != std::errc{} || last != end)
    return {};
  auto stored = n.stored;
  if (auto const at = stored.find('*'); at != std::string::npos) stored.replace(at, 1, std::to_string(n.first + layer));
  return stored;
}

/// Gives the tensors the names and forms that files have. A user_error: one that has none; a form that cannot be.
inline void give_stored_names(std::vector<stored_tensor>& tensors, stored_names const& names) {
  if (names.tensors.empty()) return;
  for (auto& t : tensors) {
    for (auto const& n : names.tensors) {
      auto const stored = stored_name_of(n, t.name);
      if (stored.empty()) continue;
      t.stored = stored;
      if (!names.prefix.empty() && stored.starts_with(names.prefix))
        t.stored_without_prefix = stored.substr(names.prefix.size());
      if (!n.form.empty()) t.form = form_parser(n.form, t).form();
      break;
    }
    if (t.stored.empty()) throw user_error("the tensor " + t.name + " has no name in the files of another tool");
  }
}

/// A range of a rank's shard that an array has as one.
struct stored_range {
  std::uint64_t at;     // where it begins in the array, in elements
  std::uint64_t mine;   // and in the shard
  std::uint64_t count;  // elements
  std::uint64_t step;   // from one to the next in the shard
};

/// The elements of a rank's shard that are no pads, in the order in which the array has them.
inline owned_elements elements_in_order(stored_form const& f, sharding const& s, mesh_shape const& mesh, int rank) {
  owned_elements o;
  o.where.ndim = s.ndim;
  o.offset = f.offset;
  for (std::size_t i = 0; i < f.order.size(); ++i) {
    int const d = f.order[i];
    auto const stride = f.stride[static_cast<std::size_t>(d)];
    o.where.extent[i] = logical_extent(s, d, mesh, rank);
    o.where.stride[0][i] = stride;
    o.where.stride[1][i] = s.local_stride(d, mesh);
    o.offset += shard_offset(s, d, mesh, rank) * stride;
    o.count *= o.where.extent[i];
  }
  if (o.count > 0) o.where = collapsed(o.where);
  return o;
}

/// Calls f(stored_range) for each range of the rank's shard, in the order in which the array has them. Pads are in
/// none.
template <class F>
void for_each_range(stored_form const& form, sharding const& s, mesh_shape const& mesh, int rank, F&& f) {
  using backend::index;
  auto const owned = elements_in_order(form, s, mesh, rank);
  auto const& l = owned.where;
  if (owned.count == 0) return;
  auto const last = static_cast<std::size_t>(l.ndim - 1);
  bool const as_one = l.stride[0][last] == 1;
  index const count = as_one ? l.extent[last] : 1, step = as_one ? l.stride[1][last] : 1;
  std::array<index, max_dims> position{};
  index at = owned.offset, mine = 0;
  for (index done = 0; done < owned.count; done += count) {
    f(stored_range{static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(mine), static_cast<std::uint64_t>(count),
                   static_cast<std::uint64_t>(step)});
    for (std::size_t d = as_one ? last : last + 1; d-- > 0;) {
      at += l.stride[0][d];
      mine += l.stride[1][d];
      if (++position[d] < l.extent[d]) break;
      at -= l.extent[d] * l.stride[0][d];
      mine -= l.extent[d] * l.stride[1][d];
      position[d] = 0;
    }
  }
}

/// About how many elements such ranges have: the same on all ranks.
inline backend::index range_length(stored_form const& f, sharding const& s, mesh_shape const& mesh) {
  backend::index length = 1;
  for (auto i = f.order.size(); i-- > 0;) {
    int const d = f.order[i];
    if (f.stride[static_cast<std::size_t>(d)] != length && s[d].extent != 1) return length;
    length *= s.local_extent(d, mesh);
  }
  return length;
}

/// Every step-th element of `spread`, from the first on, as one range or from one.
template <class Bytes>
void gather_elements(char const* spread, char* range, std::size_t n, std::size_t step) {
  for (std::size_t i = 0; i < n; ++i)
    std::memcpy(range + i * sizeof(Bytes), spread + i * step * sizeof(Bytes), sizeof(Bytes));
}
template <class Bytes>
void scatter_elements(char* spread, char const* range, std::size_t n, std::size_t step) {
  for (std::size_t i = 0; i < n; ++i)
    std::memcpy(spread + i * step * sizeof(Bytes), range + i * sizeof(Bytes), sizeof(Bytes));
}
/// f<Bytes>() with a type of that many bytes.
template <class F>
void with_bytes(std::size_t bytes, F const& f) {
  if (bytes == 8) return f.template operator()<std::uint64_t>();
  if (bytes == 4) return f.template operator()<std::uint32_t>();
  if (bytes == 2) return f.template operator()<std::uint16_t>();
  f.template operator()<std::uint8_t>();
}

}  // namespace mtf::detail
