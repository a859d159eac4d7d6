# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: cmake/precompiled/<kind>.h, compiled once for all targets of one
# kind. Sources still include the headers they use: sanitizer builds, and
# -DBYOC_PRECOMPILE=OFF, compile without.
option(BYOC_PRECOMPILE "Use precompiled headers" ON)

# byoc_precompiled(KIND LINK libraries... [OPTIONS compile options...] [EXECUTABLE] [HIDDEN]): defines a kind. Its
# users are compiled with the same options: executables when it has EXECUTABLE (-fPIE instead of -fPIC), plugins when
# it has HIDDEN (-fvisibility=hidden).
function(byoc_precompiled kind)
  if(NOT BYOC_PRECOMPILE OR BYOC_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "EXECUTABLE;HIDDEN" "" "LINK;OPTIONS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "int main() {}\n")
  endif()
  if(ARG_EXECUTABLE)
    add_executable(byoc_precompiled_${kind} EXCLUDE_FROM_ALL ${source})
  else()
    add_library(byoc_precompiled_${kind} OBJECT EXCLUDE_FROM_ALL ${source})
  endif()
  if(ARG_HIDDEN)
    set_target_properties(byoc_precompiled_${kind} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  target_include_directories(byoc_precompiled_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(byoc_precompiled_${kind} PRIVATE ${ARG_OPTIONS} -fpch-preprocess)
  target_link_libraries(byoc_precompiled_${kind} PRIVATE ${ARG_LINK})
  target_include_directories(byoc_precompiled_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/cmake)
  target_precompile_headers(byoc_precompiled_${kind} PRIVATE   # by a name that is the same in every clone: see ccache
    "$<$<COMPILE_LANGUAGE:CXX>:<precompiled/${kind}.h$<ANGLE-R>>")
  set_target_properties(byoc_precompiled_${kind} PROPERTIES
    CXX_COMPILER_LAUNCHER "sh;${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompile.sh;${CMAKE_CXX_COMPILER_LAUNCHER}")
endfunction()

# byoc_precompile(TARGET KIND): TARGET's C++ sources start with that kind's header.
function(byoc_precompile target kind)
  if(TARGET byoc_precompiled_${kind})
    target_precompile_headers(${target} REUSE_FROM byoc_precompiled_${kind})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()
