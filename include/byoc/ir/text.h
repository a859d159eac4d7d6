#pragma once
// The text form: prints and parses back to an equal module. Constants of at most 64 elements are
// inline; larger ones are `const<key>` with their bytes in a side file.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

struct PrintOptions {
  size_t elide = SIZE_MAX;                                  // inline at most this many elements
  Symbol only_function;                                     // empty: the whole module
};
std::string print(const IRModule& module, const PrintOptions& options = {});
std::string print(const Function& function, Symbol name, const PrintOptions& options = {});

/// Where const<key> finds its bytes; null when the text has none.
using ConstantSource = std::function<std::shared_ptr<const Buffer>(const ContentKey&)>;
/// Errors: kInvalidArgument, slug "ir-syntax" or what an op's inference says, at "line:column".
Result<IRModule> parse_module(std::string_view text, const OpRegistry& ops,
                              const ConstantSource& constants = nullptr);

/// x.ir and, when the module has large constants, x.ir.weights (and blobs of external modules).
/// Written to temporary names and renamed.
Status write_module(const IRModule& module, const std::string& path);
Result<IRModule> read_module(const std::string& path, const OpRegistry& ops);

/// Structural equality: functions, nodes, operands, types, attributes, constants by content, external
/// modules; locations too unless `ignore_loc`. On inequality `why` (when given) says where.
bool equal(const IRModule& a, const IRModule& b, std::string* why = nullptr, bool ignore_loc = false);
bool equal(const Function& a, const Function& b, std::string* why = nullptr, bool ignore_loc = false);

/// Checks everything the IR promises: operand order, arity, types equal to inference, callee
/// signatures, no recursion, params first, constants in the pool and of the right size, annotation
/// structure is NOT checked here (see annotations in passes). Names function and node.
Status verify(const IRModule& module);

}  // namespace byoc
