# SPDX-License-Identifier: Apache-2.0
# Batches: with -DBYOC_BATCH=N, up to N sources of one folder are compiled as one file that includes them. Headers are
# then read and templates instantiated once per batch. Small folders below one CMakeLists.txt share batches: of three
# folders of two sources, each compiled by itself, most of the time goes into the same templates. Larger folders have
# batches of their own, so a new source changes no others. Names in anonymous namespaces are unique accordingly
# (tests/layout/names.py).
set(BYOC_SMALL_FOLDER 6)                                    # sources; as SMALL of names.py
if(BYOC_BATCH GREATER 1 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)   # which takes included sources for headers
endif()

# byoc_batches(TARGET LIST): replaces the C++ sources in the variable LIST by the batches of them. Batches name their
# sources relative to the build folder, so that ccache finds the objects of another clone. A source with compile
# options or definitions of its own, or the property SKIP_UNITY_BUILD_INCLUSION, is compiled on its own.
function(byoc_batches target list)
  if(BYOC_BATCH LESS 2)
    return()
  endif()
  set(result "")
  set(folders "")
  foreach(source IN LISTS ${list})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    if(folder STREQUAL "")
      set(folder top)
    endif()
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(single ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(definitions OR options OR single OR NOT source MATCHES "\\.cc$")
      list(APPEND result ${source})
    else()
      list(APPEND folders ${folder})
      list(APPEND sources_of_${folder} ${path})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(small "")                                             # the sources of small folders that have no batch yet
  set(place "")                                             # the folder of their CMakeLists.txt
  foreach(folder IN LISTS folders)
    list(LENGTH sources_of_${folder} count)
    if(count GREATER BYOC_SMALL_FOLDER OR folder MATCHES "^tests/")
      byoc_batches_of_folder(${target} ${folder} batches ${sources_of_${folder}})
      list(APPEND result ${batches})
      continue()
    endif()
    byoc_listed_in(${folder} listed)                        # `top` has none, so it is the project's
    list(LENGTH small held)
    math(EXPR total "${held} + ${count}")
    if(held AND (total GREATER BYOC_BATCH OR NOT "${listed}" STREQUAL "${place}"))
      byoc_batches_of_folder(${target} ${first} batches ${small})
      list(APPEND result ${batches})
      set(small "")
    endif()
    if(small STREQUAL "")
      set(first ${folder})                                  # which names the batch
      set(place "${listed}")
    endif()
    list(APPEND small ${sources_of_${folder}})
  endforeach()
  if(small)
    byoc_batches_of_folder(${target} ${first} batches ${small})
    list(APPEND result ${batches})
  endif()
  set(${list} ${result} PARENT_SCOPE)
endfunction()

# Sets the variable RESULT to the nearest folder from FOLDER upwards that has a CMakeLists.txt; "" is the project's.
function(byoc_listed_in folder result)
  while(folder AND NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Sets the variable RESULT to as few batches of the sources in ARGN as possible, of about the same size.
function(byoc_batches_of_folder target folder result)
  string(REPLACE "/" "." name ${target}.${folder})
  list(LENGTH ARGN count)
  math(EXPR batches "(${count} + ${BYOC_BATCH} - 1) / ${BYOC_BATCH}")
  math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
  set(files "")
  foreach(batch RANGE 1 ${batches})
    math(EXPR begin "(${batch} - 1) * ${size}")
    list(SUBLIST ARGN ${begin} ${size} sources)
    list(LENGTH sources count)
    if(count EQUAL 1)
      list(APPEND files ${sources})
      continue()
    endif()
    set(text "")
    foreach(source IN LISTS sources)
      file(RELATIVE_PATH source ${PROJECT_BINARY_DIR}/batches ${source})
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    set(file ${PROJECT_BINARY_DIR}/batches/${name}.${batch}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND files ${file})
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()
