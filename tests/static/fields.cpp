// A structure with MTF_FIELDS is a Boost.Hana Struct, for who wants one; mtf visits the same fields in the same order.
#include <array>
#include <cstddef>
#include <string_view>

#include <boost/hana/accessors.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/tuple.hpp>

#include <mtf/mtf.hpp>

namespace {

template <class...>
using number = int;
template <template <class...> class Tensor>
struct layer {
  Tensor<> weight{}, bias{};
  MTF_FIELDS(weight, bias);
};
template <template <class...> class Tensor>
struct network {
  Tensor<> first{};
  std::array<layer<Tensor>, 2> layers{};
  layer<Tensor> last{};
  MTF_FIELDS(first, layers, last);
};
using plain = network<number>;

struct seen {
  std::array<std::string_view, 3> names{};
  std::array<std::size_t, 3> sizes{};
  std::size_t count = 0;
  constexpr void add(std::string_view name, std::size_t size) {
    names[count] = name;
    sizes[count++] = size;
  }
  constexpr bool operator==(seen const&) const = default;
};
constexpr seen by_hana() {
  seen all;
  plain const x{};
  boost::hana::for_each(boost::hana::accessors<plain>(), [&](auto const& field) {
    all.add(boost::hana::first(field).c_str(), sizeof(boost::hana::second(field)(x)));
  });
  return all;
}
constexpr seen by_visit() {
  seen all;
  plain const x{};
  plain::hana_accessors_impl::visit_fields(
      [&](std::string_view name, auto const& field) { all.add(name, sizeof(field)); }, x);
  return all;
}
static_assert(by_hana() == seen{{"first", "layers", "last"}, {sizeof(int), 4 * sizeof(int), 2 * sizeof(int)}, 3});
static_assert(by_visit() == by_hana());

}  // namespace
