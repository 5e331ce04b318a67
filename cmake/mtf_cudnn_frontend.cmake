# The headers of cuDNN's graphs, for the one source that includes them (backends/kokkos/compiled/cudnn.cpp): those that are
# installed, or else those of a Python package, which pip gets from where this machine's pip gets packages.
#   mtf_cudnn_frontend(OUT)  a folder with cudnn_frontend.h, or nothing
set(MTF_CUDNN_FRONTEND_VERSION 1.32.0)
set(MTF_CUDNN_FRONTEND_SHA256 c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0)  # of the wheel for CPython 3.11
include(mtf_kokkos_source)

function(mtf_cudnn_frontend out)
  find_path(MTF_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(MTF_CUDNN_FRONTEND_INCLUDE_DIR)
    set(${out} "${MTF_CUDNN_FRONTEND_INCLUDE_DIR}" PARENT_SCOPE)
    return()
  endif()
  mtf_download_cache(cache)
  set(source "${cache}/cudnn-frontend-${MTF_CUDNN_FRONTEND_VERSION}")
  set(${out} "${source}/include" PARENT_SCOPE)
  if(EXISTS "${source}/include/cudnn_frontend.h")
    return()
  endif()
  string(RANDOM LENGTH 8 suffix)
  set(part "${source}.${suffix}")
  find_program(python3 python3 NO_CACHE)
  set(why "there is no python3")
  if(python3)
    execute_process(
      COMMAND ${python3} -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --implementation cp
        --platform manylinux_2_28_x86_64 --dest "${part}" nvidia-cudnn-frontend==${MTF_CUDNN_FRONTEND_VERSION}
      RESULT_VARIABLE code ERROR_VARIABLE why)
    file(GLOB wheel "${part}/*.whl")
    if(code EQUAL 0 AND wheel)
      file(SHA256 "${wheel}" found)
      if(found STREQUAL MTF_CUDNN_FRONTEND_SHA256)
        file(ARCHIVE_EXTRACT INPUT "${wheel}" DESTINATION "${part}/unpacked" PATTERNS "include/*")
        mtf_keep("${part}/unpacked" "${source}")
        file(REMOVE_RECURSE "${part}")
        return()
      endif()
      set(why "its SHA256 is ${found}")
    endif()
  endif()
  file(REMOVE_RECURSE "${part}")
  message(STATUS "mtf: attention is not cuDNN's, whose headers cudnn_frontend.h cannot be had: ${why}")
  set(${out} "" PARENT_SCOPE)
endfunction()
