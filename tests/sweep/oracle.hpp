#pragma once
// What the sweep holds the library to: for every operation its documentation, its definition
// (tests/definitions), and in closed form what it sends. Nothing here calls the library; of its headers only the plain
// record of a collective is used.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>

#include "../definitions/definition.hpp"
#include "places.hpp"

namespace sweep {

struct typed_case;
using numbers = std::vector<double>;
using event = mtf::collectives::event;
using mtf::collective_kind;

/// The sharding of one tensor: its dimensions in storage order, the axes that split them, the axes over which it is
/// partial.
struct place {
  std::vector<int> dims;
  splits split = 0;
  set partial = 0;
  int bytes = 8;  // of an element

  [[nodiscard]] set dim_set() const {
    set s = 0;
    for (int const d : dims) s |= bit(d);
    return s;
  }
  [[nodiscard]] bool has(int d) const { return in(dim_set(), d); }
  /// The axes that split any of its dimensions, or one.
  [[nodiscard]] set axes() const { return axes_of(split, dim_set()); }
  [[nodiscard]] set axes(int d) const { return has(d) ? axes_of(split_of(split, d)) : 0U; }
  /// Without some dimensions; complete.
  [[nodiscard]] place without(set gone) const {
    place p{.dims = {}, .split = split, .partial = 0, .bytes = bytes};
    for (int const d : dims)
      if (!in(gone, d)) p.dims.push_back(d);
    return p;
  }
};

/// The elements of a shard, with pads, and of the whole, without.
inline std::uint64_t shard_size(mesh_code const& m, place const& p) {
  std::uint64_t n = 1;
  for (int const d : p.dims)
    n *= static_cast<std::uint64_t>(stored_of[static_cast<std::size_t>(d)] / m.along(p.axes(d)));
  return n;
}
inline std::size_t global_size(std::vector<int> const& dims) {
  std::size_t n = 1;
  for (int const d : dims) n *= static_cast<std::size_t>(extent_of[static_cast<std::size_t>(d)]);
  return n;
}

/// The question to a closed form: the operands, the layout they share (of the dimensions that only the result has), the
/// layout that is asked for, and the axes over which the gradient of the result arrives partial.
struct situation {
  mesh_code mesh;
  std::vector<place> in;
  splits layout = 0, target = 0;
  set seed = 0;
};

/// The answer: the result's place, the collectives of each pass in order, and over which axes each gradient is left
/// partial.
struct answer {
  place out;
  std::vector<event> forward, backward;
  std::vector<set> gradients;
  bool sends_known = true;    // false: only values and places are compared
  bool partial_known = true;  // false: the result may be partial as the library says, if its values are right

  void all_reduce(std::vector<event>& when, set axes, std::uint64_t payload) {
    if (axes != 0) when.push_back({collective_kind::all_reduce, axes, payload});
  }
};
using closed_form = std::function<answer(situation const&)>;

enum class kind : std::uint8_t { real, whole };

struct operand_info {
  std::vector<int> dims;
  kind elements = kind::real;
  double low = -1, high = 1;  // its values are drawn from here
  bool integers = false;      // and rounded down
};

/// A row of docs/operations.md.
struct documentation {
  std::vector<std::string> names;  // the public names that it documents
  std::string call;                // how they are written
  std::string meaning;
  std::string forward, backward;  // what a split dimension costs
  std::string partial;            // what becomes of partial operands
};

/// One operation as the sweep knows it: an instance of a public one, on operands of certain dimensions.
struct operation {
  std::string name;    // as in C++
  documentation text;  // several instances may share one
  std::vector<operand_info> in;
  define::definition definition;
  closed_form sends;
  bool differentiable = true;
  bool sums = false;     // it adds elements up, or multiplies by what it added up
  bool masks = false;    // it multiplies by 0 what it hides
  bool chained = false;  // it multiplies what may still be partial, or in several orders
  set gathered = 0;      // dimensions along which each operand is gathered: how they are split need not go together
  int goes_round = -1;   // a dimension of the second and third operand, whose parts go round where the axes that split
  set whole = 0;         // it split the first, if they lie alike, and none of `whole` is split
  bool never_works = false;  // the dimensions of its operands do not go together under any layout
  set unpadded = 0;          // dimensions that may have no pads
  signature form;
  int phase = 0;                                   // which cases of a family are chosen, where not all are
  std::vector<std::span<typed_case const>> cases;  // typed
  typed_case (*any_layout)() = nullptr;            // by value, without mesh and code

  // What an entry says besides, after its parentheses.

  /// Operand i is drawn from [low, high).
  operation drawn(double low, double high, std::size_t i = 0) && {
    in[i].low = low, in[i].high = high;
    return std::move(*this);
  }
  /// Operand i is rounded down to integers.
  operation integers(std::size_t i = 0) && {
    in[i].integers = true;
    return std::move(*this);
  }
  operation gathers(set dims) && {
    gathered = dims;
    return std::move(*this);
  }
  operation rings(int dim, set unless_split) && {
    goes_round = dim, whole = unless_split;
    return std::move(*this);
  }
  operation without_pads(set dims) && {
    unpadded = dims;
    return std::move(*this);
  }
  operation without_gradient() && {
    differentiable = false;
    return std::move(*this);
  }
  operation chains() && {
    chained = true;
    return std::move(*this);
  }
  operation hides() && {
    masks = true;
    return std::move(*this);
  }
};

/// All operations, in the order of the files that hold them.
std::vector<operation> all_operations();

/// The text of docs/operations.md.
std::string documented(std::vector<operation> const& all);

}  // namespace sweep
