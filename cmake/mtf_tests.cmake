# Functions that register tests. Labels (ctest -L): local, mesh, threads, data, sweep, fuzz, recipes, refused, install, readme,
# example, architecture, compile-time, sanitized (preset sanitize: beside one of these).

if(MTF_ENABLE_MPI)
  execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE mpiexec_version ERROR_QUIET)
  set(mtf_mpiexec_flags "")
  if(mpiexec_version MATCHES "Open MPI|OpenRTE")
    # More ranks than cores is the rule in tests.
    set(mtf_mpiexec_flags --oversubscribe --bind-to none)
  endif()
endif()

# Open MPI otherwise refuses to start for root, who runs CI's containers. MPICH otherwise spins where ranks wait, while
# others need the core. LeakSanitizer calls what Open MPI and oneDNN keep until exit leaks.
set(mtf_test_environment
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MPIR_CVAR_POLLS_BEFORE_YIELD=1
  MTF_CHECKED=1  # calls that differ between ranks are errors
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
  "TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/tests/threads/tsan.supp")

add_custom_target(mtf_local_tests)
add_custom_target(mtf_mesh_tests)
add_custom_target(mtf_threads_tests)

# What is left out passes through the same code as the rest: tests marked `// compilers: first`, layouts of the example.
option(MTF_SECOND_COMPILER "Leave out what a first compiler has tested: see CONTRIBUTING.md" OFF)

# In tests results matter, not speed, and -O3 takes several times as long to compile. The compiled libraries are optimized
# in full; the kernels' tests are as users build; those that run longer than they compile take -O1.
function(mtf_test_optimization target flag)
  set(${flag} -O0 PARENT_SCOPE)
  if(target MATCHES "kernels|fast_math" OR Kokkos_ENABLE_CUDA)  # the preset cuda optimizes nothing
    set(${flag} "" PARENT_SCOPE)
  elseif(target MATCHES "laws|optimizers|collectives|protocol|search|sweep")
    set(${flag} -O1 PARENT_SCOPE)
  endif()
endfunction()
function(mtf_optimize_as_test target)
  mtf_test_optimization(${target} flag)
  if(flag)
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:${flag}>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT Kokkos_ENABLE_CUDA)
    # A tenth of GCC's time would go to collecting garbage from 128 MiB on.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=2000000)
  endif()
endfunction()

# The library's headers are parsed once for all tests that are compiled alike. nvcc_wrapper precompiles nothing.
function(mtf_share_headers target)
  mtf_test_optimization(${target} flag)
  if(NOT flag STREQUAL "-O0" OR Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP)
    return()
  endif()
  if(NOT TARGET mtf_test_headers)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_headers.cpp" CONTENT "")
    add_library(mtf_test_headers OBJECT "${PROJECT_BINARY_DIR}/test_headers.cpp")
    target_link_libraries(mtf_test_headers PRIVATE ${mtf_program_libraries})
    target_include_directories(mtf_test_headers PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    mtf_optimize_as_test(mtf_test_headers)
    set(umbrellas "")
    foreach(library IN LISTS mtf_targets)
      string(REPLACE "mtf_" "" umbrella "${library}")
      list(APPEND umbrellas "<mtf/${umbrella}.hpp>")
    endforeach()
    target_precompile_headers(mtf_test_headers PRIVATE ${umbrellas})
  endif()
  target_precompile_headers(${target} REUSE_FROM mtf_test_headers)
endfunction()

# MTF_TEST_DIR for the sources that name it, and no others: a path in a command line keeps it from ccache's store.
function(mtf_tell_test_dir)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source)
    file(STRINGS "${source}" named REGEX "MTF_TEST_DIR" LIMIT_COUNT 1)
    if(named)
      set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS "MTF_TEST_DIR=\"${PROJECT_SOURCE_DIR}/tests\"")
    endif()
  endforeach()
endfunction()

