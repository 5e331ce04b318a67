#pragma once
// Tensors for people.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include <mtf/core/describe.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/refused.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/to_global.hpp>

namespace mtf {

namespace detail {

template <class T>
std::string number_text(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", static_cast<double>(static_cast<compute_t<T>>(x)));
    return text.data();
  }
}
template <class T>
constexpr char const* element_name() {
  if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return "int32";
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return "int64";
  else if constexpr (std::is_same_v<T, float>)
    return "float";
  else if constexpr (std::is_same_v<T, double>)
    return "double";
  else
    return "bfloat16";
}

/// Which positions of a dimension are drawn: of each rank's share at most `most`, the first ones and the last.
struct drawn_share {
  std::vector<std::int64_t> at;
  std::size_t gap = 0;  // behind so many of them some are left out; 0: none
};
inline std::vector<drawn_share> drawn_shares(sharding const& s, int d, mesh_shape const& mesh, std::int64_t most) {
  std::vector<drawn_share> all;
  std::int64_t const n = s.local_extent(d, mesh);
  for (std::int64_t begin = 0; begin < s[d].extent; begin += n) {
    auto& share = all.emplace_back();
    auto const end = begin + n < s[d].logical() ? begin + n : s[d].logical();
    bool const shortened = end - begin > most;
    for (std::int64_t i = begin; i < end; ++i)
      if (!shortened || i < begin + most - 1 || i == end - 1) share.at.push_back(i);
    if (shortened) share.gap = static_cast<std::size_t>(most - 1);
  }
  return all;
}

/// Draws a tensor, whose elements are given as texts.
class drawing {
 public:
  drawing(sharding const& s, mesh_shape const& mesh, int ranks) : s_(s), mesh_(mesh), ranks_(ranks) {
    for (int d = 0; d < s.ndim; ++d) shares_.push_back(drawn_shares(s, d, mesh, d + 2 < s.ndim ? 2 : 6));
    if (s.ndim == 0) columns_ = {{{0}, 0}};
    if (s.ndim < 2) rows_ = {{{0}, 0}};
    if (s.ndim > 0) columns_ = shares_.back();
    if (s.ndim > 1) rows_ = shares_[shares_.size() - 2];
  }

  /// text(i): of the i-th element of the global tensor.
  template <class Text>
  std::string draw(Text const& text) const {
    std::string all;
    outer(0, {}, {}, 0, [&](std::vector<std::size_t> const& shares, std::string const& title, std::int64_t offset) {
      if (!title.empty()) all += title + "\n";
      matrix(all, shares, offset, text);
    });
    return all;
  }

 private:
  /// f(shares, title, offset) for every position along the dimensions before the last two.
  template <class F>
  void outer(int d, std::vector<std::size_t> const& before, std::string const& title, std::int64_t offset,
             F const& f) const {
    if (d + 2 >= s_.ndim) return f(before, title, offset);
    auto const& shares = shares_[static_cast<std::size_t>(d)];
    for (std::size_t k = 0; k < shares.size(); ++k) {
      auto here = before;
      here.push_back(k);
      for (auto const i : shares[k].at)
        outer(d + 1, here, title + (title.empty() ? "" : ", ") + s_[d].name + " " + std::to_string(i),
              offset + i * s_.global_stride(d), f);
    }
  }

  /// Which ranks have this share of each dimension.
  [[nodiscard]] std::string owners(std::vector<std::size_t> const& shares) const {
    std::string text;
    int n = 0;
    for (int r = 0; r < ranks_; ++r) {
      bool has = true;
      for (int d = 0; d < s_.ndim; ++d)
        has = has && (mesh_.ndim == 0 || shard_offset(s_, d, mesh_, r) / s_.local_extent(d, mesh_) ==
                                             static_cast<std::int64_t>(shares[static_cast<std::size_t>(d)]));
      if (has) text += (n++ == 0 ? "" : " ") + std::to_string(r);
    }
    if (n == ranks_) return n == 1 ? "" : "every rank";
    return (n == 1 ? "rank " : "ranks ") + text;
  }

