# SPDX-License-Identifier: Apache-2.0
# A misspelt component of find_package(byoc) is an error that lists the components.
file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${FOLDER}/CMakeLists.txt
  "cmake_minimum_required(VERSION 3.25)\nproject(misspelt LANGUAGES C)\nfind_package(byoc REQUIRED COMPONENTS plugin_sdk runtmie)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${FOLDER} -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${STAGE}
  RESULT_VARIABLE code ERROR_VARIABLE printed OUTPUT_QUIET)
string(REGEX REPLACE "[ \n]+" " " printed "${printed}")       # CMake breaks lines anywhere
foreach(wanted "no component \"runtmie\"" "its components are: plugin_sdk compile import library runtime translate")
  string(FIND "${printed}" "${wanted}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "exit code ${code}, and not \"${wanted}\" in: ${printed}")
  endif()
endforeach()
