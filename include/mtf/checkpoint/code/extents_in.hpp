#pragma once
// The shapes of what is stored.
#include <string>

#include <mtf/checkpoint/extents_in.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/detail/checkpoint/read.hpp>

namespace mtf::detail {

shapes_by_name stored_shapes(std::string const& path) { return tensor_files(path).shapes(); }

}  // namespace mtf::detail
