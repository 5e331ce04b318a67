# MTF_COMPILER_CACHE: what was compiled before, in whatever folder, is taken from ccache's store in the home folder. It is
# found there by what the preprocessor reads and by paths below the source, so that a fresh clone finds it too.
find_program(MTF_CCACHE ccache)
mark_as_advanced(MTF_CCACHE)
if(MTF_COMPILER_CACHE AND MTF_CCACHE)
  set(of_compiler)
  if(Kokkos_ENABLE_CUDA)
    # By the files that were read, as nvcc preprocesses for the host alone; and by nvcc's version, of which the script that
    # calls it says nothing.
    set(of_compiler CCACHE_COMPILERTYPE=nvcc CCACHE_DEPEND=1 "CCACHE_COMPILERCHECK=%compiler% --version")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_MAXSIZE=20G ${of_compiler} "${MTF_CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # a precompiled header is the same whenever it was made
  endif()
endif()
