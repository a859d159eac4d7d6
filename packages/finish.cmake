# SPDX-License-Identifier: Apache-2.0
# CPack runs this on the folders that it has filled, before it packs them: strips, sets where libraries are looked for,
# and adds what Debian's policy requires of a package, or the libraries that a bare machine lacks to the tarball.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

# Ends packing when a command fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result ERROR_VARIABLE message)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${result}\n${message}")
  endif()
endfunction()

# Lists the programs and shared libraries below a folder.
function(elf_files folder out)
  file(GLOB_RECURSE files LIST_DIRECTORIES false ${folder}/bin/* ${folder}/lib/*.so ${folder}/lib/*.so.*)
  set(found "")
  foreach(file IN LISTS files)
    if(NOT IS_SYMLINK ${file})
      list(APPEND found ${file})
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Appends the licence of the Debian package to a file; of code that is compiled into ours, or of a copied library.
function(append_licence package file)
  set(licence /usr/share/doc/${package}/copyright)
  if(NOT EXISTS ${licence})
    message(FATAL_ERROR "no licence is found for ${package}: ${licence} is missing")
  endif()
  file(READ ${licence} text)
  file(APPEND ${file} "\n\n${package}\n\n${text}")
endfunction()

# The packages whose headers or static libraries are compiled into the files of a package.
set(in_plugins nlohmann-json3-dev libdlpack-dev)
set(in_runtime ${in_plugins} libboost-dev libcli11-dev libeigen3-dev libxxhash-dev)
set(in_compiler ${in_runtime} libonnx-dev libprotobuf-dev)
set(in_byoc ${in_compiler})
file(GLOB_RECURSE llvm ${CPACK_TEMPORARY_DIRECTORY}/libbyoc_llvm.so)         # which is left out where LLVM is missing
if(llvm)
  list(APPEND in_byoc llvm-19-dev liblld-19-dev)
endif()
set(in_byoc-plugin-onednn ${in_plugins})
set(in_libbyoc-runtime0 ${in_runtime})
set(in_libbyoc0 ${in_compiler})
set(in_libbyoc-dev ${in_compiler})                          # the static libraries

# Writes the file `copyright` of a package, with the licences of `compiled_in`.
function(write_copyright file compiled_in)
  file(WRITE ${file} "byoc ${CPACK_PACKAGE_VERSION}

Copyright (c) 2026 the authors of byoc
License: Apache-2.0, the text of which is in /usr/share/common-licenses/Apache-2.0 on Debian systems.
")
  if(compiled_in)
    file(APPEND ${file} "\nCode of these packages is compiled in; their licences follow.\n")
  endif()
  foreach(package IN LISTS compiled_in)
    append_licence(${package} ${file})
  endforeach()
endfunction()

# The folder of one Debian package.
function(finish_debian folder package)
  elf_files(${folder}/usr programs)
  foreach(file IN LISTS programs)
    run(strip --strip-unneeded --remove-section=.comment --remove-section=.note ${file})
    run(patchelf --remove-rpath ${file})                    # all of it is in the system's folders
    if(file MATCHES "\\.so[^/]*$")
      file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()
  endforeach()
  file(GLOB archives ${folder}/usr/lib/*.a)
  if(archives)
    run(strip --strip-debug --remove-section=.comment --remove-section=.note --enable-deterministic-archives
      ${archives})
  endif()
  file(GLOB manuals ${folder}/usr/share/man/man1/*.1)
  set(pages ${folder}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${pages})
  write_copyright(${pages}/copyright "${in_${package}}")
  file(WRITE ${pages}/changelog "byoc (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * CHANGELOG.md of the package byoc has what has changed.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${BYOC_DATE}
")
  run(gzip -9n ${pages}/changelog ${manuals})
  run(find ${folder} -exec touch --no-dereference --date ${BYOC_DATE} {} +)
endfunction()

# Copies the libraries that a machine may lack to lib/: all but glibc's and the compiler's.
function(copy_libraries folder)
  elf_files(${folder} programs)
  file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${programs} RESOLVED_DEPENDENCIES_VAR libraries
    PRE_EXCLUDE_REGEXES "^(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|gcc_s|stdc\\+\\+))\\.so"
    POST_EXCLUDE_REGEXES "^${folder}/")
  foreach(library IN LISTS libraries)
    get_filename_component(name ${library} NAME)
    get_filename_component(real ${library} REALPATH)
    get_filename_component(real_name ${real} NAME)
    file(COPY_FILE ${real} ${folder}/lib/${name})
    file(CHMOD ${folder}/lib/${name} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    execute_process(COMMAND dpkg-query --search "*/${real_name}" OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX MATCH "^[a-z0-9.+-]+" package "${owner}")
    set(licence ${folder}/share/doc/byoc/licences/${package}.txt)
    if(NOT EXISTS ${licence})
      append_licence(${package} ${licence})
    endif()
    message(STATUS "copied ${name} of ${package}")
  endforeach()
endfunction()

# The folder of the tarball, whose files find each other by relative paths.
function(finish_tarball folder)
  elf_files(${folder} programs)
  foreach(file IN LISTS programs)
    run(strip --strip-unneeded ${file})
  endforeach()
  copy_libraries(${folder})
  elf_files(${folder} programs)
  foreach(file IN LISTS programs)
    get_filename_component(from ${file} DIRECTORY)
    file(RELATIVE_PATH to ${from} ${folder}/lib)
    run(patchelf --set-rpath "$ORIGIN/${to}" ${file})
  endforeach()
  write_copyright(${folder}/share/doc/byoc/licences/compiled-in.txt "${in_byoc}")
  run(find ${folder} -exec touch --no-dereference --date ${BYOC_DATE} {} +)
endfunction()

# The time of the last commit, so that equal sources make equal packages.
execute_process(COMMAND git log -1 --format=%aD WORKING_DIRECTORY ${source} OUTPUT_VARIABLE BYOC_DATE ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT BYOC_DATE)
  string(TIMESTAMP BYOC_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
if(CPACK_GENERATOR STREQUAL "DEB")
  file(GLOB folders ${CPACK_TEMPORARY_DIRECTORY}/*)
  foreach(folder IN LISTS folders)
    get_filename_component(package ${folder} NAME)
    finish_debian(${folder} ${package})
  endforeach()
else()
  finish_tarball(${CPACK_TEMPORARY_DIRECTORY})
endif()
