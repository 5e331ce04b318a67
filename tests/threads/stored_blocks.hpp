#pragma once
// The model that the tests of checkpoints write and read, and its layouts.
#include <array>
#include <string>

#include <mtf/checkpoint.hpp>

#include "stored_models.hpp"
#include "support/error_of.hpp"

struct rows : mtf::dim<"rows", 8> {};
struct columns : mtf::dim<"columns", 12> {};
struct deep : mtf::dim<"deep", 4> {};
struct wide : mtf::dim<"wide", 300> {};

template <template <class...> class Tensor>
struct block {
  Tensor<rows, deep, columns> w;
  Tensor<columns> b;
  MTF_FIELDS(w, b);
};
template <template <class...> class Tensor>
struct first_alone {
  Tensor<rows, columns> first;
  MTF_FIELDS(first);
};
template <template <class...> class Tensor>
struct model {
  Tensor<rows, wide> embedding;  // of 16 ranks' shards none is small
  std::array<block<Tensor>, 2> blocks;
  Tensor<> scale;
  MTF_FIELDS(embedding, blocks, scale);
};

template <class T, class Layout>
using model_of = model<mtf::place<T, Layout, backend>::template tensor>;

template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
using layout_for = mtf::layout_of<Mesh, Rules, rows, columns, deep, wide>;

using alone = mtf::mesh_of<"one:1">;
using whole = layout_for<"one:1", "">;

/// Why a model on one rank cannot be read.
template <class T = float>
std::string why_not(std::string const& path) {
  std::string text;
  on_ranks_of<alone>([&](auto& machine) { text = error_of([&] { mtf::load<model_of<T, whole>>(machine, path); }); });
  return text;
}
