// A program as C++ that stands by itself.
#include <sstream>

#include "draw.hpp"
#include "program.hpp"
#include "through_host.hpp"

namespace fuzz {

namespace {

constexpr char const* prelude = R"(#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/create.hpp>
#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/ops/nn.hpp>
#include <mtf/ops/reduction.hpp>
#include <mtf/ops/sorting.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/threads.hpp>

using backend = mtf::kokkos_backend<Kokkos::Serial>;
)";

constexpr char const* helpers = R"(
template <class X>
using first_layout = mtf::tensor<typename X::element_type, typename X::shape_type, mtf::any_layout<>, mtf::partial<>,
                                 typename X::backend_type>;
// The tensor in one type, whatever layout it was made under.
template <class X>
auto any(X const& x) {
  return first_layout<X>(x.value(), x.where());
}
using mtf::cumulative;
struct blend {
  template <class X, class Y>
  auto operator()(X x, Y y) const {
    return x * y + x;
  }
};
// Drawn numbers that lie so.
template <class X, class Backend>
X drawn_as(Backend& on, mtf::sharding const& s, mtf::layout_value const& under, std::uint64_t salt, double low,
           double high) {
  using T = typename X::element_type;
  auto const& mesh = on.ranks().mesh();
  int const rank = on.ranks().rank();
  auto v = mtf::detail::make_value<T>(on, s.local_size(mesh));
  if constexpr (Backend::holds_data) {
    auto const n = static_cast<std::size_t>(s.local_size(mesh));
    auto const mine = std::make_unique<T[]>(n);
    auto const owned = mtf::detail::owned_elements_of(s, mesh, rank);  // pads are 0
    bool const integers = !mtf::is_floating<T>;
    for (std::int64_t i = 0; i < owned.count; ++i) {
      auto rest = i, at = owned.offset, to = std::int64_t{0};
      for (int d = owned.where.ndim - 1; d >= 0; --d) {
        auto const e = static_cast<std::size_t>(d);
        auto const k = rest % owned.where.extent[e];
        at += k * owned.where.stride[0][e];
        to += k * owned.where.stride[1][e];
        rest /= owned.where.extent[e];
      }
      auto const j = static_cast<std::size_t>(at);
      mine[static_cast<std::size_t>(to)] = static_cast<T>(static_cast<mtf::compute_t<T>>(
          term_of(drawn(salt, j, low, high, integers ? 1 : 32), salt, j, mesh.index_within(rank, s.partial),
                  mesh.size(s.partial), integers)));
    }
    on.from_host(v.data(), mine.get(), n * sizeof(T));
  }
  return X(v, on.layouts().arranged(s, under));
}
template <class T, class... D, class Backend>
auto given(Backend& on, std::size_t layout, mtf::axis_mask partial, std::uint64_t salt, double low, double high) {
  using X = mtf::tensor<T, mtf::shape<D...>, mtf::any_layout<>, mtf::partial<>, Backend>;
  auto const& under = on.layouts()[layout];
  auto s = mtf::detail::arranged_under<mtf::shape<D...>>(on.layouts(), under).spec;
  s.partial = partial;
  return drawn_as<X>(on, s, under, salt, low, high);
}
// The sum of x, weighted.
template <class X>
auto weighed(X const& x, mtf::axis_mask partial, std::uint64_t salt) {
  auto s = x.where().spec;
  s.partial = partial;
  auto const product = x * drawn_as<X>(x.backend(), s, *x.where().layout, salt, -1, 1);
  if constexpr (X::shape_type::ndim == 0)
    return any(product);
  else
    return any(mtf::sum(product));
}
)";

