// Programs on ranks that are threads, and what must hold: values, gradients, replicas, plans, memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include <mtf/plan/plan_under.hpp>
#include <mtf/threads.hpp>

#include "../support/to_double.hpp"
#include "execute.hpp"

namespace fuzz {

namespace {

using event = mtf::collectives::event;

/// What one rank hands back.
struct outcome {
  observer seen;
  double loss = 0, norm = 0;
  std::vector<std::vector<double>> gradients, updated;
  std::vector<mtf::sharding> parameters;
  std::vector<event> sent;
  std::size_t peak = 0, left = 0;
  std::string refusal, broken;
};
/// What was planned.
struct planned {
  observer seen;
  std::vector<event> sends;
  std::vector<std::uint64_t> peaks;  // of each rank
  std::string refusal;
};

constexpr double learning_rate = 1.0 / 16;
constexpr mtf::completed_gradients when(mode m) {
  return m == mode::later || m == mode::kept ? mtf::completed_gradients::later : mtf::completed_gradients::overlapped;
}

// A program's type and parameters as types ----------------------------------------------------------------------------

template <class T, template <template <class...> class> class Structure>
struct as_types {
  using element = T;
  using stands = mtf::parameters<Structure, T>;
  using parameters = Structure<mtf::place<T, mtf::any_layout<>, counted>::template tensor>;
};
/// f(as_types): the program's.
template <class F>
auto with_types(mtf::element of, bool is_large, F const& f) {
  if (is_large) return f(as_types<double, large>{});
  switch (of) {
    case mtf::element::f32:
      return f(as_types<float, small>{});
    case mtf::element::bf16:
      return f(as_types<mtf::bfloat16, small>{});
    default:
      return f(as_types<double, small>{});
  }
}

template <class Types>
void run_types(Types, counted& on, program const& p, outcome& r) {
  using T = typename Types::element;
  typename Types::parameters params;
  std::size_t n = 0;
  auto const& given = parameters_of(p);
  mtf::for_each_tensor(
      [&](auto, auto& x) {
        using X = std::remove_cvref_t<decltype(x)>;
        auto const& g = given[n++].as;
        auto const made = calls_for<counted>(g.of).make(on, g);
        auto const& like = restore<first_layout<X>>(made);
        x = X(like.value(), like.where());
        r.parameters.push_back(x.where().spec);
      },
      params);
  on.ranks().record(&r.sent);
  loss_of<T> const loss{&p, &r.seen};
  r.seen.keeps = p.how == mode::kept;
  auto const look = [&](auto const& x) {
    using X = std::remove_cvref_t<decltype(x)>;
    return calls_for<counted>(kind_of<typename X::element_type, typename X::shape_type>()).look(erase(x));
  };
  auto const judge = [&](auto const& result, auto const& after) {
    r.loss = tests::to_double(mtf::item(result.value));
    r.norm = after(result.gradients);
    r.peak = on.peak();
    on.ranks().record(nullptr);
    mtf::for_each_tensor([&](auto, auto const& g) { r.gradients.push_back(look(g.complete())); }, result.gradients);
  };
  if (p.how == mode::updated) {
    mtf::sgd<typename Types::parameters, mtf::decay_weights, state_split> optimizer(on, {.momentum = 0.5});
    judge(mtf::value_and_grad<state_split>(loss, when(p.how))(std::as_const(params)),
          [&](auto const& g) { return optimizer.update(on, params, g, learning_rate); });
  } else {
    judge(mtf::value_and_grad(loss, when(p.how))(std::as_const(params)),
          [&](auto const& g) { return mtf::global_norm(on, g); });
  }
  mtf::for_each_tensor([&](auto, auto const& x) { r.updated.push_back(look(x)); }, params);
  if (p.how == mode::kept) {
    auto const first = first_result(p);
    for (std::size_t l = 0; l < p.lines.size() && r.broken.empty(); ++l) {
      auto const now = calls_for<counted>(kind_at(p, first + l)).look(r.seen.kept[first + l]);
      if (std::memcmp(now.data(), r.seen.shards[l].data(), now.size() * sizeof(double)) != 0)
        r.broken = "result " + std::to_string(l) + " was changed after it was made";
    }
    r.seen.kept.clear();
  }
}

/// The program under its layouts in another order, and with other extents: what a backend derived then must not matter
/// afterwards. All ranks refuse it, or none does.
template <class Types>
void run_under_others(Types types, counted& on, program p) {
  std::rotate(p.layouts.begin(), p.layouts.begin() + 1, p.layouts.end());
  auto const extents = given_extents(p);
  for (int& n : p.extents) n *= 2;
  on.layouts().give(given_extents(p));
  for (auto const& layout : p.layouts) on.layouts().add(layout);
  for (auto& t : p.terms) t.partial = 0;  // tensors are split otherwise
  try {
    outcome ignored;
    run_types(types, on, p, ignored);
  } catch (mtf::user_error const&) {
    on.ranks().record(nullptr);
    on.ranks().barrier();
  }
  on.layouts().clear();
  on.layouts().give(extents);
  on.forget_peak();
}

template <mtf::completed_gradients When, class Split, class Update, class Types>
void plan_so(Types, program const& p, planned& r) {
  using loss = loss_of<typename Types::element>;
  using stands = typename Types::stands;
  r.sends = mtf::plan_under<When, Split, Update>(loss{&p, &r.seen}, p.layouts, given_extents(p), stands{}).unrolled();
  for (int rank = 0; rank < p.mesh.shape.size(); ++rank) {
    observer ignored;
    mtf::trace b(p.mesh.shape, rank);
    mtf::detail::trace_under<When, Split, Update, loss, stands>(b, loss{&p, &ignored}, p.layouts, given_extents(p));
    r.peaks.push_back(b.peak_bytes());
  }
}
template <class Types>
void plan_types(Types types, program const& p, planned& r) {
  using enum mtf::completed_gradients;
  if (p.how == mode::updated)
    plan_so<overlapped, state_split, mtf::updated_by<mtf::sgd>>(types, p, r);
  else if (when(p.how) == overlapped)
    plan_so<overlapped, mtf::state_split_over<>, mtf::without_update>(types, p, r);
  else
    plan_so<later, mtf::state_split_over<>, mtf::without_update>(types, p, r);
}

template <class Structure>
std::vector<parameter> parameters_in(mtf::element of) {
  std::vector<parameter> all;
  Structure const s;
  mtf::for_each_tensor(
      [&](auto name, auto const& x) {
        using X = std::remove_cvref_t<decltype(x)>;
        constexpr bool second = std::is_same_v<typename X::layout_type, mtf::any_layout<1>>;
        auto k = kind_of<typename X::element_type, typename X::shape_type>();
        k.element = of;
        auto const salt = 17 * all.size() + 3;
        all.push_back({std::string(name), {.of = k, .layout = second ? 1U : 0U, .salt = salt}});
      },
      s);
  return all;
}

// Judgements
// -----------------------------------------------------------------------------------------------------------

/// How far results may be from what they mean: bounds of errors are to first order, and ranks add in other orders.
constexpr double safety = 4;
/// Numbers of that size lose digits, in float below 2^-126, and what is far below others does not matter.
constexpr double underflow = 0x1p-100;

std::string text_of(mtf::mesh_shape const& mesh, std::vector<event> const& all) {
  std::string s;
  for (auto const& e : all) {
    s += (s.empty() ? "" : ", ") + std::string(mtf::name_of(e.kind)) + " of " + std::to_string(e.payload) + " B over ";
    for (int x = 0; x < mesh.ndim; ++x)
      if (((e.axes >> static_cast<unsigned>(x)) & 1U) != 0) s += "pqrs"[x];
  }
  return s.empty() ? "nothing" : s;
}

class judge {
 public:
  judge(program const& p, std::vector<outcome> const& ranks, verdict& v) : p_(p), ranks_(ranks), v_(v) {}

