# mtf_warnings: for mtf's own tests, examples and benchmarks, which link it; a user's build never sees it.
add_library(mtf_warnings INTERFACE)
if(Kokkos_ENABLE_CUDA)
  # The host compiler sees what nvcc generates from the source, for which -Wpedantic and -Wconversion have no mercy.
  target_compile_options(mtf_warnings INTERFACE -Wall -Wextra -Wno-unused-parameter)
else()
  target_compile_options(mtf_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in std::string's operator+ (its bug 105651).
  target_compile_options(mtf_warnings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # As g++: conversions of value, not of sign. libstdc++ 12's stable_sort uses what libstdc++ 12 deprecates; g++ still
  # tells of what we use ourselves.
  target_compile_options(mtf_warnings INTERFACE -Wno-sign-conversion -Wno-deprecated-declarations
    -Wno-pass-failed)  # of `omp simd` where tests are compiled at -O1, which does not vectorize
  # Clang 19 on a Xeon with AVX10: -march=native asks for +avx10.1-256, which it then finds invalid beside AVX-512.
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-Winvalid-feature-combination MTF_WARNS_OF_FEATURES)
  if(MTF_WARNS_OF_FEATURES)
    target_compile_options(mtf_warnings INTERFACE -Wno-invalid-feature-combination)
  endif()
endif()
if(MTF_WARNINGS_AS_ERRORS)
  target_compile_options(mtf_warnings INTERFACE -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What g++ believes to see after inlining, reference counts above all: worth reading, too often wrong to stop for.
    target_compile_options(mtf_warnings INTERFACE -Wno-error=array-bounds -Wno-error=use-after-free
      -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=stringop-overread
      -Wno-error=free-nonheap-object)
  endif()
endif()