constexpr char const* closing = R"(
std::string text_of(std::vector<mtf::collectives::event> const& all) {
  std::string s;
  for (auto const& e : all)
    s += std::string(" ") + mtf::name_of(e.kind) + " " + std::to_string(e.payload) + " B over " +
         std::to_string(e.axes) + ",";
  return s;
}
void show(std::vector<mtf::layout_value> const& layouts) {
  std::printf("mesh [%s]\n", layouts[0].mesh.text().c_str());
  try {
    std::printf("planned:%s\n", text_of(PLAN.unrolled()).c_str());
  } catch (mtf::user_error const& e) {
    std::printf("planned: refused, %s\n", e.what());
  }
  mtf::rank_threads pool(layouts[0].mesh.shape.size());
  pool.run(layouts[0].mesh.shape, [&](mtf::collectives& ranks) {
    backend on = backend::one_of_many(ranks);
    for (auto const& layout : layouts) on.layouts().add(layout);
    on.layouts().give(mtf::extents_from(extents));
    parameters<mtf::place<real, mtf::any_layout<>, backend>::tensor> p;
    std::uint64_t n = 0;
    mtf::for_each_tensor(
        [&](auto, auto& x) {
          using X = std::remove_cvref_t<decltype(x)>;
          auto const place = mtf::detail::place_for<X>(on);
          x = drawn_as<X>(on, place.spec(), *place.arranged().layout, 17 * n++ + 3, -1, 1);
        },
        p);
    std::vector<mtf::collectives::event> sent;
    ranks.record(&sent);
    RUN
    ranks.record(nullptr);
    if (ranks.rank() == 0)
      std::printf("sent:%s\nloss %.17g, norm %.17g\n", text_of(sent).c_str(),
                  static_cast<double>(static_cast<mtf::compute_t<real>>(mtf::item(value))), norm);
    mtf::for_each_tensor(
        [&](auto name, auto const& g) {
          auto const whole = mtf::to_global(g.complete());
          if (ranks.rank() != 0 || g.is_zero()) return;
          std::printf("gradient of %s:", std::string(name).c_str());
          for (std::size_t i = 0; i < whole.size() && i < 12; ++i)
            std::printf(" %.9g", static_cast<double>(static_cast<mtf::compute_t<real>>(whole[i])));
          std::printf("\n");
        },
        gradients);
  });
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  show({{}, {}, {}});
  show(layouts());
}
)";

std::string replaced(std::string s, std::string const& from, std::string const& to) {
  s.replace(s.find(from), from.size(), to);
  return s;
}

std::string structure_of(program const& p) {
  std::ostringstream s;
  s << "template <template <class...> class Tensor>\nstruct parameters {\n";
  std::string names;
  for (auto const& x : parameters_of(p)) {
    s << "  Tensor<";
    std::string dims = x.as.layout == 1 ? "mtf::under<mtf::any_layout<1>>" : "";
    for (int const d : x.as.of.dims)
      dims += (dims.empty() ? "" : ", ") + std::string(dim_names[static_cast<std::size_t>(d)]);
    s << dims << "> " << x.name << ";\n";
    names += (names.empty() ? "" : ", ") + x.name;
  }
  s << "  MTF_FIELDS(" << names << ");\n};\nusing real = " << name_of(p.of) << ";\n";
  return s.str();
}

/// Lines; those of blocks from `inner` on together. `name`: of all tensors.
void print_lines(std::ostream& s, program const& p, block const& lines, std::size_t inner,
                 std::vector<std::string> const& name) {
  auto const first = first_result(p);
  for (std::size_t l = lines.first; l < p.lines.size() && l <= lines.last; ++l) {
    while (inner < p.blocks.size() && p.blocks[inner].first < l) ++inner;
    bool const together = inner < p.blocks.size() && p.blocks[inner].first == l;
    auto const end = together ? p.blocks[inner].last : l;
    std::string operands, arguments;
    auto const take = [&](std::size_t tensor, std::string const& as) {
      arguments += (arguments.empty() ? "" : ", ") + ("auto const& " + as);
      operands += (operands.empty() ? "" : ", ") + name[tensor];
    };
    auto inside = name;
    if (together)
      for (std::size_t const o : used_by(p, p.blocks[inner])) take(o, inside[o] = "x" + std::to_string(o));
    else
      for (std::size_t o = 0; o < p.lines[l].operands.size(); ++o) take(p.lines[l].operands[o], {"xyz"[o]});
    s << "    [[maybe_unused]] auto const " << name[first + end] << " = ";
    if (together) {
      s << "any(mtf::recompute([](" << arguments << ") {\n";
      print_lines(s, p, p.blocks[inner], inner + 1, inside);
      s << "    return " << name[first + end] << "; }, " << operands << "));\n";
    } else {
      s << "[](" << arguments << ") { return any(" << entries()[p.lines[l].entry].text << "); }(" << operands << ");\n";
    }
    l = end;
  }
}
std::string loss_text(program const& p) {
  std::ostringstream s;
  auto const& parameters = parameters_of(p);
  std::vector<std::string> name;
  s << "\nstruct loss_of {\n  template <class P>\n  auto operator()(P const& p) const {\n"
       "    [[maybe_unused]] auto& on = p.ab.backend();\n";
  for (auto const& x : parameters) name.push_back("any(p." + x.name + ")");
  for (auto const& g : p.inputs) {
    name.push_back("in" + std::to_string(name.size() - parameters.size()));
    s << "    auto const " << name.back() << " = given<" << text_of(g.of) << ">(on, " << g.layout << ", " << g.partial
      << ", " << g.salt << "U, " << g.low << ", " << g.high << ");\n";
  }
  for (std::size_t l = 0; l < p.lines.size(); ++l) name.push_back("v" + std::to_string(l));
  print_lines(s, p, {.first = 0, .last = p.lines.size() - 1}, 0, name);
  std::string sum;
  for (std::size_t i = 0; i < p.terms.size(); ++i) {
    auto const& t = p.terms[i];
    s << "    auto const t" << i << " = any(mtf::cast<real>(weighed(" << name[t.of] << ", " << t.partial << ", "
      << weight_salt(p, t) << "U)));\n";
    std::string const all = i == 0 ? "t0" : "s" + std::to_string(i);
    if (i > 0) s << "    auto const " << all << " = any(" << sum << " + t" << i << ");\n";
    sum = all;
  }
  s << "    return " << sum << ";\n  }\n};\n";
  return s.str();
}

