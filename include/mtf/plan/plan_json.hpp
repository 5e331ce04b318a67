#pragma once
// Plans as JSON: what a page of pictures shows, and other programs read. Needs nlohmann-json, so <mtf/mtf.hpp> does not
// include it.
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/record.hpp>
#include <mtf/plan/timeline.hpp>

namespace mtf {

namespace detail {

/// Writes one plan.
class plan_writer {
 public:
  plan_writer(plan_record const& r, machine_description const& on) : r_(r), on_(on) {}

  [[nodiscard]] nlohmann::json all() const {
    auto const& plan = r_.plan;
    auto const price = plan.price(on_);
    return {{"mesh", mesh()},
            {"seconds", price.seconds()},
            {"price",
             {{"products", price.products},
              {"kernels", price.kernels},
              {"collectives", price.collectives},
              {"hidden", price.hidden}}},
            {"flops", plan.flops()},
            {"bytes_moved", plan.bytes_moved()},
            {"bytes_sent", plan.bytes_sent_per_rank()},
            {"collective_count", plan.count()},
            {"peak_bytes", plan.peak_bytes},
            {"collectives", collectives()},
            {"timeline", drawn()},
            {"tensors", given()}};
  }

 private:
  [[nodiscard]] nlohmann::json mesh() const {
    auto all = nlohmann::json::array();
    for (std::size_t a = 0; a < static_cast<std::size_t>(r_.plan.mesh.ndim); ++a)
      all.push_back({{"axis", r_.plan.axis_names[a].view()}, {"ranks", r_.plan.mesh.extent[a]}});
    return all;
  }
  [[nodiscard]] nlohmann::json axes(axis_mask of) const {
    auto all = nlohmann::json::array();
    for (std::size_t a = 0; a < static_cast<std::size_t>(r_.plan.mesh.ndim); ++a)
      if (((of >> a) & 1U) != 0) all.push_back(r_.plan.axis_names[a].view());
    return all;
  }
  /// Dimensions with their extents and the axes that split them, outermost first.
  [[nodiscard]] nlohmann::json dims(sharding const& s) const {
    auto all = nlohmann::json::array();
    for (int d = 0; d < s.ndim; ++d) {
      auto split = nlohmann::json::array();
      for (int i = 0; i < s[d].split.size; ++i)
        split.push_back(r_.plan.axis_names[static_cast<std::size_t>(s[d].split[i])].view());
      all.push_back({{"dim", s[d].name}, {"extent", s[d].extent}, {"split", std::move(split)}});
    }
    return all;
  }
  static nlohmann::json parameters(planned_collective const& c) {
    auto all = nlohmann::json::array();
    for (auto const& path : std::array{c.parameter, c.other}) {
      std::string names;
      for (auto const* name : path)
        if (name != nullptr) names = name + (names.empty() ? "" : "." + names);
      if (!names.empty()) all.push_back(names);
    }
    return all;
  }
  /// What both an item of a timeline and an entry of the list of collectives say of a collective.
  [[nodiscard]] nlohmann::json collective_of(planned_collective const& c) const {
    nlohmann::json j{{"what", name_of(c.kind)},
                     {"pass", name_of(c.when)},
                     {"operation", c.operation},
                     {"parameters", parameters(c)},
                     {"axes", axes(c.axes)},
                     {"started", c.started},
                     {"bytes_sent", bytes_sent(c.kind, c.payload, r_.plan.mesh.size(c.axes))}};
    if (c.tensor != nullptr) {
      j["tensor"] = dims(*c.tensor);
      j["partial"] = axes(c.tensor->partial);
    }
    return j;
  }
  [[nodiscard]] nlohmann::json collectives() const {
    auto all = nlohmann::json::array();
    for (std::size_t i = 0; i < r_.plan.collectives.size(); ++i) {
      auto const& c = r_.plan.collectives[i];
      auto j = collective_of(c);
      j["times"] = r_.plan.times(i);
      j["seconds"] = static_cast<double>(r_.plan.times(i)) * on_.seconds(c.kind, c.payload, r_.plan.mesh, c.axes);
      all.push_back(std::move(j));
    }
    return all;
  }
  [[nodiscard]] nlohmann::json item(timeline_item const& i) const {
    auto const& first = r_.events[i.first];
    nlohmann::json j;
    if (first.what == planned_event::kind::collective) {
      j = collective_of(first.collective);
    } else {
      auto const& c = first.collective;
      double flops = 0, bytes = 0;
      auto const* tensor = c.tensor;  // if all work on the same
      auto primitives = nlohmann::json::array();
      for (auto e = i.first; e < i.last; ++e) {
        flops += r_.events[e].work.flops;
        bytes += r_.events[e].work.bytes;
        tensor = r_.events[e].collective.tensor == c.tensor ? tensor : nullptr;
        std::string name = r_.events[e].work.primitive;
        if (name.starts_with("mtf::")) name = name.substr(5);
        if (primitives.empty() || primitives.back() != name) primitives.push_back(name);
      }
      j = {{"what", first.work.bound == limit::matrix ? "product" : "kernel"},
           {"pass", name_of(c.when)},
           {"operation", c.operation},
           {"parameters", parameters(c)},
           {"primitives", std::move(primitives)},
           {"flops", flops},
           {"bytes_moved", bytes}};
      if (tensor != nullptr) {
        j["tensor"] = dims(*tensor);
        j["partial"] = axes(tensor->partial);
      }
    }
    j["begin"] = i.begin;
    j["end"] = i.end;
    j["seconds"] = i.seconds;
    j["times"] = i.rounds;
    j["beside"] = i.beside;
    return j;
  }
  [[nodiscard]] nlohmann::json drawn() const {
    auto const t = timeline_of(r_, on_);
    auto items = nlohmann::json::array(), loops = nlohmann::json::array(), memory = nlohmann::json::array();
    for (auto const& i : t.items) items.push_back(item(i));
    for (auto const& l : t.loops) loops.push_back({{"begin", l.begin}, {"end", l.end}, {"rounds", l.rounds}});
    for (auto const& m : t.memory) memory.push_back({m.at, m.bytes});
    return {{"seconds", t.seconds},
            {"items", std::move(items)},
            {"loops", std::move(loops)},
            {"wait", {{"begin", t.wait_begin}, {"end", t.wait_end}}},
            {"memory", std::move(memory)}};
  }
  [[nodiscard]] nlohmann::json given() const {
    auto all = nlohmann::json::array();
    for (auto const& t : r_.given)
      all.push_back({{"name", t.name}, {"count", t.count}, {"element_bytes", t.element}, {"dims", dims(t.where)}});
    return all;
  }

  plan_record const& r_;
  machine_description const& on_;
};

}  // namespace detail

/// A plan, its price, its timeline and what its program is given, as JSON: seconds, bytes, flops of one rank in one
/// step. `collectives` are the plan's, in order; `timeline.items` all that a rank does, with equal layers drawn as one
/// (see mtf::timeline); `timeline.memory` pairs of seconds and bytes; `tensors` parameters and inputs.
inline nlohmann::json json_of(plan_record const& r, machine_description const& on) {
  return detail::plan_writer(r, on).all();
}

}  // namespace mtf