  void fail(std::string what) {
    if (v_.failure.empty())
      v_.failure = "on the mesh [" + p_.mesh.text() + "], " + mode_names[static_cast<std::size_t>(p_.how)] +
                   (p_.again ? ", after other layouts: " : ": ") + std::move(what);
  }
  [[nodiscard]] bool failed() const { return !v_.failure.empty(); }

  /// A tensor's shards, as shards_of(outcome) has them, of the sharding s: what the ranks hold together is `want`
  /// within its bounds, and replicas are the same to the bit.
  template <class Shards, class Want, class Bound>
  void compare(std::string const& what, mtf::sharding const& s, Shards const& shards_of, Want const& want,
               Bound const& bound) {
    auto const& mesh = p_.mesh.shape;
    double largest = 0, coarsest = 0;
    for (int r = 0; r < mesh.size() && !failed(); ++r) {
      auto const at = positions(s, mesh, r);
      auto const& mine = shards_of(rank(r));
      if (mine.size() != at.size()) return fail(what + ": a shard of " + std::to_string(mine.size()) + " elements");
      bool first = true;  // of those that hold the same, and of its sum
      std::vector<double> sum(at.size());
      for (int k = 0; k < mesh.size() && first; ++k) {
        bool same = true, terms = true;
        for (int x = 0; x < mesh.ndim; ++x) {
          if (coordinate(mesh, r, x) == coordinate(mesh, k, x)) continue;
          bool const splits = ((s.split_axes() >> static_cast<unsigned>(x)) & 1U) != 0;
          bool const sums = ((s.partial >> static_cast<unsigned>(x)) & 1U) != 0;
          same = same && !splits && !sums;
          terms = terms && sums;
        }
        auto const& other = shards_of(rank(k));
        if (same && k < r) {
          if (std::memcmp(mine.data(), other.data(), mine.size() * sizeof(double)) != 0)
            return fail(what + ": ranks " + std::to_string(k) + " and " + std::to_string(r) +
                        " hold the same part, with other bits");
          first = false;
        }
        if (terms && k < r) first = false;
        if (terms)
          for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += other[i];
            if (at[i] == pad && !(other[i] == 0))
              return fail(what + ", rank " + std::to_string(k) + ": a pad is not 0");
          }
      }
      for (std::size_t i = 0; first && i < sum.size(); ++i) {
        if (at[i] == pad) continue;
        double const right = want(at[i]), allowed = safety * bound(at[i]) + underflow, error = std::abs(sum[i] - right);
        largest = std::max(largest, std::abs(right));
        coarsest = std::max(coarsest, allowed);
        v_.ratio = std::max(v_.ratio, error / allowed);
        if (error <= allowed) continue;
        std::ostringstream text;
        text.precision(12);
        text << what << ", rank " << r << ", element " << at[i] << ": " << sum[i] << ", expected " << right
             << ", of which rounding explains " << allowed;
        return fail(text.str());
      }
    }
    ++v_.compared;
    if (coarsest > 0.1 * largest && largest > 0) ++v_.coarse;
  }
  [[nodiscard]] outcome const& rank(int r) const { return ranks_[static_cast<std::size_t>(r)]; }

