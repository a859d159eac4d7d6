# SPDX-License-Identifier: Apache-2.0
# The control fields of each Debian package, and CPack's settings.
set(BYOC_MAINTAINER "The authors of byoc <byoc@byoc.example>" CACHE STRING
  "the maintainer of the packages: NAME <ADDRESS>")

# byoc_package(NAME SECTION section SUMMARY text ABOUT text [DEPENDS ...] [RECOMMENDS ...] [SUGGESTS ...]
# [ENHANCES ...] [ALL_MACHINES]): sets the fields of one package. dpkg-shlibdeps adds the libraries that its files need.
function(byoc_package name)
  cmake_parse_arguments(ARG "ALL_MACHINES" "SECTION;SUMMARY;ABOUT" "DEPENDS;RECOMMENDS;SUGGESTS;ENHANCES" ${ARGN})
  string(TOUPPER ${name} upper)
  foreach(field DEPENDS RECOMMENDS SUGGESTS ENHANCES)
    list(JOIN ARG_${field} ", " value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${value}" PARENT_SCOPE)
  endforeach()
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${ARG_SUMMARY}\n${ARG_ABOUT}" PARENT_SCOPE)
  if(ARG_ALL_MACHINES)
    set(CPACK_DEBIAN_${upper}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
  endif()
endfunction()

set(same "(= ${PROJECT_VERSION})")
byoc_package(byoc SECTION science SUMMARY "compiler of neural networks by code generators as plugins"
  ABOUT "byoc hands each part of a network to the code generator that runs it best. A
code generator is a plugin. This package has the commands byoc and byoc-run,
and the plugins llvm, which makes native code, and json, the reference."
  DEPENDS "libbyoc0 ${same}" RECOMMENDS "byoc-plugin-onednn ${same}" SUGGESTS "libbyoc-dev" "python3-byoc")
byoc_package(byoc-plugin-onednn SECTION science SUMMARY "plugin of byoc for oneDNN"
  ABOUT "byoc compiles neural networks by plugins. With this plugin it runs
convolutions, matrix products and other parts of a network by the library
oneDNN."
  RECOMMENDS "byoc | libbyoc0 | libbyoc-runtime0" ENHANCES "byoc" "libbyoc0" "libbyoc-runtime0")
byoc_package(libbyoc0 SECTION libs SUMMARY "compiler of neural networks, shared library with a C API"
  ABOUT "byoc compiles neural networks by plugins. This library has all functions of
byoc/c/byoc.h: they compile models, explain who runs what, run and tune. The
plugins that come with byoc are in the package of that name."
  RECOMMENDS "byoc ${same}")
byoc_package(libbyoc-runtime0 SECTION libs SUMMARY "runtime of compiled neural networks, shared library with a C API"
  ABOUT "byoc compiles neural networks by plugins. This small library loads and runs
what it has compiled. It needs no compiler, and no plugin for code of the
plugin llvm."
  SUGGESTS "byoc ${same}")
byoc_package(libbyoc-dev SECTION libdevel SUMMARY "files to build programs and plugins with byoc"
  ABOUT "byoc compiles neural networks by plugins. This package has the headers, the
links of the shared libraries with the C API, the static libraries for C++,
and the files for find_package(byoc) of CMake, also for authors of plugins."
  DEPENDS "libbyoc0 ${same}" "libbyoc-runtime0 ${same}" "libdlpack-dev" "nlohmann-json3-dev"
  RECOMMENDS "cmake" "libonnx-dev" "libprotobuf-dev" "libxgboost-dev" "protobuf-compiler")
byoc_package(python3-byoc SECTION python ALL_MACHINES SUMMARY "compiler and runtime of neural networks for Python 3"
  ABOUT "byoc compiles neural networks by plugins. This package has the Python
packages byoc, which compiles and explains models, and byoc_runtime, which
runs them on arrays of numpy and torch."
  DEPENDS "libbyoc0 ${same}" "libbyoc-runtime0 ${same}" "python3:any (>= 3.9)" "python3-numpy"
  RECOMMENDS "byoc")

# A library's package has its line for dpkg-shlibdeps of other packages, and calls ldconfig (CPack adds the same call to
# postinst and postrm, and has no option against that; lintian warns of it).
file(CONFIGURE OUTPUT triggers CONTENT "activate-noawait ldconfig\n")
foreach(library byoc byoc_runtime)
  string(REPLACE "_" "-" dashed ${library})
  string(TOUPPER lib${dashed}0 upper)
  file(CONFIGURE OUTPUT ${library}/shlibs CONTENT "lib${library} 0 lib${dashed}0 (>= ${PROJECT_VERSION})\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
    "${CMAKE_CURRENT_BINARY_DIR}/${library}/shlibs;${CMAKE_CURRENT_BINARY_DIR}/triggers")
endforeach()
set(CPACK_DEBIAN_PYTHON3-BYOC_PACKAGE_CONTROL_EXTRA
  "${CMAKE_CURRENT_SOURCE_DIR}/python/postinst;${CMAKE_CURRENT_SOURCE_DIR}/python/prerm")

set(CPACK_COMPONENTS_ALL byoc byoc-plugin-onednn libbyoc0 libbyoc-runtime0 libbyoc-dev plugin_sdk libraries
  python3-byoc)
set(CPACK_COMPONENT_PLUGIN_SDK_GROUP libbyoc-dev)
set(CPACK_COMPONENT_LIBRARIES_GROUP libbyoc-dev)
set(CPACK_COMPONENT_LIBBYOC-DEV_GROUP libbyoc-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${BYOC_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)   # libbyoc.so.0, of the commands
set(CPACK_DEBIAN_PACKAGE_SOURCE byoc)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(CPACK_PACKAGE_FILE_NAME byoc-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_NAME byoc)
set(CPACK_PACKAGE_VENDOR byoc)
set(CPACK_PACKAGE_CONTACT "${BYOC_MAINTAINER}")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/finish.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/generator.cmake)
set(CPACK_SOURCE_GENERATOR "")
set(CPACK_THREADS 0)                                       # of xz: all processors
set(CPACK_VERBATIM_VARIABLES ON)
# Not CPackConfig.cmake in the build folder, with which CMake would make a target `package`, which builds all.
set(CPACK_OUTPUT_CONFIG_FILE ${CMAKE_CURRENT_BINARY_DIR}/config.cmake)
set(CPACK_OUTPUT_SOURCE_CONFIG_FILE ${CMAKE_CURRENT_BINARY_DIR}/source_config.cmake)
include(CPack)