  /// The last two dimensions: a box for each shard.
  template <class Text>
  void matrix(std::string& all, std::vector<std::size_t> const& outer_shares, std::int64_t offset,
              Text const& text) const {
    auto const row_stride = s_.ndim > 1 ? s_.global_stride(s_.ndim - 2) : 0;
    auto const number = [&](std::int64_t row, std::int64_t column) {
      return text(static_cast<std::size_t>(offset + row * row_stride + (s_.ndim > 0 ? column : 0)));
    };
    auto const owners_of = [&](std::size_t r, std::size_t c) {
      auto shares = outer_shares;
      if (s_.ndim > 1) shares.push_back(r);
      if (s_.ndim > 0) shares.push_back(c);
      return owners(shares);
    };
    std::size_t wide = 0;  // each number
    for (auto const& rows : rows_)
      for (auto const r : rows.at)
        for (auto const& columns : columns_)
          for (auto const c : columns.at) wide = std::max(wide, number(r, c).size());
    std::vector<std::size_t> width;  // each box
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      auto const n = columns_[c].at.size();
      std::size_t most = n == 0 ? 0 : n * (wide + 1) - 1 + (columns_[c].gap > 0 ? 4 : 0);
      for (std::size_t r = 0; r < rows_.size(); ++r) most = std::max(most, owners_of(r, c).size());
      width.push_back(most);
    }
    auto const line = [&](auto const& of) {
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::string cell = of(c);
        all += "| " + cell + std::string(width[c] - cell.size(), ' ') + " ";
      }
      all += "|\n";
    };
    auto const edge = [&] {
      for (auto const w : width) all += "+" + std::string(w + 2, '-');
      all += "+\n";
    };
    edge();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!owners_of(r, 0).empty()) line([&](std::size_t c) { return owners_of(r, c); });
      for (std::size_t i = 0; i < rows_[r].at.size(); ++i) {
        if (rows_[r].gap > 0 && i == rows_[r].gap)
          line([&](std::size_t c) { return columns_[c].at.empty() ? "" : "..."; });
        line([&](std::size_t c) {
          std::string cell;
          for (std::size_t k = 0; k < columns_[c].at.size(); ++k) {
            if (columns_[c].gap > 0 && k == columns_[c].gap) cell += " ...";
            auto const x = number(rows_[r].at[i], columns_[c].at[k]);
            cell += std::string((k == 0 ? 0 : 1) + wide - x.size(), ' ') + x;
          }
          return cell;
        });
      }
      edge();
    }
  }

  sharding s_;
  mesh_shape mesh_;
  int ranks_;
  std::vector<drawn_share> rows_, columns_;
  std::vector<std::vector<drawn_share>> shares_;
};

/// The mesh of x's layout, with names.
template <class X>
mesh_value mesh_with_names([[maybe_unused]] X const& x) {
  if constexpr (by_value<X>)
    return x.where().layout->mesh;
  else
    return mesh_as_value(static_cast<typename X::mesh_type const*>(nullptr));
}

}  // namespace detail

/// A tensor as a text, to look at: its element type, dimensions, extents and mesh, then its elements in order, a box
/// for each shard that says which ranks have it. Long shards are shortened: "..." stands for what is left out; of
/// dimensions before the last two each rank's first position is drawn and its last. A partial tensor is drawn as the
/// sum that it is. Every rank calls it and gets the same text: the elements are gathered, as by `to_global`.
template <tensor_type X>
std::string show(X const& x) {
  auto const spec = detail::place_of(x).spec();
  auto const mesh = detail::mesh_with_names(x);
  auto const names = mesh.axis_names();
  std::string text = std::string(detail::element_name<typename X::element_type>()) + " " + describe(spec, names);
  for (int d = 0; d < spec.ndim; ++d) text += (d == 0 ? ", " : " x ") + std::to_string(spec[d].logical());
  if (mesh.shape.ndim > 0) text += ", on the mesh " + mesh.text();
  for (int a = 0; a < mesh.shape.ndim; ++a)
    if (((spec.partial >> static_cast<unsigned>(a)) & 1U) != 0)
      text += ", partial over " + std::string(names[static_cast<std::size_t>(a)]);
  auto const elements = to_global(x);
  detail::drawing const picture(spec, mesh.shape, x.backend().ranks().mesh().size());
  return text + "\n" + picture.draw([&](std::size_t i) {
    return detail::number_text(static_cast<typename X::element_type>(elements[i]));
  });
}
inline std::string show(refused const&) { return {}; }

}  // namespace mtf
