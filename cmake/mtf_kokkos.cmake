# Makes Kokkos::kokkos: an installed Kokkos 5 (or one that the enclosing project has), else the release built with mtf.
if(NOT TARGET Kokkos::kokkos)
  find_package(Kokkos 5 CONFIG QUIET)
endif()

if(TARGET Kokkos::kokkos)
  if(Kokkos_VERSION)
    message(STATUS "Kokkos ${Kokkos_VERSION}: found in ${Kokkos_DIR}")
  endif()
else()
  include(FetchContent)
  include(mtf_kokkos_source)

  # Without another word, Kokkos is for this machine's host, at full speed. Presets and -D choose otherwise.
  option(Kokkos_ENABLE_SERIAL "" ON)
  if(NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    option(Kokkos_ENABLE_OPENMP "" ON)
  endif()
  option(Kokkos_ARCH_NATIVE "" ON)

  # In a function, so that the flag that keeps Kokkos' own compilation quiet stays there.
  function(mtf_fetch_kokkos)
    if(NOT FETCHCONTENT_SOURCE_DIR_KOKKOS)
      mtf_kokkos_source(FETCHCONTENT_SOURCE_DIR_KOKKOS)
    endif()
    FetchContent_Declare(Kokkos SOURCE_DIR "${FETCHCONTENT_SOURCE_DIR_KOKKOS}" SYSTEM)
    string(APPEND CMAKE_CXX_FLAGS " -w")
    FetchContent_MakeAvailable(Kokkos)
  endfunction()
  mtf_fetch_kokkos()
endif()
