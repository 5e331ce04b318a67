// A program runs on its layouts' mesh: a tensor that is made on another is refused, by whatever makes tensors, whether
// its layout is a type or a value. (Its shards would have another size, and its sums other ranks.)
// devices: none
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/error_of.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

struct rows : mtf::dim<"rows", 8> {};
struct cols : mtf::dim<"cols", 8> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};
struct one : mtf::axis<"one", 1> {};
struct four : mtf::axis<"four", 4> {};

using plane = mtf::layout<mtf::mesh<data, model>, mtf::split<rows, data>, mtf::split<cols, model>>;
using line = mtf::layout<mtf::mesh<data>, mtf::split<rows, data>>;
using turned = mtf::layout<mtf::mesh<model, data>, mtf::split<rows, data>, mtf::split<cols, model>>;
using flat = mtf::layout<mtf::mesh<four>, mtf::split<rows, four>>;
using wide = mtf::layout<mtf::mesh<data, one>, mtf::split<rows, data>>;
using alone = mtf::layout<mtf::mesh<one>>;
using empty = mtf::layout<mtf::mesh<>>;

/// What each way of making a tensor says; nothing where the tensor is made. Made ones have the right sum.
template <class Layout>
std::vector<std::string> said_by_all(thread_backend& machine) {
  using tensor = mtf::tensor<float, mtf::shape<rows, cols>, Layout, mtf::partial<>, thread_backend>;
  using numbers = mtf::tensor<std::int32_t, mtf::shape<rows, cols>, Layout, mtf::partial<>, thread_backend>;
  std::vector<std::string> said;
  auto const is_made = [&](auto const& make, double sum) {
    said.push_back(error_of([&] {
      auto const x = make();
      if (auto const found = static_cast<double>(mtf::item(mtf::sum(x))); sum >= 0) CHECK(found == sum);
      return 0;
    }));
  };
  std::vector<float> const ones(64, 1.0F);
  auto const fill = [](std::int64_t, std::int64_t, std::span<float> row) { std::fill(row.begin(), row.end(), 1.0F); };
  is_made([&] { return mtf::ones<tensor>(machine); }, 64);
  is_made([&] { return mtf::zeros<tensor>(machine); }, 0);
  is_made([&] { return mtf::full<tensor>(machine, 2); }, 128);
  is_made([&] { return mtf::from_global<tensor>(machine, ones); }, 64);
  is_made([&] { return mtf::iota<rows, numbers>(machine); }, 224);
  is_made([&] { return mtf::from_rows<tensor>(machine, fill); }, 64);
  is_made([&] { return mtf::random_uniform<tensor>(machine, mtf::random_key(1)); }, -1);
  is_made([&] { return mtf::random_normal<tensor>(machine, mtf::random_key(1)); }, -1);
  is_made([&] { return mtf::random_truncated_normal<tensor>(machine, mtf::random_key(1)); }, -1);
  return said;
}

template <class Mesh, class Layout>
void runs_or_is_refused(bool runs) {
  on_ranks_of<Mesh>([&](thread_backend& machine) {
    machine.layouts().add(mtf::value_of<Layout>);
    for (auto const& said : {said_by_all<Layout>(machine), said_by_all<mtf::any_layout<>>(machine)})
      for (auto const& one_said : said) {
        CAPTURE(one_said);
        if (runs) {
          CHECK(one_said.empty());
        } else {
          CHECK(one_said.find("a tensor's layout is on the mesh [" + Layout::mesh_type::text() +
                              "], but the program runs on the mesh [" + Mesh::text() + "]") != std::string::npos);
        }
      }
  });
}

template <class Layout, class... Layouts>
void on_each(std::vector<bool> const& runs) {
  std::size_t i = 0;
  (runs_or_is_refused<typename Layouts::mesh_type, Layout>(runs[i++]), ...);
}

}  // namespace

TEST_CASE("a tensor is made on its layout's mesh, and on no other") {
  on_each<plane, plane, line, turned, flat, wide, empty>({true, false, true, false, false, false});
  on_each<line, plane, line, turned, flat, wide, empty>({false, true, false, false, false, false});
  on_each<flat, plane, line, turned, flat, wide, empty>({false, false, false, true, false, false});
  on_each<wide, plane, line, flat, wide, alone>({false, false, false, true, false});
  on_each<alone, plane, line, flat, wide, alone, empty>({false, false, false, false, true, true});
  on_each<empty, plane, line, flat, wide, alone, empty>({true, true, true, true, true, true});  // whole on each rank
}

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
