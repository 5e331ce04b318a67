# Checks that a program does not compile, and for the right reason:
#   cmake -D COMPILER=g++ -D COMPILER_ID=GNU -D INCLUDES=include -D CASE=case.cpp [-D COMPILED_HEADERS=flags]
#     -P expect_compile_error.cmake
# 1. With -DMTF_CONTROL the case compiles: nothing but the line under test is wrong with it.
# 2. Without, it does not, and not for an internal error or a missing file.
# 3. The compiler's output matches each line `// expect: REGEX` of the case, and each `// expect[ID]: REGEX` whose ID
#    is this compiler's, GNU, Clang or NVIDIA, or this standard's, c++26 with -D STANDARD=c++26. REGEX is CMake's kind.
# 4. It holds one error and no more.
# (CTest's WILL_FAIL passes on a missing header, PASS_REGULAR_EXPRESSION ignores the exit code, and both together
# invert the match.)
cmake_minimum_required(VERSION 3.25)
if(NOT DEFINED STANDARD)
  set(STANDARD c++20)
endif()

set(command "${CMAKE_COMMAND}" -E env LC_ALL=C "${COMPILER}" "-std=${STANDARD}")
foreach(dir IN LISTS INCLUDES)
  list(APPEND command "-I${dir}")
endforeach()
if(COMPILER_ID STREQUAL "NVIDIA")
  list(APPEND command -c -o "${OBJECT}" "${CASE}")  # nvcc has no -fsyntax-only
else()
  list(APPEND command -fsyntax-only -fdiagnostics-color=never ${COMPILED_HEADERS} "${CASE}")
endif()

execute_process(COMMAND ${command} -DMTF_CONTROL RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message("${output}")
  message(FATAL_ERROR "the control, the same file with -DMTF_CONTROL, does not compile")
endif()

execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(result EQUAL 0)
  message(FATAL_ERROR "it compiles, and should not")
endif()
if(output MATCHES "internal compiler error|fatal error|Internal error|Segmentation fault")
  message(FATAL_ERROR "it fails for another reason than the one under test")
endif()

set(failures "")
set(count 0)
file(READ "${CASE}" text)
# Line by line with FIND: brackets and semicolons in an expression would confuse CMake's lists.
while(NOT text STREQUAL "")
  string(FIND "${text}" "\n" end)
  if(end EQUAL -1)
    set(line "${text}")
    set(text "")
  else()
    string(SUBSTRING "${text}" 0 ${end} line)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${text}" ${end} -1 text)
  endif()
  if(line MATCHES "^ *// expect(\\[([A-Za-z+0-9]+)\\])?: *(.*[^ ]) *$")
    set(for "${CMAKE_MATCH_2}")
    set(regex "${CMAKE_MATCH_3}")
    if(for STREQUAL "" OR for STREQUAL COMPILER_ID OR for STREQUAL STANDARD)
      math(EXPR count "${count} + 1")
      if(NOT output MATCHES "${regex}")
        string(APPEND failures "\n  no match: ${regex}")
      endif()
    endif()
  elseif(line MATCHES "^ *// *expect *[[:(]")
    string(APPEND failures "\n  not understood: ${line}")
  endif()
endwhile()
if(count EQUAL 0)
  string(APPEND failures "\n  no `// expect:` line for ${COMPILER_ID}")
endif()

# "file:1:2: error: ...", nvcc's "file(1): error: ..." or "file(1): error #123-D: ..."
string(REGEX REPLACE "[][;\\]" " " plain "${output}")
string(REGEX MATCHALL "[:)] error( #[^:\n]*)?:" errors "${plain}")
list(LENGTH errors error_count)
if(NOT error_count EQUAL 1)
  string(APPEND failures "\n  ${error_count} errors, and should be one")
endif()

if(failures)
  message(FATAL_ERROR "the compiler's message is not the expected one:${failures}")
endif()
