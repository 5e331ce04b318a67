// An operation of one's own lacks a part of what it says: derive.
// expect: static assertion failed.*mtf: the rule of an operation says .derive.mesh_shape const&, sharding const&
#define NO_DERIVE
#include "operation/own.hpp"

auto const y = own::beside(x{}, x{});
