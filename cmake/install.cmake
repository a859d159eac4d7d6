# SPDX-License-Identifier: Apache-2.0
# cmake --install build --prefix DIR: commands in bin, plugins in lib/byoc/plugins, the headers, for authors
# of plugins find_package(byoc COMPONENTS plugin_sdk), and for programs that compile or run models
# themselves static libraries with find_package(byoc COMPONENTS compile import library runtime).
# `--component plugin_sdk` installs headers and plugin_sdk alone, which needs nothing to be built.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/byoc DESTINATION include COMPONENT plugin_sdk FILES_MATCHING PATTERN "*.h")
install(FILES cmake/byoc_plugin.cmake cmake/byoc_plugin.map cmake/byoc_library.cmake DESTINATION lib/cmake/byoc COMPONENT plugin_sdk)

install(TARGETS byoc_plugin_sdk EXPORT byoc COMPONENT plugin_sdk)
install(EXPORT byoc NAMESPACE byoc:: FILE byoc_targets.cmake DESTINATION lib/cmake/byoc COMPONENT plugin_sdk)
configure_package_config_file(cmake/byoc-config.cmake.in ${CMAKE_BINARY_DIR}/byoc-config.cmake
  INSTALL_DESTINATION lib/cmake/byoc NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/byoc-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)          # of headers; the ABI checks itself at load
install(FILES ${CMAKE_BINARY_DIR}/byoc-config.cmake ${CMAKE_BINARY_DIR}/byoc-config-version.cmake
  DESTINATION lib/cmake/byoc COMPONENT plugin_sdk)

# The rooms, each as byoc::<room>: a program links compile (passes, build), import (ONNX files) or
# runtime (sessions), library (what commands do), which link the others they need.
set(byoc_libraries base signature store extents guard artifact arena states plugin_file limits isolate threads host isolate_server device session runtime ir te op translate text graph_json measure measure_session tune measure_store machine pass extend simplify bind region placement
  partition codegen compile import process cli conform reasons tools measuring tuner tuner_measure tuner_batch tuner_slurm tuner_search tuner_starts
  tuner_sitting library)
foreach(library IN LISTS byoc_libraries)
  set_target_properties(byoc_${library} PROPERTIES EXPORT_NAME ${library})
  install(TARGETS byoc_${library} EXPORT byoc_libraries ARCHIVE DESTINATION lib COMPONENT libraries)
endforeach()
install(EXPORT byoc_libraries NAMESPACE byoc:: DESTINATION lib/cmake/byoc COMPONENT libraries)

foreach(command byoc byoc-run)
  if(TARGET ${command})
    install(TARGETS ${command} RUNTIME DESTINATION bin COMPONENT commands)
  endif()
endforeach()

# byoc_install_shared_data(COMPONENT [EXCLUDE_FROM_ALL]): what commands read in share/byoc.
function(byoc_install_shared_data component)
  # The network of `byoc demo`, with its images.
  set(digits ${PROJECT_SOURCE_DIR}/tests/models/digits)
  install(FILES ${digits}/model.onnx ${digits}/images.npy ${digits}/labels.npy ${digits}/outputs.npy
    DESTINATION share/byoc/digits COMPONENT ${component} ${ARGN})

  # The format of tuning logs, for other programs that read or write them.
  install(FILES ${PROJECT_SOURCE_DIR}/core/tune/tuning-record.schema.json
    DESTINATION share/byoc/schemas COMPONENT ${component} ${ARGN})

  # Logs of tuning for kinds of processors, which commands use without --tuning-log.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/byoc/tuning DESTINATION share/byoc COMPONENT ${component} ${ARGN}
    FILES_MATCHING PATTERN "*.jsonl")

  # Descriptions of machines that were measured.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/byoc/machines DESTINATION share/byoc COMPONENT ${component} ${ARGN}
    FILES_MATCHING PATTERN "*.json")

  # The script that writes the decoder of a tutorial.
  install(FILES ${PROJECT_SOURCE_DIR}/bench/decode/decoder.py DESTINATION share/byoc/decode COMPONENT ${component} ${ARGN})

  # The operators of `byoc bench --ops`, and the script of its peer.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/ops DESTINATION share/byoc COMPONENT ${component} ${ARGN}
    FILES_MATCHING PATTERN "cases.json" PATTERN "peer.py")

  # The form of what each command prints with --json.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/byoc/schemas DESTINATION share/byoc COMPONENT ${component} ${ARGN}
    FILES_MATCHING PATTERN "*.json")
endfunction()
byoc_install_shared_data(commands)

# The commands of the build tree use the logs of tuning of the source tree.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/byoc)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/share/byoc/tuning ${CMAKE_BINARY_DIR}/share/byoc/tuning SYMBOLIC)

# The commands of the build tree use the descriptions of machines of the source tree.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/share/byoc/machines ${CMAKE_BINARY_DIR}/share/byoc/machines SYMBOLIC)

# They use the table of operators of the source tree.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/bench/ops ${CMAKE_BINARY_DIR}/share/byoc/ops SYMBOLIC)

# byoc_install_pages(COMPONENT [EXCLUDE_FROM_ALL]): the pages for users, in folders as in the tree, so that links
# between them hold.
function(byoc_install_pages component)
  install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/SECURITY.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
    DESTINATION share/doc/byoc COMPONENT ${component} ${ARGN})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION share/doc/byoc COMPONENT ${component} ${ARGN}
    FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.ir" PATTERN "*.ipynb" PATTERN "doxygen" EXCLUDE)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/tutorials DESTINATION share/doc/byoc/tests COMPONENT ${component} ${ARGN}
    FILES_MATCHING PATTERN "*.md")
endfunction()
byoc_install_pages(commands)
install(FILES LICENSE DESTINATION share/doc/byoc COMPONENT commands)
