# Programs of the example's model, each for one config, mesh and layout.

# mtf_add_transformer(TARGET MESH "data:2;model:2" LAYOUT "batch:data;heads:model"
#                     [UPPER_LAYOUT "..."] [CONFIG header] [PRECISION type] [SOURCE file] [RANKS_AS_THREADS ON]): the
# program SOURCE (default: the example's train.cpp, which links train-parts) for one mesh and layout, and one layout for the
# upper half of the layers if that is another. PRECISION: float, or what mtf::place takes, such as mtf::mixed_bfloat16.
# RANKS_AS_THREADS: with the option --ranks-as-threads, which is the whole program compiled once more, for Kokkos::Serial.
# The source is generated, as a definition on a command line cannot hold a semicolon.
function(mtf_add_transformer target)
  # Not PARSE_ARGV with list expansion: a mesh is one argument, semicolons and all.
  set(example "${PROJECT_SOURCE_DIR}/examples/transformer")
  set(mesh "")
  set(layout "")
  set(config "${example}/configs/demo.hpp")
  set(program "${example}/train.cpp")
  set(ranks_as_threads OFF)
  set(precision float)
  set(MTF_EXAMPLE_ANY_LAYOUT OFF)
  unset(upper)
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE 1 ${last} 2)
    math(EXPR next "${i} + 1")
    set(value "${ARGV${next}}")
    if("${ARGV${i}}" STREQUAL "MESH")
      set(mesh "${value}")
    elseif("${ARGV${i}}" STREQUAL "LAYOUT")
      set(layout "${value}")
    elseif("${ARGV${i}}" STREQUAL "UPPER_LAYOUT")
      set(upper "${value}")
    elseif("${ARGV${i}}" STREQUAL "CONFIG")
      get_filename_component(config "${value}" ABSOLUTE)
    elseif("${ARGV${i}}" STREQUAL "RANKS_AS_THREADS")
      set(ranks_as_threads "${value}")
    elseif("${ARGV${i}}" STREQUAL "ANY_LAYOUT")
      set(MTF_EXAMPLE_ANY_LAYOUT "${value}")
    elseif("${ARGV${i}}" STREQUAL "PRECISION")
      set(precision "${value}")
    elseif("${ARGV${i}}" STREQUAL "SOURCE")
      get_filename_component(program "${value}" ABSOLUTE)
    else()
      message(FATAL_ERROR "mtf_add_transformer: what is ${ARGV${i}}?")
    endif()
  endforeach()
  if(NOT DEFINED upper)
    set(upper "${layout}")
  endif()

  # Vendors' libraries multiply matrices for all execution spaces of a build for devices.
  set(MTF_EXAMPLE_RANKS_AS_THREADS OFF)
  if(ranks_as_threads AND Kokkos_ENABLE_SERIAL AND NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    set(MTF_EXAMPLE_RANKS_AS_THREADS ON)
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT [=[
#cmakedefine01 MTF_EXAMPLE_RANKS_AS_THREADS
#cmakedefine01 MTF_EXAMPLE_ANY_LAYOUT
#define MTF_EXAMPLE_MESH "@mesh@"
#define MTF_EXAMPLE_PRECISION @precision@
#define MTF_EXAMPLE_LAYOUT "@layout@"
#define MTF_EXAMPLE_UPPER_LAYOUT "@upper@"
#define MTF_EXAMPLE_CONFIG <@config@>
#include <@program@>
]=] @ONLY)
  mtf_add_program(${target} "${source}")
  target_include_directories(${target} PRIVATE "${example}")
  if(program STREQUAL "${example}/train.cpp")
    # Its plan, compiled once for each config and precision.
    string(MD5 key "${config} ${precision}")
    string(SUBSTRING "${key}" 0 8 key)
    set(planned "transformer-planned-${key}")
    if(NOT TARGET ${planned})
      set(source "${CMAKE_BINARY_DIR}/${planned}.cpp")
      file(CONFIGURE OUTPUT "${source}" CONTENT [=[
#define MTF_EXAMPLE_ANY_LAYOUT 1
#define MTF_EXAMPLE_PRECISION @precision@
#define MTF_EXAMPLE_CONFIG <@config@>
#include <@example@/planned.cpp>
]=] @ONLY)
      add_library(${planned} STATIC "${source}")
      target_link_libraries(${planned} PRIVATE mtf mtf_warnings mtf_program_flags)
      target_include_directories(${planned} PRIVATE "${example}")
      # It runs once: optimized in full it takes more than twice as long to compile, with all optimizers.
      target_compile_options(${planned} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
      mtf_host_only(${planned})
    endif()
    target_link_libraries(${target} PRIVATE train-parts ${planned})
  endif()
endfunction()
