#pragma once
// Among which layouts the best is searched, and what a search comes to.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/core/layout_value.hpp>

namespace mtf {

/// What the best layout needs least of: seconds of a step on the machine, bytes that a rank sends, or bytes that it
/// holds.
enum class least : std::uint8_t { seconds, bytes_sent, memory };

/// Among which layouts the best is searched.
struct layouts_to_search {
  int ranks = 1;                     // on all meshes of so many ranks,
  int most_axes = 3;                 // of up to so many axes;
  std::optional<mesh_value> mesh{};  // or on this one
  std::size_t layouts = 1;           // how many the program has: any_layout<0>, any_layout<1> and so on;
  bool alike = false;                // only those in which all of these are the same
  /// Rules that are part of each layout: of the first, the second and so on, as many as there are. Needs the mesh.
  std::vector<layout_value> pinned{};
  std::vector<std::string> whole{};                // dimensions that are not split
  std::uint64_t memory = ~0ULL;                    // bytes that a rank may hold; no more than the machine has
  std::optional<completed_gradients> completed{};  // only so; both ways are tried if this is empty
  least of = least::seconds;
  std::size_t wanted = 3;  // how many are to be found, the best first
};

/// Layouts of a program, when gradients are reduced and whether the optimizer's state is split under them, and what a
/// step then takes of one rank.
struct found_layout {
  std::vector<layout_value> layouts;
  completed_gradients gradients = completed_gradients::later;
  bool state_is_split = false;
  double seconds = 0;
  std::uint64_t bytes_sent = 0, memory = 0;

  /// What is to be least.
  [[nodiscard]] constexpr double of(least what) const {
    return what == least::seconds ? seconds : static_cast<double>(what == least::memory ? memory : bytes_sent);
  }
};

/// What a search came to. Here a layout means all layouts of the program together. Of each there are up to four plans:
/// with gradients reduced later or overlapped, with the optimizer's state as the parameters or split; the best of them
/// counts.
struct searched_layouts {
  std::vector<found_layout> best;  // ascending
  std::uint64_t meshes = 0;
  std::uint64_t layouts = 0;  // all that split no two dimensions of one tensor by one axis, and divide extents
  std::uint64_t tried = 0;    // layouts of which plans were made
  // Layouts that no plan was made of:
  std::uint64_t elsewhere =
      0;  // the same as another, of this mesh or of one with fewer axes, as far as they were listed
  std::uint64_t parameters_too_large = 0;  // the parameters alone need more memory, as far as they were listed
  std::uint64_t bounded = 0;               // all others: their bound is no less than the last of the best
  std::uint64_t priced = 0;                // plans
  std::uint64_t too_large = 0;             // plans that need more memory
  std::uint64_t on_one_axis = 0;           // plans made for bounds
  /// Of the layouts tried, those that rules refuse, by the compiler's sentence.
  std::vector<std::pair<std::string, std::uint64_t>> refused{};
};

}  // namespace mtf
