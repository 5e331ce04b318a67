// Smaller programs that fail as well.
#include <algorithm>

#include "program.hpp"

namespace fuzz {

namespace {

/// Without some tensors, which no others are made of: numbers after them move up.
class renumbered {
 public:
  renumbered(program const& p, std::vector<bool> const& gone) : p_(p) {
    auto const first = first_result(p), parameters = parameters_of(p).size();
    std::size_t next = 0;
    for (bool const g : gone) to_.push_back(g ? 0 : next++);
    p_.inputs.clear();
    p_.lines.clear();
    p_.terms.clear();
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
      if (!gone[parameters + i]) p_.inputs.push_back(p.inputs[i]);
    for (std::size_t l = 0; l < p.lines.size(); ++l) {
      if (gone[first + l]) continue;
      p_.lines.push_back(p.lines[l]);
      for (auto& o : p_.lines.back().operands) o = to_[o];
    }
    p_.blocks.clear();
    for (auto const& x : p.blocks) {
      auto const left = [&](std::size_t begin, std::size_t end) {
        auto const at = gone.begin() + static_cast<std::ptrdiff_t>(first);
        return static_cast<std::size_t>(
            std::count(at + static_cast<std::ptrdiff_t>(begin), at + static_cast<std::ptrdiff_t>(end), false));
      };
      auto const before = left(0, x.first), inside = left(x.first, x.last + 1);
      if (inside > 0) p_.blocks.push_back({before, before + inside - 1});
    }
    for (auto t : p.terms) {
      if (gone[t.of]) continue;
      t.of = to_[t.of];
      p_.terms.push_back(t);
    }
  }
  program p_;

 private:
  std::vector<std::size_t> to_;
};

/// Without a tensor, and without what is made of it.
program without_tensor(program const& p, std::size_t which) {
  auto const first = first_result(p);
  std::vector<bool> gone(first + p.lines.size());
  gone[which] = true;
  for (std::size_t l = 0; l < p.lines.size(); ++l)
    for (std::size_t const o : p.lines[l].operands) gone[first + l] = gone[first + l] || gone[o];
  return renumbered(p, gone).p_;
}

/// f(candidate) for each program a step smaller; it says whether to stop.
bool without_pads_divides(program const& p, std::size_t d) {
  for (auto const& l : p.layouts)
    for (std::size_t const e : {d, d == 0 ? std::size_t{4} : d})
      if (p.extents[d] % p.mesh.shape.size(l.split_of(mtf::detail::hash_of(dim_names[e])).mask()) != 0) return false;
  return true;
}

template <class F>
bool each_smaller(program const& p, F const& f) {
  auto const first = first_result(p), parameters = parameters_of(p).size();
  auto const changed = [&](auto const& change) {
    program q = p;
    change(q);
    return f(q);
  };
  for (std::size_t i = first + p.lines.size(); i-- > parameters;)
    if (!(p.refused && i + 1 == first + p.lines.size()) && f(without_tensor(p, i))) return true;
  for (std::size_t i = 0; p.terms.size() > 1 && i < p.terms.size(); ++i)
    if (changed([&](program& q) { q.terms.erase(q.terms.begin() + static_cast<std::ptrdiff_t>(i)); })) return true;
  for (std::size_t i = 0; i < p.blocks.size(); ++i)
    if (changed([&](program& q) { q.blocks.erase(q.blocks.begin() + static_cast<std::ptrdiff_t>(i)); })) return true;
  for (std::size_t d = 0; d < 4; ++d)  // no pads, where ranks need none
    if (stored(p, d) != p.extents[d] && without_pads_divides(p, d) && changed([&](program& q) {
          q.padded_to[d] = 1;
          q.padded_to[4] = q.padded_to[0];
        }))
      return true;
  for (int x = 0; x < p.mesh.shape.ndim; ++x)  // an axis of one rank
    if (p.mesh.shape.extent[static_cast<std::size_t>(x)] > 1 && changed([&](program& q) {
          q.mesh.shape.extent[static_cast<std::size_t>(x)] = 1;
          for (auto& l : q.layouts) l.mesh = q.mesh;
        }))
      return true;
  if (p.mesh.shape.node_axes != 0 && changed([](program& q) {
        q.mesh.shape.node_axes = 0;
        for (auto& l : q.layouts) l.mesh = q.mesh;
      }))
    return true;
  for (std::size_t i = 0; i < p.layouts.size(); ++i)  // a rule less
    for (int d = 0; d < p.layouts[i].size; ++d)
      if (changed([&](program& q) {
            q.layouts[i] = {.mesh = p.mesh};
            for (int e = 0; e < p.layouts[i].size; ++e)
              if (auto const& rule = p.layouts[i].rules[static_cast<std::size_t>(e)]; e != d)
                q.layouts[i].split(rule.name.view(), rule.axes);
          }))
        return true;
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i].partial != 0 && changed([&](program& q) { q.inputs[i].partial = 0; })) return true;
  for (std::size_t i = 0; i < p.terms.size(); ++i)
    if (p.terms[i].partial != 0 && changed([&](program& q) { q.terms[i].partial = 0; })) return true;
  if (p.how != mode::later && changed([](program& q) { q.how = mode::later; })) return true;
  if (p.again && changed([](program& q) { q.again = false; })) return true;
  return p.frees && changed([](program& q) { q.frees = false; });
}

/// What kind of failure it is: a program that is refused is no smaller form of one that computes something wrong.
bool says_refused(std::string const& failure) {
  return failure.find("refuse") != std::string::npos || failure.find("accept") != std::string::npos;
}

}  // namespace

program shrunk(runner& on, program p, int& tries) {
  bool const refused = says_refused(on.run(p).failure);
  constexpr int most = 2000;
  while (each_smaller(p, [&](program q) {
    if (q.terms.empty()) q.terms.push_back({0, 0});
    drop_unused_rules(q);
    if (++tries > most || !meaning_of(q).usable) return false;
    auto const failure = on.run(q).failure;
    if (failure.empty() || says_refused(failure) != refused) return false;
    p = q;
    return true;
  })) {
  }
  return p;
}

}  // namespace fuzz
