# SPDX-License-Identifier: Apache-2.0
# Copies SOURCE to FOLDER/source, builds it against the byoc in STAGE, and puts the .so into OUTPUT.
file(COPY ${SOURCE}/ DESTINATION ${FOLDER}/source)
foreach(arguments
    "-G;${GENERATOR};-S;${FOLDER}/source;-B;${FOLDER}/build;-DCMAKE_PREFIX_PATH=${STAGE};-DCMAKE_BUILD_TYPE=Release;-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "--build;${FOLDER}/build")
  execute_process(COMMAND ${CMAKE_COMMAND} ${arguments} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB plugin ${FOLDER}/build/*.so)
file(COPY ${plugin} DESTINATION ${OUTPUT})
