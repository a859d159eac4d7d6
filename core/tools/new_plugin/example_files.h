// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of plugins/example as they were when the command was built.
#include <span>
#include <string_view>

namespace byoc::driver {

struct ExampleFile {
  std::string_view path, text;  // path: below plugins/example, "cpp/plugin.cc"
};
/// Returns the sources and the CMake files of both examples. The build makes this function.
std::span<const ExampleFile> example_files();

}  // namespace byoc::driver
