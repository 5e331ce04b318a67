#pragma once
// A program's operations, on a backend: the ranks' or a plan's.
#include "program.hpp"

namespace fuzz {

/// What is seen while a program runs: how each result lies and, on ranks, the rank's shard.
struct observer {
  std::vector<mtf::sharding> lies;
  std::vector<std::vector<double>> shards;
  bool keeps = false;
  std::vector<erased> kept;  // all tensors
};

/// Calls the lines, and adds up the loss: a scalar of the program's type. `tensors`: the parameters.
template <class Backend>
erased execute(Backend& on, program const& p, std::vector<erased> tensors, observer* see) {
  constexpr bool on_ranks = Backend::holds_data;
  for (auto const& g : p.inputs) tensors.push_back(calls_for<Backend>(g.of).make(on, g));
  auto const first = tensors.size();
  std::vector<std::size_t> last_use(first + p.lines.size());  // a line, or their number: the loss
  for (std::size_t l = 0; l < p.lines.size(); ++l)
    for (std::size_t const o : p.lines[l].operands) last_use[o] = l;
  for (auto const& t : p.terms) last_use[t.of] = p.lines.size();
  for (std::size_t l = 0; l < p.lines.size(); ++l) {
    auto const& e = entries()[p.lines[l].entry];
    {
      std::vector<erased> x;
      for (std::size_t const o : p.lines[l].operands) x.push_back(tensors[o]);
      if constexpr (on_ranks)
        tensors.push_back(e.on_ranks(x.data()));
      else
        tensors.push_back(e.in_plan(x.data()));
    }
    auto const& calls = calls_for<Backend>(e.out);
    if (see != nullptr) {
      see->lies.push_back(calls.place(tensors.back()).spec);
      if constexpr (on_ranks) see->shards.push_back(calls.look(tensors.back()));
    }
    if (p.frees)
      for (std::size_t i = first; i < tensors.size(); ++i)
        if (i - first != l && last_use[i] <= l) tensors[i] = nullptr;
  }
  erased loss;
  for (auto const& t : p.terms) {
    auto const& of = kind_at(p, t.of);
    auto const sum =
        scalar_as<Backend>(calls_for<Backend>(of).weigh(tensors[t.of], t.partial, weight_salt(p, t)), of.element, p.of);
    loss = loss ? add_scalars<Backend>(loss, sum, p.of) : sum;
  }
  if (see != nullptr && see->keeps) see->kept = std::move(tensors);
  return loss;
}

/// The program's loss, as value_and_grad and plans call it.
template <class T>
struct loss_of {
  program const* p;
  observer* see;

  template <class Params>
  auto operator()(Params const& x) const {
    using backend = typename decltype(x.ab)::backend_type;
    std::vector<erased> tensors;
    mtf::for_each_tensor([&](auto, auto const& t) { tensors.push_back(erase(t)); }, x);
    return restore<on_any<T, mtf::shape<>, backend>>(execute<backend>(x.ab.backend(), *p, std::move(tensors), see));
  }
};

}  // namespace fuzz
