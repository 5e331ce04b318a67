#pragma once
// A program's operations, on a backend: the ranks' or a plan's.
#include "kinds.hpp"
#include "program.hpp"

namespace fuzz {

/// What is seen while a program runs: each result's sharding and, on ranks, the rank's shard.
struct observer {
  std::vector<mtf::sharding> lies;
  std::vector<std::vector<double>> shards;
  bool keeps = false;
  std::vector<erased> kept;  // all tensors
};

template <class Backend>
struct block_call {
  program const* p;
  std::size_t which;                 // of the program's blocks
  std::vector<std::size_t> numbers;  // of the tensors that it uses
  std::vector<erased> tensors;
  observer* see;

  /// As MTF_FIELDS would: recompute looks for tensors here.
  struct hana_accessors_impl {
    template <class Visit, class Self>
    static void visit_fields(Visit const& visit, Self& of) {
      for (std::size_t i = 0; i < of.numbers.size(); ++i)
        with_kind<Backend>(kind_at(*of.p, of.numbers[i]), [&]<class X>(X*) { visit("", restore<X>(of.tensors[i])); });
    }
  };
};

/// Calls lines [begin, end), those of blocks from `inner` on together. `tensors`: all until then that they use.
template <class Backend>
void call_lines(program const& p, std::size_t begin, std::size_t end, std::size_t inner, std::vector<erased>& tensors,
                observer* see) {
  constexpr bool on_ranks = Backend::holds_data;
  auto const first = first_result(p);
  std::vector<std::size_t> last_use(first + p.lines.size());  // a line, or their number: the loss
  for (std::size_t l = 0; l < p.lines.size(); ++l)
    for (std::size_t const o : p.lines[l].operands) last_use[o] = l;
  for (auto const& t : p.terms) last_use[t.of] = p.lines.size();
  for (std::size_t l = begin; l < end; ++l) {
    while (inner < p.blocks.size() && p.blocks[inner].first < l) ++inner;
    if (inner < p.blocks.size() && p.blocks[inner].first == l && p.blocks[inner].last < end) {
      auto const& lines = p.blocks[inner];
      auto const& calls = calls_for<Backend>(kind_at(p, first + lines.last));
      block_call<Backend> call{.p = &p, .which = inner, .numbers = used_by(p, lines), .tensors = {}, .see = see};
      for (std::size_t const i : call.numbers) call.tensors.push_back(tensors[i]);
      tensors[first + lines.last] = calls.recompute(call);
      l = lines.last;
    } else {
      auto const& e = entries()[p.lines[l].entry];
      std::vector<erased> x;
      for (std::size_t const o : p.lines[l].operands) x.push_back(tensors[o]);
      auto& result = tensors[first + l];
      if constexpr (on_ranks)
        result = e.on_ranks(x.data());
      else
        result = e.in_plan(x.data());
      if (see != nullptr && see->lies.size() == l) {  // not when it is computed again
        auto const& calls = calls_for<Backend>(e.out);
        see->lies.push_back(calls.place(result).spec);
        if constexpr (on_ranks) see->shards.push_back(calls.look(result));
        if (see->keeps) see->kept.resize(first + p.lines.size()), see->kept[first + l] = result;
      }
    }
    if (p.frees)
      for (std::size_t i = first; i < first + l; ++i)
        if (last_use[i] <= l) tensors[i] = nullptr;
  }
}
/// Calls a block; its result has type X.
template <class X>
struct block_to {
  X operator()(block_call<typename X::backend_type> const& call) const {
    auto const& p = *call.p;
    auto const& lines = p.blocks[call.which];
    std::vector<erased> tensors(first_result(p) + p.lines.size());
    for (std::size_t i = 0; i < call.numbers.size(); ++i) tensors[call.numbers[i]] = call.tensors[i];
    call_lines<typename X::backend_type>(p, lines.first, lines.last + 1, call.which + 1, tensors, call.see);
    return restore<X>(tensors[first_result(p) + lines.last]);
  }
};

/// Calls the lines, and adds up the loss: a scalar of the program's type. `tensors`: the parameters.
template <class Backend>
erased execute(Backend& on, program const& p, std::vector<erased> tensors, observer* see) {
  for (auto const& g : p.inputs) tensors.push_back(calls_for<Backend>(g.of).make(on, g));
  auto const first = tensors.size();
  tensors.resize(first + p.lines.size());
  call_lines<Backend>(p, 0, p.lines.size(), 0, tensors, see);
  erased loss;
  for (auto const& t : p.terms) {
    auto const& of = kind_at(p, t.of);
    auto const sum =
        scalar_as<Backend>(calls_for<Backend>(of).weigh(tensors[t.of], t.partial, weight_salt(p, t)), of.element, p.of);
    loss = loss ? add_scalars<Backend>(loss, sum, p.of) : sum;
  }
  if (see != nullptr && see->keeps) {
    see->kept.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i]) see->kept[i] = std::move(tensors[i]);
  }
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
