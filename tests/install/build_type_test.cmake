# A project that uses mtf and has no build type is told, once; others are told nothing.
set(ENV{CMAKE_BUILD_TYPE})
set(ENV{CXXFLAGS})
set(fetched "-DFETCHCONTENT_SOURCE_DIR_MTF=${MTF}")
set(package "-DCMAKE_PREFIX_PATH=${STAGE}")

# configured(how count args...): the number of warnings.
function(configured how expected)
  file(REMOVE_RECURSE "${WORK}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${PROJECT}" -B "${WORK}" -G "Unix Makefiles"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DKokkos_DIR=${Kokkos_DIR}" "${${how}}" ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  string(REGEX MATCHALL "mtf: CMAKE_BUILD_TYPE is empty" warnings "${output}")
  list(LENGTH warnings count)
  if(NOT code EQUAL 0 OR NOT count EQUAL expected OR (expected AND NOT output MATCHES "-DCMAKE_BUILD_TYPE=Release"))
    message(SEND_ERROR "${how} ${ARGN}: exit code ${code}, ${count} warnings, expected ${expected}\n${output}")
  endif()
endfunction()

configured(fetched 1)
configured(package 1)
configured(fetched 0 -DCMAKE_BUILD_TYPE=Release)
configured(package 0 -DCMAKE_BUILD_TYPE=Debug)
configured(package 0 -DCMAKE_CXX_FLAGS=-O2)
