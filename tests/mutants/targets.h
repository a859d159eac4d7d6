// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers of bytes from strangers, each as one call on some bytes.
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace byoc::test {

using Bytes = std::string;

/// A reader, and the form of its input.
struct Target {
  enum Form { kText, kJson, kOnnx, kArtifact };
  std::string name;
  Form form = kText;
  /// Reads the bytes, and uses what was read. Returns true when they were accepted. A result that
  /// breaks a promise of the reader ends the process.
  std::function<bool(std::string_view)> read;
};

/// Decodes calls of the C API from the bytes, and makes them. The environment names what they use:
/// BYOC_MUTANT_ARTIFACTS, files with colons between them, and BYOC_MUTANT_PLUGIN.
bool read_calls(std::string_view bytes);

/// Returns the readers: onnx, artifact, graph, pattern, log, ir, calls.
const std::vector<Target>& targets();
/// Returns the one of that name; null: none.
const Target* find_target(std::string_view name);
/// Lets artifacts be run by the plugin in that file; without it they are only read.
void use_plugin(const std::string& path);

}  // namespace byoc::test