# mtf_test_sources(OUT): the x_test.cpp of a room that this build compiles. One with `// compilers: first` is the first
# compiler's alone; one with `// devices: none` has nothing that a device would compute otherwise, and is the host's; one
# with `// links: NAME` needs mtf::NAME.
function(mtf_test_sources out)
  file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
  set(sources "")
  foreach(source IN LISTS found)
    foreach(word IN ITEMS compilers devices links)
      mtf_marker("${source}" ${word} ${word})
    endforeach()
    if((compilers STREQUAL "first" AND MTF_SECOND_COMPILER)
       OR (devices STREQUAL "none" AND (Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP))
       OR (links AND NOT TARGET mtf_${links}))
      continue()
    endif()
    list(APPEND sources "${source}")
  endforeach()
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# mtf_test_name(FILE OUT): x of x_test.cpp.
function(mtf_test_name source out)
  get_filename_component(name "${source}" NAME_WE)
  string(REGEX REPLACE "_test$" "" name "${name}")
  set(${out} "${name}" PARENT_SCOPE)
endfunction()

# mtf_link_what_is_named(TARGET FILE): what FILE's line `// links: NAME` says, compiled where there is such a library.
function(mtf_link_what_is_named target source)
  mtf_marker("${source}" links links)
  if(links)
    target_link_libraries(${target} PRIVATE mtf_${links} $<TARGET_NAME_IF_EXISTS:mtf_${links}_compiled>)
  endif()
endfunction()

# What the preset sanitize builds and runs: the tests of one rank, but for those of the model and of numbers, the readers
# of files, and every operation on special values. mtf_sanitized(TEST TARGET LABEL) labels such a test so.
set(mtf_sanitized_tests
  "^local\\.(entries|fast_math|gradients|kernels[a-z_]*|laws|misuse|optimizers|special_values)$|^fuzz-files\\.|^sweep\\.float$")
add_custom_target(mtf_sanitized_programs)

function(mtf_sanitized test target label)
  if(test MATCHES "${mtf_sanitized_tests}")
    add_dependencies(mtf_sanitized_programs ${target})
    set_tests_properties(${test} PROPERTIES LABELS "${label};sanitized")
  endif()
endfunction()

# A room's main.cpp, when it has one, is compiled once and linked into each of its tests.
function(mtf_add_test_program target)
  mtf_add_program(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE doctest::doctest)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  mtf_optimize_as_test(${target})
  mtf_share_headers(${target})
  mtf_tell_test_dir(${ARGN})
  set(main "${CMAKE_CURRENT_SOURCE_DIR}/main.cpp")
  if(EXISTS "${main}" AND NOT "${ARGN}" MATCHES "(^|/)main.cpp")
    get_filename_component(room "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
    if(NOT TARGET mtf_${room}_main)
      add_library(mtf_${room}_main OBJECT "${main}")
      target_link_libraries(mtf_${room}_main PRIVATE ${mtf_program_libraries} doctest::doctest)
      target_include_directories(mtf_${room}_main PRIVATE "${PROJECT_SOURCE_DIR}/tests")
      mtf_optimize_as_test(mtf_${room}_main)
    endif()
    target_link_libraries(${target} PRIVATE mtf_${room}_main)
  endif()
endfunction()

# mtf_add_local_test(NAME name SOURCES file... [ARGS arg...]): one process, no mpiexec, two threads.
function(mtf_add_local_test)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME" "SOURCES;ARGS")
  mtf_add_test_program(local-${test_NAME} ${test_SOURCES})
  add_dependencies(mtf_local_tests local-${test_NAME})
  add_test(NAME local.${test_NAME} COMMAND local-${test_NAME} ${test_ARGS})
  set(threads 1)
  if(Kokkos_ENABLE_OPENMP)
    set(threads 2)
  endif()
  set_tests_properties(local.${test_NAME} PROPERTIES LABELS local TIMEOUT 300 PROCESSORS ${threads}
    ENVIRONMENT "${mtf_test_environment};OMP_NUM_THREADS=${threads}")
  mtf_sanitized(local.${test_NAME} local-${test_NAME} local)
endfunction()

# mtf_run_on_ranks(NAME name TARGET executable RANKS n... [ARGS arg...] [LABEL label]): for each n the test name.nranks,
# which starts the executable on n ranks of one thread each.
function(mtf_run_on_ranks)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;TARGET;LABEL" "RANKS;ARGS")
  foreach(ranks IN LISTS test_RANKS)
    set(name ${test_NAME}.${ranks}ranks)
    add_test(NAME ${name} COMMAND
      "${MPIEXEC_EXECUTABLE}" ${mtf_mpiexec_flags} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
      $<TARGET_FILE:${test_TARGET}> ${MPIEXEC_POSTFLAGS} ${test_ARGS})
    set(processors ${ranks})
    if(processors GREATER 2)
      set(processors 2)  # the smallest machine that the tests are run on has two cores
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${test_LABEL}" TIMEOUT 300 PROCESSORS ${processors}
      ENVIRONMENT "${mtf_test_environment};OMP_NUM_THREADS=1")
  endforeach()
