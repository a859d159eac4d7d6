// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>

#include "core/conform/context/loaded_plugin.h"

namespace byoc::conform {

/// A function of an example that the plugin gets to compile.
struct ExampleFunction {
  std::string label;            // "net.onnx: my_chip_main_0"
  IRModule reference;           // `main` of ops alone
  IRModule compiled;            // the same with composites
  std::set<std::string> names;  // of the composites' patterns, as composite_name has them
};

/// Returns the functions that the model has for the plugin, each of equal ones once, at most
/// `count`. Functions of loops, or with sizes that are no numbers, are left out. Errors: those of
/// the passes that partition it.
Result<std::vector<ExampleFunction>> example_functions(const LoadedPlugin& tested,
                                                       const Example& example, size_t count);

}  // namespace byoc::conform
