#include "pass.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include <mtf/threads.hpp>

#include "shards.hpp"
#include "typed.hpp"

namespace sweep {

namespace {

template <class T>
mtf::backend::buffer<backend> to_device(backend& on, numbers const& x) {
  std::vector<T> typed;
  typed.reserve(x.size());
  for (double const v : x) typed.push_back(from_double<T>(v));
  auto memory = mtf::backend::make_buffer<T>(on, static_cast<mtf::backend::index>(typed.size()));
  on.from_host(memory->data, typed.data(), typed.size() * sizeof(T));
  return memory;
}
template <class T>
numbers from_device(backend& on, mtf::backend::buffer<backend> const& memory, std::size_t n) {
  if (!memory) return {};
  auto const typed = std::make_unique<T[]>(n);
  on.to_host(typed.get(), memory->data, n * sizeof(T));
  numbers x;
  x.reserve(n);
  for (std::size_t i = 0; i < n; ++i) x.push_back(to_double(typed[i]));
  return x;
}
numbers from_device(backend& on, mtf::element e, mtf::backend::buffer<backend> const& memory, std::size_t n) {
  switch (e) {
    case mtf::element::f64:
      return from_device<double>(on, memory, n);
    case mtf::element::f32:
      return from_device<float>(on, memory, n);
    case mtf::element::i32:
      return from_device<std::int32_t>(on, memory, n);
    case mtf::element::i64:
      return from_device<std::int64_t>(on, memory, n);
    case mtf::element::boolean:
      return from_device<bool>(on, memory, n);
    case mtf::element::bf16:
      return from_device<mtf::bfloat16>(on, memory, n);
  }
  throw std::logic_error("sweep: no element type");
}

/// A rank's share of a global tensor that lies as p says.
numbers share(mesh_code const& m, place const& p, kind elements, std::uint64_t salt, numbers const& global, int rank) {
  numbers mine;
  int const terms = m.along(p.partial), index = index_along(m, rank, p.partial);
  for (std::size_t const at : positions(m, p, rank))
    mine.push_back(at == pad ? 0 : term(global[at], salt, at, index, terms, elements));
  return mine;
}

/// The operands on one rank.
std::vector<erased> operands_of(problem const& q, typed_case const& t, situation const& s, int rank, backend& on) {
  std::vector<erased> x(q.in.size());
  for (std::size_t o = 0; o < x.size(); ++o) x[o].spec = t.in[o];
  if (t.arrange != nullptr) t.arrange(on, t, x.data());
  for (std::size_t o = 0; o < x.size(); ++o) {
    numbers const mine = share(s.mesh, s.in[o], q.op->in[o].elements, q.salt + o, q.in[o], rank);
    x[o].memory = q.op->in[o].elements == kind::real ? to_device<element>(on, mine) : to_device<std::int32_t>(on, mine);
  }
  return x;
}

/// One rank's.
outcome pass_of(problem const& q, typed_case const& t, situation const& s, answer const& want, int rank, backend& on,
                std::vector<held_before> const& before) {
  using slot = mtf::detail::gradient_slot<backend, element>;
  outcome r;
  mtf::detail::tape<backend> tape(on);
  auto x = operands_of(q, t, s, rank, on);
  std::vector<erased> others(q.in.size());
  auto const earlier = [&](std::size_t o, set axes) {
    place p = s.in[o];
    p.partial = axes;
    return share(s.mesh, p, kind::real, q.salt + 99 + o, q.earlier[o], rank);
  };
  for (std::size_t o = 0; o < x.size(); ++o) {
    bool const real = q.op->in[o].elements == kind::real;
    if (real && q.op->differentiable) x[o].slot = mtf::detail::make_ref<slot>(on, tape, *x[o].spec);
    if (!x[o].slot || before.empty()) continue;
    auto const& b = before[o];
    bool const over_others =
        b.what == content::unlike || b.what == content::both || (b.what == content::known && b.alike == 0);
    set const axes = b.what == content::complete ? 0 : over_others ? b.unlike : b.alike;
    auto memory = to_device<element>(on, earlier(o, axes));
    if (b.what == content::known) mtf::detail::completed<element>(*x[o].spec, axes, memory);
    if (b.what == content::shared) {
      others[o].slot = mtf::detail::make_ref<slot>(on, tape, *x[o].spec);
      others[o].slot->add({memory, axes});
    }
    x[o].slot->add({std::move(memory), axes});
    if (b.what == content::both) x[o].slot->add({to_device<element>(on, earlier(o, b.alike)), b.alike});
  }
  erased y;
  on.ranks().record(&r.forward);
  t.call(on, x.data(), y);
  on.ranks().record(nullptr);
  r.spec = *y.spec;
  r.out = from_device(on, t.element, y.memory, static_cast<std::size_t>(shard_size(s.mesh, want.out)));
  if (y.slot || y.float_slot) {
    place seed = want.out;
    seed.partial = s.seed;
    numbers const mine = share(s.mesh, seed, kind::real, q.salt + 77, q.weights, rank);
    if (y.slot)
      y.slot->add({to_device<element>(on, mine), s.seed});
    else
      y.float_slot->add({to_device<float>(on, mine), s.seed});
    on.ranks().record(&r.backward);
    tape.run();
    on.ranks().record(nullptr);
  }
  for (std::size_t o = 0; o < x.size(); ++o) {
    if (!x[o].slot) {
      r.gradients.emplace_back();
      r.partial.push_back(0);
      continue;
    }
    auto const n = static_cast<std::size_t>(shard_size(s.mesh, s.in[o]));
    std::vector<set> axes;
    x[o].slot->each([&](auto const& g) { axes.push_back(g.partial); });
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end())
      r.broken = "a slot does not add what is partial over the same axes";
    auto const g = x[o].slot->take();
    r.gradients.push_back(from_device<element>(on, g.memory, n));
    r.partial.push_back(g.memory ? g.partial : 0U);
    if (before.empty()) continue;
    r.sums.resize(x.size());
    r.sums[o] = from_device<element>(on, mtf::detail::completed<element>(*x[o].spec, g.partial, g.memory), n);
    if (others[o].slot && from_device<element>(on, others[o].slot->take().memory, n) != earlier(o, before[o].alike))
      r.broken = "another slot's memory was written to";
  }
  return r;
}

}  // namespace

