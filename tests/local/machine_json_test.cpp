// Descriptions of machines in JSON are read as they were written.
// devices: none
#include <cstddef>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <mtf/plan/machine_json.hpp>
#include <mtf/plan/machines.hpp>

#include "support/scratch.hpp"

TEST_CASE("a description that was written is read back, all of it") {
  for (auto const& m : {mtf::machines::h100_nodes(), mtf::machines::tpu_v2_pod()}) {
    auto const written = mtf::json_of(m);
    auto const read = mtf::machine_from(nlohmann::json::parse(written.dump()));
    CHECK(mtf::json_of(read) == written);
    CHECK(read.name == m.name);
    CHECK(read.memory == m.memory);
    CHECK(read.overlap == m.overlap);
    CHECK(read.ranks_per_node == m.ranks_per_node);
    REQUIRE(read.primitive_count == m.primitive_count);
    for (std::size_t i = 0; i < static_cast<std::size_t>(m.primitive_count); ++i) {
      auto const &a = read.primitives[i], &b = m.primitives[i];
      CHECK((a.primitive == b.primitive && a.bound == b.bound && a.element == b.element));
      CHECK(a.speeds.seconds(1e9, 100) == b.speeds.seconds(1e9, 100));
    }
    for (std::size_t kind = 0; kind < mtf::machine_description::kinds; ++kind) {
      CHECK(read.in_node[kind].latency == m.in_node[kind].latency);
      CHECK(read.between_nodes[kind].speeds.seconds(1e6, 1e6) == m.between_nodes[kind].speeds.seconds(1e6, 1e6));
    }
  }
}

TEST_CASE("a key twice, a name that a terminal does not show, and what is no JSON are refused") {
  scratch const at;
  auto const path = at.of("machine.json");
  auto const good = mtf::json_of(mtf::machines::h100_nodes()).dump();
  auto const told = [&](std::string const& text) {
    write_bytes(path, text);
    auto const why = error_of([&] { return mtf::read_machine(path); });
    CHECK((why.empty() || why.find("the machine's description " + path) == 0));
    return why;
  };
  CHECK(told(good).empty());
  CHECK(has(told("{\"overlap\": 0.5, " + good.substr(1)), "has the key \"overlap\" twice"));
  auto named = mtf::json_of(mtf::machines::h100_nodes());
  named["name"] = "h100\x1b[31m";
  CHECK(has(told(named.dump()), "of characters that a terminal shows; found 'h100\\x1b[31m'"));
  CHECK(has(told("{"), "is not JSON"));
  CHECK(has(told("[1]"), "expected an object"));
}
