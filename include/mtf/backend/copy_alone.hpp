#pragma once
// What a collective is in a group of one rank.
#include <cstddef>
#include <cstring>

#include <mtf/backend/collective.hpp>
#include <mtf/core/element.hpp>

namespace mtf::backend {

/// Does it on memory of the host.
inline void copy_alone(collective const& c, void const* in, void* out) {
  auto const each = static_cast<std::size_t>(bytes_of(c.type)), kept = c.kept_alone();
  if (in != out && kept != 0) std::memcpy(out, in, kept * each);
  if (c.out_is_zero(true) && c.count != 0) std::memset(out, 0, c.count * each);
}

}  // namespace mtf::backend
