# Each loop of the elementwise kernels is vectorized, whatever the function: with one call left in it a loop is not, and
# the example's step took a tenth longer. Run as
#   cmake -D HEADER=kernels/map.hpp -D SAID=FILE -P vectorized_test.cmake
# FILE: what GCC wrote for -fopt-info-vec-optimized. The loop behind each MTF_SIMD must be in it; GCC names the line of the
# loop, or of its body.
file(STRINGS "${SAID}" said REGEX "map.hpp:[0-9]+:[0-9]+: optimized: +loop vectorized")
file(READ "${HEADER}" text)
string(REGEX REPLACE "[][;\\]" " " text "${text}")
string(REPLACE "\n" ";" lines "${text}")
set(number 0)
set(loops 0)
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  if(line MATCHES "^ *MTF_SIMD *$")
    math(EXPR loops "${loops} + 1")
    math(EXPR loop "${number} + 1")
    math(EXPR body "${number} + 2")
    if(NOT said MATCHES "map.hpp:(${loop}|${body}):")
      message(SEND_ERROR "${HEADER}:${loop}: GCC does not vectorize this loop")
    endif()
  endif()
endforeach()
if(loops LESS 5)
  message(SEND_ERROR "${HEADER} has ${loops} loops behind MTF_SIMD, at least 5 were expected")
endif()
