# cmake --install build --prefix DIR: commands in bin, plugins in lib/byoc/plugins, and for authors of
# plugins the headers and find_package(byoc COMPONENTS plugin_sdk). `--component plugin_sdk` installs the
# last two alone, which needs nothing to be built.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/byoc DESTINATION include COMPONENT plugin_sdk FILES_MATCHING PATTERN "*.h")
install(FILES cmake/byoc_plugin.cmake cmake/byoc_plugin.map DESTINATION lib/cmake/byoc COMPONENT plugin_sdk)

install(TARGETS byoc_plugin_sdk EXPORT byoc COMPONENT plugin_sdk)
install(EXPORT byoc NAMESPACE byoc:: FILE byoc_targets.cmake DESTINATION lib/cmake/byoc COMPONENT plugin_sdk)
configure_package_config_file(cmake/byoc-config.cmake.in ${CMAKE_BINARY_DIR}/byoc-config.cmake
  INSTALL_DESTINATION lib/cmake/byoc NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/byoc-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)          # of headers; the ABI checks itself at load
install(FILES ${CMAKE_BINARY_DIR}/byoc-config.cmake ${CMAKE_BINARY_DIR}/byoc-config-version.cmake
  DESTINATION lib/cmake/byoc COMPONENT plugin_sdk)

foreach(command byoc byoc-run)
  if(TARGET ${command})
    install(TARGETS ${command} RUNTIME DESTINATION bin COMPONENT commands)
  endif()
endforeach()
