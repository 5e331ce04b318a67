// Measures what one rank of this computer can do while all do the same, and writes it as JSON or as a header:
//   mpirun -n 2 machine NAME [--json FILE] [--header FILE]
#include <cstdio>
#include <fstream>
#include <string_view>

#include <mtf/mpi.hpp>
#include <mtf/plan/machine_json.hpp>

#include "measure_machine.hpp"

namespace {

using backend = mtf::kokkos_backend<>;

/// The description as a constant that a program includes: `constexpr mtf::machine_description NAME()`.
std::string header_of(mtf::machine_description const& m) {
  std::string text =
      "#pragma once\n// Measured by benchmarks/machine.\n#include <mtf/plan/machine.hpp>\n\n"
      "constexpr mtf::machine_description " +
      std::string(m.name.view()) + "() {\n  mtf::machine_description m;\n";
  auto const line = [&](char const* format, auto... x) {
    std::array<char, 200> row{};
    std::snprintf(row.data(), row.size(), format, x...);
    text += row.data();
  };
  line("  m.name = mtf::short_name(\"%s\");\n  m.ranks_per_node = %d;\n  m.overlap = %.3f;\n",
       std::string(m.name.view()).c_str(), m.ranks_per_node, m.overlap);
  auto const table = [&](mtf::speed_table const& t) {
    line("  {\n    mtf::speed_table t;\n");
    for (int i = 0; i < t.count; ++i)
      line("    t.add({%.6g, %.4g});\n", t.at[static_cast<std::size_t>(i)].size,
           t.at[static_cast<std::size_t>(i)].per_second);
  };
  for (int i = 0; i < m.primitive_count; ++i) {
    auto const& p = m.primitives[static_cast<std::size_t>(i)];
    table(p.speeds);
    line("    m.add({mtf::short_name(\"%s\"), mtf::limit::%s, %zu, t});\n  }\n",
         std::string(p.primitive.view()).c_str(), p.bound == mtf::limit::matrix ? "matrix" : "memory", p.element);
  }
  for (std::size_t kind = 0; kind < mtf::machine_description::kinds; ++kind)
    if (auto const& l = m.in_node[kind]; l.speeds.count > 0) {
      table(l.speeds);
      line("    m.in_node[%zu] = m.between_nodes[%zu] = {%.3g, t};\n  }\n", kind, kind, l.latency);
    }
  return text + "  return m;\n}\n";
}

bool write(std::string const& path, std::string const& text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << '\n' && file.flush());
}

int run(backend& b, int argc, char** argv) {
  std::string name = "this_computer", json, header;
  for (int i = 1; i < argc; ++i) {
    std::string_view const a = argv[i];
    if ((a == "--json" || a == "--header") && i + 1 < argc)
      (a == "--json" ? json : header) = argv[++i];
    else if (!a.empty() && a[0] != '-')
      name = a;
    else
      throw mtf::user_error("usage: machine NAME [--json FILE] [--header FILE]");
  }
  measured::measurement<backend> measurement(b);
  auto m = measurement.machine(name);
  for (int again = 0; again < 2; ++again) m = measured::fastest(m, measurement.machine(name));
  bool failed = false;
  if (b.ranks().rank() == 0) {
    std::printf("%s\n", mtf::json_of(m).dump(2).c_str());
    failed =
        (!json.empty() && !write(json, mtf::json_of(m).dump(2))) || (!header.empty() && !write(header, header_of(m)));
  }
  if (b.ranks().any(failed)) throw mtf::user_error("the description cannot be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto const all_ranks = [] {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return std::array{mtf::layout_from(mtf::mesh_from("ranks:" + std::to_string(ranks)), "")};
  };
  return mtf::run_under<backend>(argc, argv, all_ranks, [&](backend& b) { return run(b, argc, argv); });
}
