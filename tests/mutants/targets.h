// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers of bytes from strangers, each as one call on some bytes.
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace byoc {
class IRModule;
}

namespace byoc::test {

using Bytes = std::string;

/// A reader, and the form of its input. A result that breaks a promise ends the process.
struct Target {
  enum Form { kText, kJson, kOnnx, kArtifact };
  std::string name;
  Form form = kText;
  std::function<bool(std::string_view)> read;
};

/// Each reads bytes of one form, uses what was read, and returns true when they were accepted.
bool read_onnx(std::string_view bytes);
bool read_artifact(std::string_view bytes);  ///< Runs it, too, when there is a plugin.
bool read_graph(std::string_view text);
bool read_pattern(std::string_view text);
bool read_log(std::string_view text);
bool read_ir(std::string_view text);
/// Decodes calls of the C API from the bytes, and makes them. The environment names what they use:
/// BYOC_MUTANT_ARTIFACTS, files with colons between them, and BYOC_MUTANT_PLUGIN.
bool read_calls(std::string_view bytes);

/// Requires what a reader promises of a module, and that its text reads back.
void check_module(const IRModule& module);

/// Returns the readers: onnx, artifact, graph, pattern, log, ir, calls.
const std::vector<Target>& targets();
/// Returns the one of that name; null: none.
const Target* find_target(std::string_view name);
/// Lets artifacts be run by the plugin in that file; without it they are only read.
void use_plugin(const std::string& path);

}  // namespace byoc::test
