# What `cmake --install` puts where. Nothing in it names the folder of the
# sources or of the build:
#
#   bin/            tfmc, tfm-opt, tfm-run
#   include/tfm.h   a compiled model as a C library
#   lib/            what tfmc links into models, which it finds beside bin/
#   lib/tfm/        Halide, which tfmc runs with
#   lib/cmake/TFM/  find_package(TFM): the targets above and tfm_add_model

include(CMakePackageConfigHelpers)

set(tools tfmc tfm-opt tfm-run)
set_target_properties(${tools} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib/tfm;${LLVM_LIBRARY_DIRS}")
install(TARGETS ${tools} RUNTIME DESTINATION bin)
install(TARGETS tfm_runtime tfm_main ARCHIVE DESTINATION lib)
install(FILES "${PROJECT_SOURCE_DIR}/runtime/include/tfm.h"
  DESTINATION include)
install(IMPORTED_RUNTIME_ARTIFACTS Halide::Halide LIBRARY DESTINATION lib/tfm)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION share/doc/tfm)

write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/TFMConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_SOURCE_DIR}/cmake/TFMConfig.cmake"
  "${PROJECT_BINARY_DIR}/TFMConfigVersion.cmake"
  DESTINATION lib/cmake/TFM)
