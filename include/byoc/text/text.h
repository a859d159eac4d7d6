// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text form: prints and parses back to an equal module. Constants of at most 64 elements are
// inline, `const([1.0,2.0]) : f32[2]`; larger ones are `const<key> : f32[...]` with their bytes in
// a side file. By hand, `const(0.5) : f32[16,3,3,3]` repeats one value.
//   module {attrs?} { fn name(%x: f32[1,3]) {attrs?} { %0 = relu(%x) {attrs?} loc("..")  return %0
//   } }
// `module { }` may be left out. Attributes equal to their op's default are not printed.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

/// Options for printing a module.
struct PrintOptions {
  size_t elide = SIZE_MAX;  ///< inline at most this many elements
  Symbol only_function;     ///< empty: the whole module
};
/// Returns the text form, which parses back to an equal module when nothing is elided.
std::string print(const IRModule& module, const PrintOptions& options = {});
/// Returns the text form of one function.
std::string print(const Function& function, Symbol name, const PrintOptions& options = {});
/// Returns the name of a node in messages: "%3 (conv2d "Conv_0")"; %3 is the name `print` gives it.
std::string describe(const Function& function, uint32_t node);

/// Finds the bytes of `const<key>`; null when the text has none.
using ConstantSource = std::function<std::shared_ptr<const Buffer>(const ContentKey&)>;
/// Parses a module. The entry is the function that `entry=` of the module names, else `@main`, else
/// the only function. Errors: kInvalidArgument, slug "ir-syntax", "ir-constant" for a `const<key>`
/// without bytes, or the errors of callees and of an op's inference, at "line:column".
Result<IRModule> parse_module(std::string_view text, const OpRegistry& ops,
                              const ConstantSource& constants = nullptr);

/// Writes x.ir and, when the module has large constants, x.ir.weights (and blobs of external
/// modules). Both are written to temporary names and renamed.
Status write_module(const IRModule& module, const std::string& path);
/// Reads what write_module wrote. Errors: slug "file", or that of the fault in the text.
Result<IRModule> read_module(const std::string& path, const OpRegistry& ops);

/// Returns structural equality: entry, functions, nodes, operands, types, attributes, constants by
/// content, external modules; locations too unless `ignore_loc`. On inequality `why` (when given)
/// names the place.
bool equal(const IRModule& a, const IRModule& b, std::string* why = nullptr,
           bool ignore_loc = false);
/// Compares two functions in the same way.
bool equal(const Function& a, const Function& b, std::string* why = nullptr,
           bool ignore_loc = false);

/// Checks everything the IR promises: an entry function, params first with distinct names, operand
/// order, arity, complete attributes, types equal to inference, one meaning per named dim in a
/// function, callee and extern signatures, no recursion, constants in the pool and of the right
/// size, captures. The structure of annotations is NOT checked here. Errors name function and node.
Status verify(const IRModule& module);

}  // namespace byoc
