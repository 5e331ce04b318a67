#pragma once
// Descriptions of machines in files.
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include <mtf/mtf.hpp>

namespace machine_file {

using nlohmann::json;

inline json of(mtf::speed_table const& t) {
  json all = json::array();
  for (int i = 0; i < t.count; ++i)
    all.push_back({t.at[static_cast<std::size_t>(i)].size, t.at[static_cast<std::size_t>(i)].per_second});
  return all;
}
inline mtf::speed_table table_from(json const& j) {
  mtf::speed_table t;
  for (auto const& s : j) t.add({s.at(0).get<double>(), s.at(1).get<double>()});
  return t;
}

constexpr std::array kinds{mtf::collective::all_reduce, mtf::collective::reduce_scatter, mtf::collective::all_gather,
                           mtf::collective::all_to_all, mtf::collective::permute};

inline json of(std::array<mtf::link_speed, mtf::machine_description::kinds> const& links) {
  json all = json::object();
  for (auto const kind : kinds) {
    auto const& l = links[static_cast<std::size_t>(kind)];
    if (l.speeds.count > 0) all[mtf::name_of(kind)] = {{"latency", l.latency}, {"bytes_per_second", of(l.speeds)}};
  }
  return all;
}
inline std::array<mtf::link_speed, mtf::machine_description::kinds> links_from(json const& j) {
  std::array<mtf::link_speed, mtf::machine_description::kinds> links{};
  for (auto const kind : kinds)
    if (auto const at = j.find(mtf::name_of(kind)); at != j.end())
      links[static_cast<std::size_t>(kind)] = {at->at("latency").get<double>(), table_from(at->at("bytes_per_second"))};
  return links;
}

/// A description as JSON: sizes and speeds in pairs, as mtf::machine_description has them.
inline json of(mtf::machine_description const& m) {
  json all{{"name", m.name.view()},    {"ranks_per_node", m.ranks_per_node},   {"overlap", m.overlap},
           {"in_node", of(m.in_node)}, {"between_nodes", of(m.between_nodes)}, {"primitives", json::array()}};
  if (m.memory != ~std::uint64_t{0}) all["memory"] = m.memory;
  for (int i = 0; i < m.primitive_count; ++i) {
    auto const& p = m.primitives[static_cast<std::size_t>(i)];
    json one{{"primitive", p.primitive.view()},
             {p.bound == mtf::limit::matrix ? "flops_per_second" : "bytes_per_second", of(p.speeds)}};
    if (p.element != 0) one["element"] = p.element;
    all["primitives"].push_back(one);
  }
  return all;
}
/// The description in a file. One that cannot be read is a user_error.
inline mtf::machine_description read(std::string const& path) {
  std::ifstream file(path);
  if (!file) throw mtf::user_error("the machine's description " + path + " cannot be read");
  try {
    json const j = json::parse(file);
    mtf::machine_description m;
    m.name = mtf::short_name(j.at("name").get<std::string>());
    m.ranks_per_node = j.at("ranks_per_node").get<int>();
    m.overlap = j.value("overlap", 0.0);
    m.memory = j.value("memory", ~std::uint64_t{0});
    m.in_node = links_from(j.at("in_node"));
    m.between_nodes = links_from(j.at("between_nodes"));
    for (auto const& one : j.at("primitives")) {
      bool const matrix = one.contains("flops_per_second");
      m.add({mtf::short_name(one.at("primitive").get<std::string>()), matrix ? mtf::limit::matrix : mtf::limit::memory,
             one.value("element", std::size_t{0}),
             table_from(one.at(matrix ? "flops_per_second" : "bytes_per_second"))});
    }
    return m;
  } catch (json::exception const& e) {
    throw mtf::user_error("the machine's description " + path + " is not as benchmarks/machine writes it: " + e.what());
  }
}

}  // namespace machine_file
