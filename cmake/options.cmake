# SPDX-License-Identifier: Apache-2.0
# Language, warnings and output folders of every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")                          # BYOC_CHECK stays in
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(BYOC_PLUGIN_DIR ${CMAKE_BINARY_DIR}/lib/byoc/plugins)

set(BYOC_BATCH 0 CACHE STRING "Compile up to this many sources of a folder as one; 0: each on its own")

# g++ collects garbage only above 512 MiB: that saves time and changes nothing else.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=524288 --param=ggc-min-expand=200)
endif()

# Paths in the cache are relative to the source folder, so that another clone of it finds the same
# objects; ccache's manual prescribes this sloppiness for precompiled headers. include_file_mtime and include_file_ctime
# are not in it: a header that is edited during a compile would be cached with the result of its old text. A first build
# takes less time when ccache reads the compiler's list of headers, and the sums that precompile.sh writes.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

# clang makes no unique symbols, and has no such flag.
add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
if(BYOC_SANITIZE)
  add_compile_definitions(BYOC_IS_SANITIZED)                # gcc and clang have different names for it
endif()
foreach(sanitizer IN LISTS BYOC_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
if(BYOC_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if("address" IN_LIST BYOC_SANITIZE)
  add_compile_options(-O1)                                  # a quarter of the time that -O2 takes to build
  # gcc 12 misreads LLVM's `operator new` with a placement, and the states of std::regex.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>
    $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if("undefined" IN_LIST BYOC_SANITIZE)                     # address checks these, too; x86 has no alignment traps
    add_compile_options(-fno-sanitize=null,object-size,alignment)
  endif()
  add_library(byoc_sanitizers OBJECT ${PROJECT_SOURCE_DIR}/cmake/sanitizers.cc)
  link_libraries($<BUILD_INTERFACE:$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:byoc_sanitizers>>)
endif()

