# What `cmake --install` lays down: headers, targets, mtfConfig.cmake and what that includes. A Kokkos that was built
# here installs itself into the same prefix.
include(CMakePackageConfigHelpers)

set(mtf_config_dir "${CMAKE_INSTALL_DATAROOTDIR}/cmake/mtf")
install(TARGETS mtf EXPORT mtfTargets FILE_SET HEADERS)
foreach(component IN ITEMS kokkos mpi nccl threads checkpoint tokenizers)
  if(TARGET mtf_${component})
    install(TARGETS mtf_${component} EXPORT mtf_${component}Targets FILE_SET HEADERS)
    install(EXPORT mtf_${component}Targets NAMESPACE mtf:: DESTINATION "${mtf_config_dir}")
  endif()
  if(TARGET mtf_${component}_compiled)
    install(TARGETS mtf_${component}_compiled EXPORT mtf_${component}_compiledTargets)
    install(EXPORT mtf_${component}_compiledTargets NAMESPACE mtf:: DESTINATION "${mtf_config_dir}")
  endif()
endforeach()
install(TARGETS mtf_models EXPORT mtf_modelsTargets FILE_SET HEADERS)
install(EXPORT mtf_modelsTargets NAMESPACE mtf:: DESTINATION "${mtf_config_dir}")
if(TARGET mtf_train_tool)
  install(TARGETS mtf_tools mtf_train_tool mtf_plan_tool EXPORT mtf_toolsTargets FILE_SET HEADERS)
  if(TARGET mtf_writing_tool)
    install(TARGETS mtf_model_tool mtf_writing_tool mtf_generate_tool mtf_serve_tool mtf_evaluate_tool mtf_inspect_tool EXPORT mtf_toolsTargets)
  endif()
  install(EXPORT mtf_toolsTargets NAMESPACE mtf:: DESTINATION "${mtf_config_dir}")
  install(FILES cmake/mtf_tools.cmake DESTINATION "${mtf_config_dir}")
endif()
# mtf_install_programs(): the programs, as mtf-train and so on, as far as they are built.
function(mtf_install_programs)
  foreach(program IN ITEMS train plan generate generate-bfloat16 serve evaluate inspect convert prepare)
    if(TARGET ${program})
      install(PROGRAMS "$<TARGET_FILE:${program}>" DESTINATION "${CMAKE_INSTALL_BINDIR}" RENAME mtf-${program} OPTIONAL)
    endif()
  endforeach()
endfunction()
install(EXPORT mtfTargets NAMESPACE mtf:: DESTINATION "${mtf_config_dir}")

configure_package_config_file(cmake/mtfConfig.cmake.in "${PROJECT_BINARY_DIR}/mtfConfig.cmake"
  INSTALL_DESTINATION "${mtf_config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mtfConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/mtfConfig.cmake" "${PROJECT_BINARY_DIR}/mtfConfigVersion.cmake"
  cmake/mtf_compute_libraries.cmake cmake/FindDNNL.cmake cmake/FindISAL.cmake cmake/FindPCRE2.cmake cmake/FindRandom123.cmake
  cmake/FindSentencePiece.cmake
  DESTINATION "${mtf_config_dir}")
