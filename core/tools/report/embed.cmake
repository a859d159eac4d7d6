# SPDX-License-Identifier: Apache-2.0
# Writes the files of FOLDER into OUTPUT as C++ strings: page.html kMarkup, page.css kStyle, *.js in order kScript.
set(text "// Made by core/tools/report/embed.cmake.\n")
file(GLOB scripts ${FOLDER}/*.js)
foreach(part "kMarkup;${FOLDER}/page.html" "kStyle;${FOLDER}/page.css" "kScript;${scripts}")
  list(POP_FRONT part name)
  string(APPEND text "constexpr char ${name}[] =\n")
  foreach(path IN LISTS part)
    file(READ ${path} content)
    string(APPEND text "R\"BYOC(${content})BYOC\"\n")
  endforeach()
  string(APPEND text ";\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
