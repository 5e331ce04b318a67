# Every public operation has an entry in the sweep:
#   cmake -D SWEEP=executable -D INCLUDE=include/mtf -P names_test.cmake
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../public_operations.cmake")

# Exceptions are not operations on tensors.
mtf_check_names("${SWEEP}" WHERE tests/sweep INCLUDE "${INCLUDE}" ONLY_OPERATIONS
  EXCEPTIONS
  "global_norm"      # optimizers.hpp: a number, of a structure of gradients
  "extent"           # extent.hpp: a number of the type, or of the arrangement
  "for_each_tensor"  # params.hpp: walks a structure
  "scan"             # scan.hpp: calls the user's layers, one after the other
  ADVICE "An entry is a typed call, a definition (tests/definitions), a closed form of what it sends, and its row of docs/operations.md: see tests/sweep/entry.hpp")
