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
  if(COMMAND byoc_batches)                                  # inside
    byoc_batches(${name} ARG_SOURCES)
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

# byoc_package_plugin(NAME): lets `cpack -G DEB` and `cpack -G TXZ` in the build folder make a package of the plugin
# NAME and of the other files that the project installs with COMPONENT plugins. Debian's goes into /usr, where installed
# commands look for plugins. Its maintainer is CPACK_PACKAGE_CONTACT, else $DEBFULLNAME <$DEBEMAIL>, as with Debian's
# own tools. A project that is part of another one makes no package.
macro(byoc_package_plugin name)
  if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    string(REGEX REPLACE "^byoc_" "byoc-plugin-" CPACK_PACKAGE_NAME ${name})
    string(REPLACE "_" "-" CPACK_PACKAGE_NAME ${CPACK_PACKAGE_NAME})
    if(PROJECT_VERSION)
      set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
    endif()
    if(NOT CPACK_PACKAGE_CONTACT AND DEFINED ENV{DEBEMAIL})
      set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
    endif()
    set(CPACK_PACKAGE_FILE_NAME ${CPACK_PACKAGE_NAME}-${CPACK_PACKAGE_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
    set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "plugin ${name} of byoc\nbyoc compiles neural networks by plugins.")
    set(CPACK_DEBIAN_PACKAGE_SECTION science)
    set(CPACK_DEBIAN_PACKAGE_ENHANCES byoc)
    find_program(BYOC_SHLIBDEPS dpkg-shlibdeps)
    find_program(BYOC_FILE file)                            # by which CPack finds out what to give to dpkg-shlibdeps
    if(BYOC_SHLIBDEPS AND BYOC_FILE)
      set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    endif()
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_INCLUDE_TOPLEVEL_DIRECTORY OFF)               # an archive is unpacked in the folder of an installed byoc
    set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};plugins;/")   # not the files of a wheel
    include(CPack)
  endif()
endmacro()

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
