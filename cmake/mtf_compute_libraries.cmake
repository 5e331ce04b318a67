# The libraries behind mtf::kokkos' matrix products and random numbers. Included by mtf's own build and by its installed
# mtfConfig.cmake: the device's library follows the Kokkos that is found there and then.
#   DNNL::dnnl              oneDNN, on the host
#   Random123::Random123    counter-based random numbers
#   mtf::device_libraries   cuBLASLt with Kokkos' CUDA, rocBLAS with its HIP; no such target with neither
find_package(DNNL MODULE REQUIRED)
find_package(Random123 MODULE REQUIRED)

if(Kokkos_ENABLE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(mtf_device_library CUDA::cublasLt)
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
