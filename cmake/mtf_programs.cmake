# How mtf's own programs (tests, examples, benchmarks) are compiled and linked.

add_library(mtf_program_flags INTERFACE)
mtf_speed_flags(flags)
target_compile_options(mtf_program_flags INTERFACE ${flags})

# What each of them links: all of mtf that is enabled.
set(mtf_program_libraries ${mtf_targets} $<TARGET_NAME_IF_EXISTS:mtf_kokkos_compiled>
  $<TARGET_NAME_IF_EXISTS:mtf_mpi_compiled> mtf_warnings mtf_program_flags)

# mtf_add_program(TARGET SOURCES...): an executable.
function(mtf_add_program target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ${mtf_program_libraries})
endfunction()

# mtf_marker(FILE WORD OUT): what follows `// WORD: ` within a source's first lines, as a list; empty when not there.
function(mtf_marker file word out)
  file(STRINGS "${file}" line REGEX "^// ${word}:" LIMIT_INPUT 2000 LIMIT_COUNT 1)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  string(REGEX REPLACE "^// ${word}: *" "" values "${line}")
  string(STRIP "${values}" values)
  string(REGEX REPLACE "[ ,]+" ";" values "${values}")
  set(${out} "${values}" PARENT_SCOPE)
endfunction()

# mtf_programs_as_tests(LEVEL): for a folder's programs, in its CMakeLists.txt before they are added. Without
# MTF_OPTIMIZE_PROGRAMS they are optimized by LEVEL alone; what they link, the compiled libraries, is in full. (A target's own
# -O comes later and holds.)
macro(mtf_programs_as_tests level)
  if(NOT MTF_OPTIMIZE_PROGRAMS)
    add_compile_options($<$<NOT:$<CONFIG:Debug>>:${level}>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT Kokkos_ENABLE_CUDA)
      add_compile_options(--param=ggc-min-heapsize=2000000)
    endif()
  endif()
endmacro()
