#pragma once
// Plans with all that they were made of, in order: what timelines and pictures are drawn from.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/place.hpp>

namespace mtf {

/// A tensor that a planned program is given, with its sharding.
struct planned_tensor {
  std::string name;         // a parameter's path, such as "blocks.*.wq"; empty for an input
  std::uint64_t count = 1;  // of equal layers
  std::size_t element = 0;  // bytes
  sharding where;
};

/// A plan, and every event of one step in order. It owns what these point to: it moves, and is not copied.
struct plan_record {
  plan_value plan;
  std::vector<planned_event> events;  // balanced: each loop that begins ends
  std::vector<planned_tensor> given;  // parameters in the order of their structure, then inputs
  std::vector<sharding> tensors;      // of the events
};

namespace detail {

/// Writes down every event of a step.
class event_recorder final : public trace_listener {
 public:
  explicit event_recorder(std::vector<planned_event>& to) : events_(&to) {}
  constexpr void step_begins() override { events_->clear(); }
  constexpr void happened(planned_event const& what, std::uint64_t, operation_tensors const&) override {
    events_->push_back(what);
  }
  constexpr void works_under(std::span<sharding const>, sharding const&, layout_value const&) override {}
  constexpr void differentiated(int, sharding const&, std::size_t, std::uint64_t, operation_tensors const&) override {}

 private:
  std::vector<planned_event>* events_;
};

/// "blocks.*.wq"
inline std::string name_of_all_layers(path const& p) {
  auto const here = p.name == nullptr ? std::string("*") : std::string(p.name);
  return p.up == nullptr ? here : name_of_all_layers(*p.up) + "." + here;
}

/// Adds a tensor, or to the count of one that is like it.
inline void add_given(std::vector<planned_tensor>& all, planned_tensor const& t) {
  if (!t.name.empty())
    for (auto& o : all)
      if (o.name == t.name && o.where == t.where) {
        o.count += t.count;
        return;
      }
  all.push_back(t);
}

/// The tensors that stand for an argument.
template <class In>
void add_tensors_of(std::vector<planned_tensor>& all, trace& b) {
  stand_in<place<float, any_layout<>, trace>, In> argument(b);
  walk_tensors(
      b,
      [&](path const& at, auto const& x) {
        using element = typename std::remove_cvref_t<decltype(x)>::element_type;
        add_given(all, {is_parameters<In> ? name_of_all_layers(at) : "", b.times(), sizeof(element), x.where().spec});
      },
      argument.value);
}

}  // namespace detail

/// As `plan_under`, when the program runs, with every event; when gradients are reduced, and whether the state is split
/// over `Split`, is also said when the program runs.
template <class Split = state_split_over<>, class Update = without_update, class F, class... In>
plan_record record_under(completed_gradients when, bool state_is_split, F const& f,
                         std::span<layout_value const> layouts, extents_value const& extents, In...) {
  using verdict = decltype(detail::program_verdict<any_layout<>, F, In...>());
  using checked [[maybe_unused]] = checked_t<verdict>;
  plan_record r;
  if constexpr (verdict::value) {
    trace b(layouts.front().mesh.shape);
    detail::event_recorder recorder(r.events);
    b.listen(&recorder);
    detail::as_types<Split>(when, state_is_split, [&]<completed_gradients When, class S>() {
      detail::trace_under<When, S, Update, F, In...>(b, f, layouts, extents);
    });
    b.listen(nullptr);
    r.plan = detail::plan_from<F>(b, layouts.front().mesh);
    detail::own_tensors(r.tensors, [&](auto const& own) {
      for (auto& e : r.events) own(e.collective.tensor);
    });
    (detail::add_tensors_of<In>(r.given, b), ...);
  }
  return r;
}
template <class Split = state_split_over<>, class Update = without_update, class F, class... In>
plan_record record_under(completed_gradients when, bool state_is_split, F const& f,
                         std::span<layout_value const> layouts, In... in) {
  return record_under<Split, Update>(when, state_is_split, f, layouts, extents_value{}, in...);
}

}  // namespace mtf
