# SPDX-License-Identifier: Apache-2.0
# byoc_add_library(NAME SOURCES a.cc ... [LINK libraries...])
# Makes libNAME.so for `byoc --pass-library`: passes, ops and policies in C++20 against the headers of this byoc
# (byoc/extend/library.h). The functions of byoc that it calls are those of the command that loads it, so it links
# none of byoc's libraries.
function(byoc_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "byoc_add_library(NAME SOURCES a.cc ... [LINK libraries...])")
  endif()
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    message(STATUS "byoc_add_library: CMAKE_BUILD_TYPE is not set, building Release")
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE byoc::plugin_sdk ${ARG_LINK})
  target_compile_definitions(${name} PRIVATE BYOC_VERSION="${BYOC_LIBRARY_VERSION}")
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
endfunction()
