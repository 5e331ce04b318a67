# The core in one header (scripts/single-header.sh) is enough: with it alone README's accepted layout compiles, and README's
# refused one is refused in README's words (tests/refused/core/readme_layout.cpp is both).
#   cmake -D ROOT=. -D DIR=build/x -D COMPILER=g++ -D COMPILER_ID=GNU [-D INCLUDES=boost] -P single_header_test.cmake
cmake_minimum_required(VERSION 3.25)

# It takes the place of <mtf/mtf.hpp>, and there is no other: of mtf, the compiler sees nothing else.
file(REMOVE_RECURSE "${DIR}")
file(MAKE_DIRECTORY "${DIR}/mtf")
execute_process(COMMAND "${ROOT}/scripts/single-header.sh" "${DIR}/mtf/mtf.hpp" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "scripts/single-header.sh fails")
endif()
file(STRINGS "${DIR}/mtf/mtf.hpp" includes REGEX "# *include *[<\"]mtf/|# *pragma +once")
if(includes)
  message(FATAL_ERROR "the header is not one: ${includes}")
endif()

list(PREPEND INCLUDES "${DIR}")
set(CASE "${ROOT}/tests/refused/core/readme_layout.cpp")
include("${ROOT}/cmake/expect_compile_error.cmake")
