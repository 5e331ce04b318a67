#pragma once
// What tests of checkpoints share: ranks as threads, and models whose every number is another.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mtf/mtf.hpp>

#include "support/ranks_as_threads.hpp"

using backend = thread_backend;

/// A model with numbers of its own in each place.
template <class Model>
Model numbered(backend& machine) {
  Model p;
  float next = 1;
  mtf::for_each_tensor(
      [&](auto, auto& x) {
        using X = std::remove_reference_t<decltype(x)>;
        std::vector<typename X::element_type> global(static_cast<std::size_t>(X::shape_type::size));
        for (auto& e : global) e = static_cast<typename X::element_type>(next += 0.25F);
        x = mtf::from_global<X>(machine, global);
      },
      p);
  return p;
}

/// The tensors by name, whole.
template <class Structure>
std::map<std::string, std::vector<double>> all_of(Structure const& p) {
  std::map<std::string, std::vector<double>> all;
  mtf::for_each_tensor(
      [&](std::string_view name, auto const& x) {
        for (auto const e : mtf::to_global(x))
          all[std::string(name)].push_back(static_cast<double>(static_cast<float>(e)));
      },
      p);
  return all;
}
