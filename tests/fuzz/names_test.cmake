# Random programs call every public operation:
#   cmake -D FUZZ=executable -D INCLUDE=include/mtf -P names_test.cmake
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../public_operations.cmake")

mtf_check_names("${FUZZ}" WHERE tests/fuzz INCLUDE "${INCLUDE}"
  EXCEPTIONS
  "item"             # every program ends with it: it reads the loss (tests/fuzz/run.cpp)
  "global_norm"      # so too: of the gradients
  "for_each_tensor"  # walks a structure; so the ranks see parameters and gradients
  "from_rows"        # from_global by parts, which programs call between operations: tests/sweep/create_cases.cpp
  "alibi_slopes"     # these three depend on extents, which definitions here do not know: tests/sweep/create_cases.cpp
  "alibi_bias"
  "sinusoids"
  "scan"             # calls the user's layers, one after the other: an entry has one call (tests of it: local.scan, mesh.scan)
  ADVICE "An entry is a line of a family's file: operands, its definition (tests/definitions), the call")
