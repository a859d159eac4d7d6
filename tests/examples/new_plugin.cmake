# SPDX-License-Identifier: Apache-2.0
# Makes a plugin with `byoc new-plugin` in an empty FOLDER, builds it against the byoc in STAGE, and checks it.
# The commands are those that new-plugin prints and that the README.md it writes has.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${BYOC} new-plugin my-chip2 ${FLAGS} -o plugin)
file(GLOB written RELATIVE ${FOLDER}/plugin ${FOLDER}/plugin/*)
if(NOT written STREQUAL "CMakeLists.txt;README.md;${SOURCE}")
  message(FATAL_ERROR "new-plugin wrote ${written}")
endif()
foreach(file IN LISTS written)                              # nothing has the example's name any more
  file(READ ${FOLDER}/plugin/${file} text)
  string(FIND "${text}" "xample" at)
  if(NOT at EQUAL -1)
    string(SUBSTRING "${text}" ${at} 40 place)
    message(FATAL_ERROR "${file} has the name of the example: ${place}")
  endif()
endforeach()
run(${CMAKE_COMMAND} -G ${GENERATOR} -S plugin -B build -DCMAKE_PREFIX_PATH=${STAGE}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build build)
run(${BYOC} check-plugin build/libbyoc_my-chip2.so)
if(FLAGS STREQUAL "--default")
  include(${CMAKE_CURRENT_LIST_DIR}/default_codegen.cmake)
endif()
