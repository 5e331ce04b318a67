#pragma once
// A program as a value: operations on numbered tensors, under layouts on a mesh.
#include <cstdint>
#include <string>
#include <vector>

#include "shards.hpp"
#include "table.hpp"

namespace fuzz {

/// A tensor that is given: numbers drawn in [low, high].
struct given {
  kind of;
  std::size_t layout = 0;
  mtf::axis_mask partial = 0;
  std::uint64_t salt = 0;
  double low = -1, high = 1;
};
/// One operation more. Tensors are numbered: parameters, inputs, results.
struct line {
  std::size_t entry = 0;
  std::vector<std::size_t> operands;
};
/// A term of the loss: the sum of a tensor's elements, weighted by a constant that is partial over these axes, and so
/// the tensor's gradient is.
struct term {
  std::size_t of = 0;
  mtf::axis_mask partial = 0;
};
/// Lines that are called together by mtf::recompute. Of their results only the last one's is used outside. Blocks lie
/// inside of each other or apart.
struct block {
  std::size_t first = 0, last = 0;
};
/// How a program is run.
enum class mode : std::uint8_t {
  later,       // gradients are completed by the norm
  overlapped,  // during the backward pass
  updated,     // that, for an optimizer whose state is split further
  kept         // as later; all tensors outlive the backward pass, and are read again
};
inline constexpr std::array<char const*, 4> mode_names{"later", "overlapped", "updated", "kept"};

struct program {
  std::uint64_t seed = 0;
  mtf::mesh_value mesh;
  std::array<mtf::layout_value, layout_count> layouts;
  define::extents extents{8, 4, 6, 1, 8, 1032};
  define::extents padded_to{1, 1, 1, 1, 1, 1};  // what is stored is a multiple of this
  mtf::element of = mtf::element::f64;          // the parameters and the loss
  bool is_large = false;
  std::vector<given> inputs;
  std::vector<line> lines;
  std::vector<term> terms;
  std::vector<block> blocks;  // outer ones first
  mode how = mode::later;
  bool frees = false;    // tensors that nothing uses any more
  bool again = false;    // the ranks' backends ran it under other layouts before
  bool refused = false;  // the last operation, which the loss does not use: its operands lie wrongly
};

/// As a backend is given them.
mtf::extents_value given_extents(program const&);
/// How many positions of a dimension are stored.
inline int stored(program const& p, std::size_t dim) {
  return (p.extents[dim] + p.padded_to[dim] - 1) / p.padded_to[dim] * p.padded_to[dim];
}

/// A parameter: its name, kind and layout.
struct parameter {
  std::string name;
  given as;
};
std::vector<parameter> const& parameters_of(mtf::element of, bool is_large);
inline std::vector<parameter> const& parameters_of(program const& p) { return parameters_of(p.of, p.is_large); }
/// A given tensor by its number; null for results.
given const* given_at(program const& p, std::size_t tensor);
inline std::size_t first_result(program const& p) { return parameters_of(p).size() + p.inputs.size(); }
kind const& kind_at(program const& p, std::size_t tensor);
inline std::uint64_t weight_salt(program const& p, term const& t) { return p.seed * 7919 + t.of; }

// What one kind of tensor needs beside operations, on one backend ----------------------------------------------------

struct observer;
/// What a block is called with.
template <class Backend>
struct block_call;

template <class Backend>
struct kind_calls {
  kind of;
  /// A given tensor. On a trace without numbers.
  erased (*make)(Backend&, given const&) = nullptr;
  mtf::backend::arrangement const& (*place)(erased const&) = nullptr;
  /// The sum of x times numbers that lie like it, partial over these axes: an erased scalar of its element type.
  erased (*weigh)(erased const& x, mtf::axis_mask partial, std::uint64_t salt) = nullptr;
  /// The rank's shard.
  std::vector<double> (*look)(erased const&) = nullptr;
  /// A block with such a result, by mtf::recompute.
  erased (*recompute)(block_call<Backend> const&) = nullptr;
};
template <class Backend>
kind_calls<Backend> const& calls_for(kind const&);
/// Scalars of a floating type, as another one, and added.
template <class Backend>
erased scalar_as(erased const&, mtf::element from, mtf::element to);
template <class Backend>
erased add_scalars(erased const&, erased const&, mtf::element);

/// All kinds that have such calls.
std::vector<kind> const& all_kinds();

// What it means ------------------------------------------------------------------------------------------------------

/// By the definitions: the numbers of every tensor, the loss, and derivatives.
struct meaning {
  define::extents extents;
  tape numbers;
  std::vector<array> tensors;
  number loss = 0;
  bool usable = true;  // no decision that rounding could change, numbers of moderate size
};
/// The given tensor's numbers, as the ranks' terms have them.
array numbers_of(tape&, given const&, define::extents const&, mtf::mesh_shape const&);
/// Adds the results of a line. False: not usable.
bool interpret(meaning&, entry const&, std::vector<std::size_t> const& operands);
meaning meaning_of(program const&);

// ----------------------------------------------------------------------------------------------------------------------

/// A random program. The same seed makes the same program.
program random_program(std::uint64_t seed);
/// The tensors from outside that a block's lines use, in their order.
std::vector<std::size_t> used_by(program const& p, block const& lines);
/// What a program says on a mesh of one rank.
program on_one_rank(program p);
/// Drops rules for dimensions that no tensor has, which a plan would refuse.
void drop_unused_rules(program& p);

struct verdict {
  std::string failure;  // empty: none
  double ratio = 0;     // the largest error, as a part of what was allowed
  bool refused = false;
  std::size_t compared = 0, coarse = 0;  // tensors; of them those whose tolerance exceeds a tenth of their numbers
};
/// Runs programs on ranks that are threads, and judges them.
class runner {
 public:
  runner();
  ~runner();
  /// On one rank and on the program's mesh.
  verdict run(program const&);

 private:
  struct machines;
  std::unique_ptr<machines> machines_;
  verdict run_on(program const&, meaning const&);
};

/// A smaller program that fails too; `tries`: how many were tried.
program shrunk(runner&, program, int& tries);
/// A program in C++ that shows what p does: losses and gradients on one rank and on all, what was planned and sent.
std::string as_cpp(program const&, std::string const& failure);

}  // namespace fuzz