endfunction()

# mtf_add_mesh_test(NAME name SOURCES file... RANKS n... [ARGS arg...]): the tests mesh.name.nranks.
function(mtf_add_mesh_test)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME" "SOURCES;RANKS;ARGS")
  mtf_add_test_program(mesh-${test_NAME} ${test_SOURCES})
  add_dependencies(mtf_mesh_tests mesh-${test_NAME})
  mtf_run_on_ranks(NAME mesh.${test_NAME} TARGET mesh-${test_NAME} RANKS ${test_RANKS} ARGS ${test_ARGS} LABEL mesh)
endfunction()

# mtf_add_threads_test(NAME name SOURCES file... [ARGS arg...]): the test threads.name, one process whose ranks are threads.
function(mtf_add_threads_test)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME" "SOURCES;ARGS")
  mtf_add_test_program(threads-${test_NAME} ${test_SOURCES})
  add_dependencies(mtf_threads_tests threads-${test_NAME})
  add_test(NAME threads.${test_NAME} COMMAND threads-${test_NAME} ${test_ARGS})
  set_tests_properties(threads.${test_NAME} PROPERTIES LABELS threads TIMEOUT 300 PROCESSORS 2
    ENVIRONMENT "${mtf_test_environment};OMP_NUM_THREADS=1")
endfunction()

# mtf_add_mesh_script(NAME name PROGRAM file SCRIPT file): the test mesh.name, a script that starts the program itself,
# on as many ranks as it likes, and judges what it prints and returns. Run as
#   cmake -DPROGRAM=executable "-DMPIEXEC=mpirun;flags" -DNUMPROC_FLAG=-n -P SCRIPT
function(mtf_add_mesh_script)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;PROGRAM;SCRIPT" "")
  mtf_add_test_program(mesh-${test_NAME} "${test_PROGRAM}")
  add_dependencies(mtf_mesh_tests mesh-${test_NAME})
  add_test(NAME mesh.${test_NAME} COMMAND "${CMAKE_COMMAND}" -D "PROGRAM=$<TARGET_FILE:mesh-${test_NAME}>"
    -D "MPIEXEC=${MPIEXEC_EXECUTABLE};${mtf_mpiexec_flags}" -D "NUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG}"
    -P "${test_SCRIPT}")
  set_tests_properties(mesh.${test_NAME} PROPERTIES LABELS mesh TIMEOUT 300 PROCESSORS 2
    ENVIRONMENT "${mtf_test_environment};OMP_NUM_THREADS=1")
endfunction()