 private:
  program const& p_;
  std::vector<outcome> const& ranks_;
  verdict& v_;
};

}  // namespace

std::vector<parameter> const& parameters_of(mtf::element of, bool is_large) {
  using place = mtf::place<double, mtf::any_layout<>, mtf::trace>;
  static std::array const all{
      parameters_in<small<place::tensor>>(mtf::element::f64), parameters_in<small<place::tensor>>(mtf::element::f32),
      parameters_in<small<place::tensor>>(mtf::element::bf16), parameters_in<large<place::tensor>>(mtf::element::f64)};
  return all[is_large ? 3 : of == mtf::element::bf16 ? 2 : of == mtf::element::f32 ? 1 : 0];
}

struct runner::machines {
  static constexpr int most_ranks = 64;
  mtf::rank_threads pool{most_ranks};
  std::vector<Kokkos::Serial> spaces;
};
runner::runner() : machines_(std::make_unique<machines>()) {
  for (int r = 0; r < machines::most_ranks; ++r) machines_->spaces.emplace_back(Kokkos::NewInstance{});
}
runner::~runner() = default;

verdict runner::run(program const& p) {
  meaning const what = meaning_of(p);
  if (!what.usable) return {.failure = "the program means nothing: a decision depends on rounding"};
  auto v = run_on(on_one_rank(p), what);
  if (!v.failure.empty() || p.mesh.shape.ndim == 0) return v;
  auto const all = run_on(p, what);
  v.failure = all.failure;
  v.refused = all.refused;
  v.ratio = std::max(v.ratio, all.ratio);
  v.compared += all.compared;
  v.coarse += all.coarse;
  return v;
}

