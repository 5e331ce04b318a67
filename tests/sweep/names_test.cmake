# Every public operation has an entry in the sweep:
#   cmake -D SWEEP=executable -D INCLUDE=include/mtf -P names_test.cmake
# A new one without an entry fails here, as does an exception that is no longer there.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../public_operations.cmake")

# Not operations on tensors.
set(exceptions
  "global_norm"      # optimizers.hpp: a number, of a structure of gradients
  "for_each_tensor"  # params.hpp: walks a structure
  "scan"             # scan.hpp: calls the user's layers, one after the other
)

execute_process(COMMAND "${SWEEP}" --names RESULT_VARIABLE result OUTPUT_VARIABLE swept)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${SWEEP} --names failed")
endif()
string(REGEX REPLACE "\n$" "" swept "${swept}")
string(REPLACE "\n" ";" swept "${swept}")

mtf_public_operations(found "${INCLUDE}")
set(missing "")
foreach(name IN LISTS found)
  if(NOT name IN_LIST swept AND NOT name IN_LIST exceptions)
    list(APPEND missing "${name}")
  endif()
endforeach()
foreach(name IN LISTS swept)
  if(NOT name IN_LIST found)
    message(FATAL_ERROR "the sweep has an entry for ${name}, which is no public operation (or this script does not see it)")
  endif()
endforeach()
foreach(name IN LISTS exceptions)
  if(NOT name IN_LIST found)
    message(FATAL_ERROR "${name} is an exception here, but no public function")
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "operations without an entry in tests/sweep: ${missing}. An entry is a typed call, a definition in "
    "plain loops, a closed form of what it sends, and its row of docs/operations.md: see tests/sweep/define.hpp")
endif()
list(LENGTH found count)
message(STATUS "${count} public operations, each with its sweep")
