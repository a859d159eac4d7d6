# SPDX-License-Identifier: Apache-2.0
# Rooms: folders of sources with restricted includes. Sources name headers by their path from the
# top of the tree, "core/region/judge.h", and a target finds only the private headers of its own
# room and of the rooms it names: each room has an include folder in the build tree that holds one
# link, to that room. docs/rooms.md lists which rooms may include which; tests/layout checks it.

# byoc_uses(TARGET FOLDER...): lets TARGET include private headers of those folders (paths from the top of the tree).
function(byoc_uses target)
  foreach(folder IN LISTS ARGN)
    string(REPLACE "/" "." name ${folder})
    set(link ${PROJECT_BINARY_DIR}/rooms/${name}/${folder})
    if(NOT EXISTS ${link})
      if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${folder})
        message(FATAL_ERROR "${target} uses ${folder}, which is no folder")
      endif()
      get_filename_component(parent ${link} DIRECTORY)
      file(MAKE_DIRECTORY ${parent})
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${link} SYMBOLIC)
    endif()
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/rooms/${name})
  endforeach()
endfunction()

# byoc_own_room(TARGET): lets TARGET include private headers of the folder of the calling CMakeLists.txt.
function(byoc_own_room target)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  byoc_uses(${target} ${folder})
endfunction()

# byoc_room(NAME [SOURCES globs...] [LINK libraries...] [PRIVATE libraries of this room alone...] [USES folders...]
#           [PCH kind] [QUICK]): a static library of the sources in this folder that exposes include/ alone.
# QUICK: compiled with -O1, which takes three quarters of the time. For rooms whose own work is a small part of a
# command's: they read files and options, decide per node, write text, and call others.
# Private libraries that are headers alone are nothing to those who link an installed room.
function(byoc_room name)
  cmake_parse_arguments(ARG "QUICK" "PCH" "SOURCES;LINK;PRIVATE;USES" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES *.cc)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_SOURCES})
  byoc_batches(${name} sources)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:include>)
  byoc_own_room(${name})
  byoc_uses(${name} ${ARG_USES})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  foreach(library IN LISTS ARG_PRIVATE)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL INTERFACE_LIBRARY)
      set(library $<BUILD_INTERFACE:${library}>)
    endif()
    target_link_libraries(${name} PRIVATE ${library})
  endforeach()
  if(ARG_QUICK)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(ARG_PCH)
    byoc_precompile(${name} ${ARG_PCH})
  endif()
endfunction()
