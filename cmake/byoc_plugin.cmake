# byoc_add_plugin(NAME SOURCES a.cc ... [LINK libraries...] [OUTPUT_DIRECTORY dir])
# Makes libNAME.so with the one exported symbol of the plugin ABI. Works inside this tree and, through
# find_package(byoc), outside of it.
set(BYOC_PLUGIN_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})
