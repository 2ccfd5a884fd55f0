# The libraries that TFM stands on, each as one target that carries everything
# its users need. Versions are checked here and nowhere else.

find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "expects LLVM 22, but found ${LLVM_PACKAGE_VERSION}")
endif()
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(CMAKE_DISABLE_FIND_PACKAGE_Halide_Python ON) # not used
find_package(Halide 21 REQUIRED CONFIG COMPONENTS shared)
find_package(CLI11 REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)

# Warnings for our own code, wherever it runs.
add_library(tfm_warnings INTERFACE)
target_compile_definitions(tfm_warnings INTERFACE
  TFM_VERSION="${PROJECT_VERSION}")
target_compile_options(tfm_warnings INTERFACE
  -Wall -Wextra -Wno-unused-parameter -Wimplicit-fallthrough)

# MLIR and LLVM as one shared library each. LLVM is built without exceptions
# but with RTTI, and so is what uses it.
add_library(tfm_mlir INTERFACE)
target_include_directories(tfm_mlir SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(tfm_mlir INTERFACE
  _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_compile_options(tfm_mlir INTERFACE
  "$<$<NOT:$<CONFIG:Release>>:SHELL:-include '${CMAKE_CURRENT_LIST_DIR}/LlvmStatistics.h'>")
target_link_libraries(tfm_mlir INTERFACE MLIR LLVM)

# A library of the compiler: tfm_add_library(NAME SOURCES... [LINK TARGET...]
# [EXCEPTIONS]). Include paths start at the project's root, so an include line
# names the room that it comes from. Code that meets exceptions (Halide's) says
# EXCEPTIONS; the rest is built without, as LLVM is.
function(tfm_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXCEPTIONS" "" "LINK")
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PUBLIC tfm_mlir ${arg_LINK} PRIVATE tfm_warnings)
  if(NOT arg_EXCEPTIONS)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
endfunction()

# Runs mlir-tblgen on one .td file: tfm_tablegen(TARGET FILE.td OUTPUT ARG...
# [OUTPUT ARG...]...). Outputs land beside the includes of the same room.
function(tfm_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest output)
    list(POP_FRONT rest arguments)
    separate_arguments(arguments)
    mlir_tablegen(${output} ${arguments}
      EXTRA_INCLUDES "${PROJECT_SOURCE_DIR}" ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()
