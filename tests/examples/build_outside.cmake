# SPDX-License-Identifier: Apache-2.0
# Copies SOURCE to FOLDER/source, builds it against the byoc in STAGE, and puts the .so into OUTPUT. No
# CMAKE_BUILD_TYPE is given, as in the README: byoc_add_plugin has to choose one with optimisation.
file(REMOVE_RECURSE ${FOLDER}/build)
file(COPY ${SOURCE}/ DESTINATION ${FOLDER}/source)
foreach(arguments
    "-G;${GENERATOR};-S;${FOLDER}/source;-B;${FOLDER}/build;-DCMAKE_PREFIX_PATH=${STAGE};-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "--build;${FOLDER}/build")
  execute_process(COMMAND ${CMAKE_COMMAND} ${arguments} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(STRINGS ${FOLDER}/build/CMakeCache.txt type REGEX "^CMAKE_BUILD_TYPE:")
if(NOT type STREQUAL "CMAKE_BUILD_TYPE:STRING=Release")
  message(FATAL_ERROR "the plugin is built without optimisation: \"${type}\"")
endif()
file(GLOB plugin ${FOLDER}/build/*.so)
file(COPY ${plugin} DESTINATION ${OUTPUT})
