// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphviz's `dot`, run as a child process: no shell, no temporary files, a time limit.
#include <chrono>
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc::driver {

/// `text` as a quoted string of the dot language, safe whatever it holds; entities are not read.
std::string dot_string(std::string_view text);
/// The same as the value of `tooltip`, in which dot replaces escapes (\N is the node) twice.
std::string dot_tooltip(std::string_view text);
/// What `dot -Tsvg` makes of a graph in the dot language. Errors, slug "graphviz": `dot` is not on
/// PATH, fails (with its words), or takes longer than `limit` and is ended.
Result<std::string> dot_to_svg(std::string_view graph, std::chrono::seconds limit);

}  // namespace byoc::driver
