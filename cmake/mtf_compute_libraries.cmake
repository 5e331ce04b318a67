# The libraries behind mtf::kokkos' matrix products and random numbers, and vendors' between devices. Included by mtf's own build and by its installed
# mtfConfig.cmake: the device's library follows the Kokkos that is found there and then.
#   DNNL::dnnl              oneDNN, on the host
#   Random123::Random123    counter-based random numbers
#   mtf::device_libraries   cuBLASLt with Kokkos' CUDA, rocBLAS with its HIP; no such target with neither
#   mtf::cudnn              cuDNN, with CUDA and where it is: of mtf::kokkos_compiled, if that was built with it
#   mtf::nccl_library       NCCL, likewise: of mtf::nccl
find_package(DNNL MODULE REQUIRED)
find_package(Random123 MODULE REQUIRED)

if(Kokkos_ENABLE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(mtf_device_library CUDA::cublasLt)
  find_library(MTF_CUDNN_LIBRARY cudnn HINTS "${CUDAToolkit_LIBRARY_DIR}" "${CUDAToolkit_LIBRARY_ROOT}/lib")
  find_path(MTF_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(MTF_CUDNN_LIBRARY AND NOT TARGET mtf::cudnn)
    add_library(mtf::cudnn INTERFACE IMPORTED GLOBAL)
    target_link_libraries(mtf::cudnn INTERFACE "${MTF_CUDNN_LIBRARY}" CUDA::nvrtc)
  endif()
  find_library(MTF_NCCL_LIBRARY nccl HINTS "${CUDAToolkit_LIBRARY_DIR}" "${CUDAToolkit_LIBRARY_ROOT}/lib")
  find_path(MTF_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(MTF_NCCL_LIBRARY AND MTF_NCCL_INCLUDE_DIR AND NOT TARGET mtf::nccl_library)
    add_library(mtf::nccl_library INTERFACE IMPORTED GLOBAL)
    target_link_libraries(mtf::nccl_library INTERFACE "${MTF_NCCL_LIBRARY}" CUDA::cudart)
    target_include_directories(mtf::nccl_library SYSTEM INTERFACE "${MTF_NCCL_INCLUDE_DIR}")
  endif()
elseif(Kokkos_ENABLE_HIP)
  find_package(rocblas CONFIG REQUIRED)
  set(mtf_device_library roc::rocblas)
else()
  set(mtf_device_library "")
endif()
if(mtf_device_library AND NOT TARGET mtf::device_libraries)
  add_library(mtf::device_libraries INTERFACE IMPORTED GLOBAL)  # mtf::kokkos asks for it in its user's scope
  target_link_libraries(mtf::device_libraries INTERFACE ${mtf_device_library})
endif()

# A project that sets no build type gets a compiler without -O, and local compute that takes ten times as long. (mtf by
# itself is Release; a Kokkos that is built along chooses a type for the whole project.)
get_property(mtf_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
get_property(mtf_build_type_told GLOBAL PROPERTY MTF_BUILD_TYPE_TOLD)
get_directory_property(mtf_compile_options COMPILE_OPTIONS)
if(NOT CMAKE_BUILD_TYPE AND NOT mtf_multi_config AND NOT mtf_build_type_told
   AND NOT "${CMAKE_CXX_FLAGS} ${mtf_compile_options}" MATCHES "-O")
  message(WARNING "mtf: CMAKE_BUILD_TYPE is empty, so everything is compiled without optimization: "
    "configure with -DCMAKE_BUILD_TYPE=Release")
  set_property(GLOBAL PROPERTY MTF_BUILD_TYPE_TOLD ON)
endif()
unset(mtf_multi_config)
unset(mtf_build_type_told)
unset(mtf_compile_options)
