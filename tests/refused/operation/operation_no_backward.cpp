// An operation of one's own lacks a part of what it says: backward.
// expect: static assertion failed.*mtf: an operation says .void backward.auto& g. const
#define NO_BACKWARD
#include "operation/own.hpp"

auto const y = own::beside(x{}, x{});
