// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs Graphviz's `dot` as a child process: no shell, no temporary files, a time limit.
#include <chrono>
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc::driver {

/// Returns any `text` as a quoted string of the dot language. Entities are not interpreted.
std::string dot_string(std::string_view text);
/// Returns the string for a `tooltip`, in which dot replaces escapes such as \N, the node, twice.
std::string dot_tooltip(std::string_view text);
/// Returns the output of `dot -Tsvg` for a graph in the dot language. Errors, slug "graphviz":
/// `dot` is not on PATH, fails (with its message), or is ended because it runs longer than `limit`.
Result<std::string> dot_to_svg(std::string_view graph, std::chrono::seconds limit);

}  // namespace byoc::driver
