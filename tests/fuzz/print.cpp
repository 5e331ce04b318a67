// A program as C++.
#include "program.hpp"

namespace fuzz {
std::string as_cpp(program const& p, std::string const& failure) { return failure + std::to_string(p.seed); }
}  // namespace fuzz
