// An operation of one's own lacks a part of what it says: verdict.
// expect: static assertion failed.*mtf: the call of an operation says .template <class... X> static auto verdict
#define NO_VERDICT
#include "operation/own.hpp"

auto const y = own::beside(x{}, x{});