struct team::machines {
  static constexpr int most_ranks = 8;
  mtf::rank_threads pool{most_ranks};
  std::vector<Kokkos::Serial> spaces;
};

team::team() : machines_(std::make_unique<machines>()) {
  for (int r = 0; r < machines::most_ranks; ++r) machines_->spaces.emplace_back(Kokkos::NewInstance{});
}
team::~team() = default;

template <class F>
std::exception_ptr team::run(mesh_code const& m, F const& f) {
  mtf::mesh_shape shape{.ndim = m.axes, .node_axes = m.inside_node};
  for (std::size_t x = 0; x < static_cast<std::size_t>(m.axes); ++x) shape.extent[x] = m.size[x];
  auto const ended = machines_->pool.try_run(shape, [&](mtf::collectives& ranks) {
    backend on(ranks, machines_->spaces[static_cast<std::size_t>(ranks.rank())]);
    f(on);
  });
  return ended.first < 0 ? nullptr : ended.errors[static_cast<std::size_t>(ended.first)];
}

std::string team::pass(std::vector<outcome>& found, problem const& q, typed_case const& t, situation const& s,
                       answer const& want, std::vector<held_before> const& before) {
  found.assign(static_cast<std::size_t>(s.mesh.ranks()), {});
  auto const error = run(s.mesh, [&](backend& on) {
    int const rank = on.ranks().rank();
    found[static_cast<std::size_t>(rank)] = pass_of(q, t, s, want, rank, on, before);
  });
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& x) {
    return x.what();
  }
}

reply team::ask(problem const& q, typed_case const& t, situation const& s) {
  reply r;
  auto const error = run(s.mesh, [&](backend& on) {
    auto const x = operands_of(q, t, s, on.ranks().rank(), on);
    erased y;
    t.call(on, x.data(), y);
    if (on.ranks().rank() == 0) r.out = *y.spec;
  });
  if (error) try {
      std::rethrow_exception(error);
    } catch (mtf::user_error const&) {
      r.refused = true;
    } catch (std::exception const& e) {
      r.error = e.what();
    }
  return r;
}

}  // namespace sweep
