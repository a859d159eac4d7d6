# SPDX-License-Identifier: Apache-2.0
# byoc_add_plugin(NAME SOURCES a.cc ... [LINK libraries...] [OUTPUT_DIRECTORY dir])
# Makes libNAME.so with the one exported symbol of the plugin ABI, as C11 or C++20. Works inside this tree
# and, through find_package(byoc COMPONENTS plugin_sdk), outside of it. Inside, the plugin goes to the
# build's plugin folder and is installed; one with an OUTPUT_DIRECTORY of its own stays there. A project that
# sets no CMAKE_BUILD_TYPE is built as Release: without optimisation a kernel is tens of times slower.
set(BYOC_PLUGIN_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})

function(byoc_add_plugin name)
  cmake_parse_arguments(ARG "" "OUTPUT_DIRECTORY" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "byoc_add_plugin(NAME SOURCES a.cc ... [LINK libraries...] [OUTPUT_DIRECTORY dir])")
  endif()
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    message(STATUS "byoc_add_plugin: CMAKE_BUILD_TYPE is not set, building Release")
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE byoc::plugin_sdk ${ARG_LINK})
  byoc_isolate_plugin(${name})
  if(ARG_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY})
    return()
  endif()
  if(BYOC_PLUGIN_DIR)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${BYOC_PLUGIN_DIR})
  endif()
  if(TARGET byoc_plugins)
    add_dependencies(byoc_plugins ${name})
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION lib/byoc/plugins COMPONENT plugins OPTIONAL)   # if it was built
endfunction()

# Isolates a plugin from the host and from other plugins: one exported symbol, no symbol that the
# loader makes unique in the process, missing symbols found at link time, and no unloading, because
# a library that has ever made a thread cannot be unloaded safely.
function(byoc_isolate_plugin name)
  set_target_properties(${name} PROPERTIES
    C_STANDARD 11 CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
    LINK_DEPENDS ${BYOC_PLUGIN_CMAKE_DIR}/byoc_plugin.map)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  target_link_options(${name} PRIVATE
    LINKER:--version-script=${BYOC_PLUGIN_CMAKE_DIR}/byoc_plugin.map
    LINKER:-Bsymbolic LINKER:--exclude-libs,ALL LINKER:-z,defs LINKER:-z,nodelete LINKER:-z,noexecstack
    LINKER:--enable-new-dtags)
endfunction()

# The headers that a plugin compiles against: those of byoc/plugin, DLPack, and nlohmann_json for
# the C++ SDK.
if(NOT TARGET byoc::plugin_sdk)
  add_library(byoc_plugin_sdk INTERFACE)
  add_library(byoc::plugin_sdk ALIAS byoc_plugin_sdk)
  set_target_properties(byoc_plugin_sdk PROPERTIES EXPORT_NAME plugin_sdk)
  target_include_directories(byoc_plugin_sdk INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/../include> $<INSTALL_INTERFACE:include>)
  target_include_directories(byoc_plugin_sdk SYSTEM INTERFACE $<BUILD_INTERFACE:${DLPACK_INCLUDE_DIR}>)
  target_link_libraries(byoc_plugin_sdk INTERFACE nlohmann_json::nlohmann_json)
endif()