verdict runner::run_on(program const& p, meaning const& what) {
  verdict v;
  planned plan;
  auto const& mesh = p.mesh.shape;
  std::vector<outcome> ranks(static_cast<std::size_t>(mesh.size()));
  judge is(p, ranks, v);
  try {
    with_types(p.of, p.is_large, [&](auto types) { plan_types(types, p, plan); });
  } catch (mtf::user_error const& e) {
    plan.refusal = e.what();
  } catch (std::exception const& e) {
    is.fail(std::string("the plan ends with ") + e.what());
    return v;
  }
  auto const ended = machines_->pool.try_run(mesh, [&](mtf::collectives& on_ranks) {
    auto& r = ranks[static_cast<std::size_t>(on_ranks.rank())];
    counted on(on_ranks, machines_->spaces[static_cast<std::size_t>(on_ranks.rank())]);
    on.layouts().give(given_extents(p));
    if (p.again) with_types(p.of, p.is_large, [&](auto types) { run_under_others(types, on, p); });
    for (auto const& layout : p.layouts) on.layouts().add(layout);
    try {
      with_types(p.of, p.is_large, [&](auto types) { run_types(types, on, p, r); });
    } catch (mtf::user_error const& e) {
      r.refusal = e.what();
      r.seen.kept.clear();
      on_ranks.barrier();
    }
    r.left = on.live();
  });
  if (ended.first >= 0) {
    try {
      std::rethrow_exception(ended.errors[static_cast<std::size_t>(ended.first)]);
    } catch (std::exception const& e) {
      is.fail("rank " + std::to_string(ended.first) + " ends with " + e.what());
    }
    return v;
  }
  v.refused = !plan.refusal.empty();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    auto const who = "rank " + std::to_string(r);
    if (ranks[r].refusal != plan.refusal)
      is.fail(who + (ranks[r].refusal.empty() ? " accepts what the plan refuses: " : " refuses: ") +
              (ranks[r].refusal.empty() ? plan.refusal : ranks[r].refusal) +
              (ranks[r].refusal.empty() || plan.refusal.empty() ? "" : "; the plan: " + plan.refusal));
    if (ranks[r].left != 0) is.fail(who + " leaks " + std::to_string(ranks[r].left) + " bytes");
    if (!ranks[r].broken.empty()) is.fail(who + ": " + ranks[r].broken);
  }
  if (p.refused != v.refused)
    is.fail(p.refused ? "accepted, though the generator was refused" : "refused: " + plan.refusal);
  if (is.failed() || v.refused) return v;

  auto const& t = what.numbers;
  auto const first = first_result(p);
  for (std::size_t l = 0; l < p.lines.size() && !is.failed(); ++l) {
    auto const& lies = ranks[0].seen.lies[l];
    auto const name = "result " + std::to_string(l) + ", " + entries()[p.lines[l].entry].text;
    for (auto const& r : ranks)
      if (!(r.seen.lies[l] == lies) || !(plan.seen.lies[l] == lies)) is.fail(name + ": lies otherwise than planned");
    auto const& numbers = what.tensors[first + l].numbers;
    is.compare(
        name, lies, [&](outcome const& r) -> auto const& { return r.seen.shards[l]; },
        [&](std::size_t i) { return t[numbers[i]].value; }, [&](std::size_t i) { return t[numbers[i]].error; });
  }
  for (std::size_t r = 0; r < ranks.size() && !is.failed(); ++r) {
    auto const& loss = t[what.loss];
    if (!(std::abs(ranks[r].loss - loss.value) <= safety * loss.error))
      is.fail("the loss is " + std::to_string(ranks[r].loss) + ", expected " + std::to_string(loss.value) +
              ", of which rounding explains " + std::to_string(safety * loss.error));
    if (std::memcmp(&ranks[r].loss, &ranks[0].loss, sizeof(double)) != 0) is.fail("ranks have different losses");
    if (std::memcmp(&ranks[r].norm, &ranks[0].norm, sizeof(double)) != 0) is.fail("ranks have different norms");
  }
  auto const& parameters = parameters_of(p);
  double squares = 0, squares_error = 0;
  for (std::size_t i = 0; i < parameters.size() && !is.failed(); ++i) {
    auto const& numbers = what.tensors[i].numbers;
    auto const gradient = [&](std::size_t at) { return t[numbers[at]].derivative; };
    auto const error = [&](std::size_t at) { return t[numbers[at]].derivative_error; };
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      squares += gradient(at) * gradient(at);
      squares_error += (2 * std::abs(gradient(at)) + safety * error(at)) * error(at);
    }
    is.compare(
        "gradient of " + parameters[i].name, ranks[0].parameters[i],
        [&](outcome const& r) -> auto const& { return r.gradients[i]; }, gradient, error);
    if (p.how != mode::updated) continue;
    is.compare(
        parameters[i].name + ", updated", ranks[0].parameters[i],
        [&](outcome const& r) -> auto const& { return r.updated[i]; },
        [&](std::size_t at) { return t[numbers[at]].value - learning_rate * gradient(at); },
        [&](std::size_t at) {
          double const size = std::abs(t[numbers[at]].value) + learning_rate * std::abs(gradient(at));
          return learning_rate * error(at) + 4 * stores_to(p.of) * size;
        });
  }
  double const norm = std::sqrt(squares);
  squares_error += 0x1p-40 * squares;
  if (!is.failed() && !(std::abs(ranks[0].norm * ranks[0].norm - squares) <= safety * squares_error))
    is.fail("the gradients' norm is " + std::to_string(ranks[0].norm) + ", expected " + std::to_string(norm));

  // What ran is what was planned. (What is kept has other memory, and gradients that are final at other times.)
  for (std::size_t r = 0; r < ranks.size() && !is.failed(); ++r) {
    auto const who = "rank " + std::to_string(r);
    if (ranks[r].sent != plan.sends)
      is.fail(who + " sent " + text_of(mesh, ranks[r].sent) + "; planned was " + text_of(mesh, plan.sends));
    if (p.how != mode::kept && ranks[r].peak != plan.peaks[r])
      is.fail(who + " had " + std::to_string(ranks[r].peak) + " bytes of tensors, planned were " +
              std::to_string(plan.peaks[r]));
    if (plan.peaks[r] > plan.peaks[0]) is.fail(who + " has more bytes of tensors than the plan's, which is rank 0's");
  }
  return v;
}

}  // namespace fuzz
