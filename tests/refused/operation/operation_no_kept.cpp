// An operation of one's own lacks a part of what it says: kept.
// expect: static assertion failed.*mtf: an operation says .static constexpr std::size_t kept
#define NO_KEPT
#include "operation/own.hpp"

auto const y = own::beside(x{}, x{});
