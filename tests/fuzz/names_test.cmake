# Random programs call every public operation:
#   cmake -D FUZZ=executable -D INCLUDE=include/mtf -P names_test.cmake
# A new one without an entry fails here, as does an exception that has an entry, or is no operation.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../public_operations.cmake")

# In no entry.
set(exceptions
  "item"             # every program ends with it: it reads the loss (tests/fuzz/run.cpp)
  "global_norm"      # so too: of the gradients
  "for_each_tensor"  # walks a structure; so the ranks see parameters and gradients
  "scan"             # calls the user's layers, one after the other: an entry has one call (tests of it: local.scan, mesh.scan)
)

execute_process(COMMAND "${FUZZ}" --names RESULT_VARIABLE result OUTPUT_VARIABLE called)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${FUZZ} --names failed")
endif()
string(REGEX REPLACE "\n$" "" called "${called}")
string(REPLACE "\n" ";" called "${called}")

mtf_public_operations(found "${INCLUDE}")
set(missing "")
foreach(name IN LISTS found)
  if(NOT name IN_LIST called AND NOT name IN_LIST exceptions)
    list(APPEND missing "${name}")
  endif()
endforeach()
foreach(name IN LISTS exceptions)
  if(NOT name IN_LIST found)
    message(FATAL_ERROR "${name} is an exception here, but no public operation")
  elseif(name IN_LIST called)
    message(FATAL_ERROR "${name} is an exception here, but has an entry")
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "operations without an entry in tests/fuzz: ${missing}. An entry is a line of a family's file: operands, a "
    "definition (tests/fuzz/interpreter.hpp), the call")
endif()
list(LENGTH found count)
message(STATUS "${count} public operations, each called by random programs or excepted")
