# SPDX-License-Identifier: Apache-2.0
# Installs the default codegen my-chip2 of FOLDER/build, and compiles a model by it: the product and the softmax of its
# rows are one function, the other ops are the rest, the values are those of the reference, and an op that it refuses
# goes to another default codegen with the reason.
run(${CMAKE_COMMAND} --install build --prefix installed)
file(WRITE ${FOLDER}/model.ir "module {
  fn main(%x: f32[5,8], %w: f32[8,8], %v: f32[8,3], %u: f32[8,8]) {
    %0 = relu(%x) loc(\"relu\")
    %1 = matmul(%0, %w) loc(\"scores\")
    %2 = softmax(%1) loc(\"weights\")
    %3 = matmul(%2, %v) loc(\"mix\")
    %4 = softmax(%3) {axis=0} loc(\"columns\")
    %5 = matmul(%0, %u) loc(\"read_twice\")
    %6 = softmax(%5) loc(\"of_two\")
    %7 = add(%5, %6) loc(\"sum\")
    return %4, %7
  }
}
")
function(read_of output)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env BYOC_PLUGIN_PATH=${FOLDER}/installed/lib/byoc/plugins ${BYOC} ${ARGN}
    --compiler my-chip2 WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE text ERROR_VARIABLE text
    RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "byoc ${ARGN}: ${code}: ${text}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()
function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "no \"${pattern}\" in:\n${text}")
  endif()
endfunction()
execute_process(COMMAND ${BYOC} check-plugin build/libbyoc_my-chip2.so --group groups WORKING_DIRECTORY ${FOLDER}
  OUTPUT_VARIABLE checked)
expect("${checked}" "pass +group_kernels +tried [1-9][0-9]* groups")    # a skipped check is no failure, but learns nothing
read_of(printed print model.ir --after fuse_ops)
expect("${printed}" "primitive=true} {\n +%0 = matmul\\(%i0, %i1\\) loc\\(\"scores\"\\)\n +%1 = softmax\\(%0\\) loc\\(\"weights\"\\)\n +return %1\n")
expect("${printed}" "loc\\(\"read_twice\"\\)\n +%[0-9]+ = softmax\\([^)]*\\) loc\\(\"of_two\"\\)\n +%[0-9]+ = add")
read_of(explained explain model.ir --op columns)
expect("${explained}" "softmax along the last axis alone")
read_of(verified verify model.ir --against json)
expect("${verified}" "all [0-9]+ regions agree with json")
