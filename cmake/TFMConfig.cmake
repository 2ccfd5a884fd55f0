# find_package(TFM): compiled models in other people's CMake projects.
#
#   TFM::tfmc      the compiler, an executable
#   TFM::api       tfm.h
#   TFM::runtime   what an object of a model needs beside it
#   tfm_add_model  makes a target of a model file
#
# For instance:
#
#   find_package(TFM 0.1 REQUIRED)
#   tfm_add_model(story story.gguf EMIT so OPTIONS --march=avx2)
#   target_link_libraries(my_program PRIVATE story)

include_guard()
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(TFM_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

add_executable(TFM::tfmc IMPORTED GLOBAL)
set_target_properties(TFM::tfmc PROPERTIES
  IMPORTED_LOCATION "${TFM_PREFIX}/bin/tfmc")

add_library(TFM::api INTERFACE IMPORTED GLOBAL)
target_include_directories(TFM::api INTERFACE "${TFM_PREFIX}/include")

add_library(TFM::runtime STATIC IMPORTED GLOBAL)
set_target_properties(TFM::runtime PROPERTIES
  IMPORTED_LOCATION "${TFM_PREFIX}/lib/libtfm_runtime.a")
target_link_libraries(TFM::runtime INTERFACE
  TFM::api -l:libpcre2-8.a -l:libutf8proc.a stdc++ Threads::Threads m)

# tfm_add_model(NAME FILE [EMIT so|obj|exe] [OPTIONS ARG...])
#
# Compiles a model when something that needs it is built. With `so` (the
# default) NAME is a shared library, with `obj` an object with the static
# runtime; link either to a program that includes tfm.h. With `exe`, NAME builds
# the program bin/NAME in the current binary folder. OPTIONS go to tfmc.
function(tfm_add_model name model)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "EMIT" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "tfm_add_model: unexpected arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_EMIT)
    set(arg_EMIT so)
  endif()
  set(names_so "lib${name}.so")
  set(names_obj "${name}.o")
  set(names_exe "bin/${name}") # a target may not have its file's name
  if(NOT DEFINED names_${arg_EMIT})
    message(FATAL_ERROR
      "tfm_add_model: EMIT expects so, obj or exe, but got ${arg_EMIT}")
  endif()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${names_${arg_EMIT}}")
  get_filename_component(model "${model}" ABSOLUTE)
  get_filename_component(folder "${output}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${output}"
    COMMAND TFM::tfmc "${model}" --emit=${arg_EMIT} -o "${output}"
      ${arg_OPTIONS}
    DEPENDS "${model}" TFM::tfmc
    COMMENT "Compiling model ${name}"
    VERBATIM)

  if(arg_EMIT STREQUAL exe)
    add_custom_target(${name} ALL DEPENDS "${output}")
    return()
  endif()
  add_custom_target(${name}_compiled DEPENDS "${output}")
  if(arg_EMIT STREQUAL so)
    add_library(${name} SHARED IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES
      IMPORTED_LOCATION "${output}"
      IMPORTED_NO_SONAME TRUE)
    target_link_libraries(${name} INTERFACE TFM::api)
  else()
    add_library(${name} OBJECT IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_OBJECTS "${output}")
    target_link_libraries(${name} INTERFACE TFM::runtime)
  endif()
  add_dependencies(${name} ${name}_compiled)
endfunction()