# mtf_add_refused_tests(DIR): each .cpp below DIR is a program that must not compile; expect_compile_error.cmake says how it
# tells. It sees only the headers of the core and of the threads; one that includes <mtf/kokkos.hpp> also Kokkos' with
# OpenMP. One with `// devices: none` is about what nvcc does not compile. DIR/names.hpp, which the cases share, is
# precompiled by the test refused.headers: parsing it is most of what a case costs.
function(mtf_add_refused_tests dir)
  set(id "${CMAKE_CXX_COMPILER_ID}")
  if(Kokkos_ENABLE_CUDA)
    set(id NVIDIA)  # nvcc_wrapper calls itself by its host compiler's name
  endif()
  file(GLOB_RECURSE cases CONFIGURE_DEPENDS "${dir}/*.cpp")
  if((id STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 17)
     OR (id STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 14))
    set(computes_sentences true)
  endif()
  set(includes "${dir};${PROJECT_SOURCE_DIR}/include;${PROJECT_SOURCE_DIR}/backends/threads/include;$<TARGET_PROPERTY:Boost::headers,INTERFACE_INCLUDE_DIRECTORIES>")
  set(header "${CMAKE_CURRENT_BINARY_DIR}/refused_headers.hpp")
  file(CONFIGURE OUTPUT "${header}" CONTENT "#include \"names.hpp\"\n")
  if(id STREQUAL "GNU")
    set(precompiled "${header}.gch")
    set(use_precompiled "-Winvalid-pch;-include;${header}")
  elseif(id STREQUAL "Clang")
    set(precompiled "${header}.pch")
    set(use_precompiled "-include-pch;${precompiled}")
  endif()
  if(precompiled)
    add_test(NAME refused.headers COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 "-I$<JOIN:${includes},;-I>" -x c++-header
      "${header}" -o "${precompiled}" COMMAND_EXPAND_LISTS)
    set_tests_properties(refused.headers PROPERTIES LABELS refused FIXTURES_SETUP refused_headers)
  endif()
  foreach(case IN LISTS cases)
    get_filename_component(name "${case}" NAME_WE)
    file(STRINGS "${case}" of_cxx26 REGEX "expect.c..26")
    file(STRINGS "${case}" of_names REGEX "^#include \"names.hpp\"")
    file(STRINGS "${case}" host_only REGEX "^// devices: none")
    if(host_only AND id STREQUAL "NVIDIA")
      continue()
    endif()
    set(standard c++20)
    set(compiled_headers "")
    file(STRINGS "${case}" of_kokkos REGEX "^#include <mtf/kokkos.hpp>")
    if(of_kokkos AND NOT Kokkos_ENABLE_OPENMP)
      continue()
    elseif(of_kokkos)
      set(kokkos "$<TARGET_PROPERTY:Kokkos::kokkos,INTERFACE_INCLUDE_DIRECTORIES>")
      set(compiled_headers "-fopenmp;-I${PROJECT_SOURCE_DIR}/backends/kokkos/include;-isystem$<JOIN:${kokkos},;-isystem>")
    endif()
    if(of_cxx26 AND computes_sentences)
      set(standard c++26)
    elseif(of_names AND NOT of_kokkos)
      set(compiled_headers "${use_precompiled}")
    endif()
    add_test(NAME refused.${name} COMMAND "${CMAKE_COMMAND}" -D STANDARD=${standard}
      -D "COMPILER=${CMAKE_CXX_COMPILER}" -D "COMPILER_ID=${id}" -D "CASE=${case}"
      -D "INCLUDES=${includes}" -D "COMPILED_HEADERS=${compiled_headers}"
      -D "OBJECT=${CMAKE_CURRENT_BINARY_DIR}/${name}.o"
      -P "${PROJECT_SOURCE_DIR}/cmake/expect_compile_error.cmake")
    set_tests_properties(refused.${name} PROPERTIES LABELS refused TIMEOUT 120)
    if(compiled_headers STREQUAL use_precompiled)
      set_tests_properties(refused.${name} PROPERTIES FIXTURES_REQUIRED refused_headers)
    endif()
  endforeach()
endfunction()
