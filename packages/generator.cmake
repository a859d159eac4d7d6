# SPDX-License-Identifier: Apache-2.0
# CPack reads this before it packs: what differs between the kinds of packages.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
  set(CPACK_INSTALL_CMAKE_PROJECTS "${build};byoc;tarball;/;${build};byoc;plugin_sdk;/")
endif()
