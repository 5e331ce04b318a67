#pragma once
// What the backends between ranks share: how two elements combine, and calls in the text of errors.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <mtf/backend/collective.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/math/order.hpp>

namespace mtf::backend {

/// The bytes of one element.
constexpr std::size_t size_of(element type) { return static_cast<std::size_t>(bytes_of(type)); }

/// Two elements combined; bfloat16 in float, rounded after each pair; max and min as order.hpp says. For bool, sum and
/// max mean "any", min means "all".
template <combine Op, class T>
constexpr T combined(T a, T b) {
  using compute = compute_t<T>;
  auto const x = static_cast<compute>(a), y = static_cast<compute>(b);
  if constexpr (std::is_same_v<T, bool>)
    return Op == combine::min ? x && y : x || y;
  else if constexpr (Op == combine::sum)
    return T(x + y);
  else if constexpr (Op == combine::max)
    return T(math::larger(x, y));
  else
    return T(math::smaller(x, y));
}

/// What is called, and over which axes of which mesh: "MPI_Allreduce over data:2 of mesh data:2 model:4".
inline std::string place_text(std::string_view call, axis_mask axes, std::string_view mesh) {
  std::string over;
  auto rest = mesh;
  for (auto left = axes; left != 0 && !rest.empty(); left >>= 1U) {
    auto const end = std::min(rest.find(' '), rest.size());
    if ((left & 1U) != 0) over += (over.empty() ? "" : " ") + std::string(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::string(call) + (over.empty() ? over : " over " + over) +
         (mesh.empty() ? "" : " of mesh " + std::string(mesh));
}

}  // namespace mtf::backend