std::string layouts_text(program const& p) {
  std::ostringstream s;
  s << "\nstd::vector<mtf::layout_value> layouts() {\n  auto mesh = mtf::mesh_from(\"";
  for (int x = 0; x < p.mesh.shape.ndim; ++x)
    s << (x == 0 ? "" : ";") << p.mesh.names[static_cast<std::size_t>(x)].view() << ":"
      << p.mesh.shape.extent[static_cast<std::size_t>(x)];
  s << "\");\n  mesh.shape.node_axes = " << p.mesh.shape.node_axes << ";\n  return {";
  for (std::size_t i = 0; i < p.layouts.size(); ++i)
    s << (i == 0 ? "" : ", ") << "mtf::layout_from(mesh, \"" << p.layouts[i].text() << "\")";
  s << "};\n}\n";
  return s.str();
}

}  // namespace

std::string as_cpp(program const& p, std::string const& failure) {
  std::ostringstream s;
  s << "// Program " << p.seed << " of tests/fuzz" << (failure.empty() ? "" : ": " + failure) << "\n" << prelude;
  for (std::size_t d = 0; d < dim_names.size(); ++d)
    s << "struct " << dim_names[d] << " : mtf::dim<\"" << dim_names[d] << "\"> {};\n";
  s << "constexpr char const* extents = \"" << given_extents(p).text() << "\";\n";
  s << structure_of(p) << "\n"
    << text_of_draw << "\n"
    << helpers << text_of_through_host << "\n"
    << loss_text(p) << layouts_text(p);
  bool const updated = p.how == mode::updated, later = p.how == mode::later || p.how == mode::kept;
  std::string const when = std::string("mtf::completed_gradients::") + (later ? "later" : "overlapped");
  std::string const split = updated ? "mtf::state_split_over<b, c>" : "mtf::state_split_over<>";
  std::string run = "auto const [value, gradients] = mtf::value_and_grad<" + split + ">(loss_of{}, " + when +
                    ")(std::as_const(p));\n    ";
  if (updated)
    run = "mtf::sgd<decltype(p), mtf::decay_weights, " + split + "> optimizer(on, {.momentum = 0.5});\n    " + run +
          "double const norm = optimizer.update(on, p, gradients, 1.0 / 16);";
  else
    run += "double const norm = mtf::global_norm(on, gradients);";
  std::string const plan = "mtf::plan_under<" + when + ", " + split + (updated ? ", mtf::updated_by<mtf::sgd>" : "") +
                           ">(loss_of{}, layouts, mtf::extents_from(extents), mtf::parameters<parameters, real>{})";
  s << replaced(replaced(closing, "PLAN", plan), "RUN", run);
  return s.str();
}

}  // namespace fuzz
