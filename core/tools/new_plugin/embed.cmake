# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ source that defines kExampleFiles with the texts of the example plugins in FOLDER.
set(rows "")
foreach(file cpp/CMakeLists.txt cpp/plugin.cc c/CMakeLists.txt c/plugin.c default/CMakeLists.txt default/plugin.cc
    device/CMakeLists.txt device/plugin.cc)
  file(READ "${FOLDER}/${file}" text)
  string(APPEND rows "    {\"${file}\", R\"byoc(${text})byoc\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by core/tools/new_plugin/embed.cmake.
#include \"core/tools/new_plugin/example_files.h\"

namespace byoc::driver {
namespace {
constexpr ExampleFile kFiles[] = {
${rows}};
}  // namespace

std::span<const ExampleFile> example_files() { return kFiles; }

}  // namespace byoc::driver
")
