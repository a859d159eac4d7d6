// SPDX-License-Identifier: Apache-2.0
#pragma once
// The graph JSON that crosses the plugin ABI (format "byoc.graph", version 1).
//
// Members have the order format, version, requires, symbol, types, inputs, constants,
// nodes, outputs, functions; readers may rely on "types" coming before what refers to
// them. A node is an op
//   {"op","version","args","types","attrs","loc"},
// a call of functions[k]
//   {"call":k,"args","types","loc"}
// or an extern
//   {"extern":"symbol","args","types","loc"};
// "attrs" and "loc" are left out when empty. Functions are ordered callees before callers; their
// captures are ["n",k] or ["i",k]. Attribute values: 1, 1.5 (floats always have a point or an
// exponent), true, "text", lists of them, {"float":"nan"} ("inf", "-inf"; also inside lists),
// {"dtype":"f32"}, {"constant":"<key>","type":k}. Constants of at most 64 elements carry "value":
// flat, row-major; elements that JSON has no number for are strings, "nan", "inf", "-inf" or
// "0x..." (the bits).
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

/// The names of a graph: the model's, or none, so that equal functions of any models have equal
/// texts. Without names there is no "loc", and inputs, constants and functions are numbered.
enum class GraphNames { kOfModel, kNumbers };
/// Writes a function as plugins receive it: its Constant nodes become entries of "constants" in
/// node order, and the composites it invokes are in "functions", each once. Appends to `out`;
/// linear. `symbol` is the external name.
void write_graph_json(const IRModule& module, const Function& function, Symbol symbol,
                      std::string& out, GraphNames names = GraphNames::kOfModel);
/// Returns the constants of that graph in the same order: those of `function`, then those
/// inside the functions it invokes (merge_composites makes none there; a hand-written
/// composite may have some).
std::vector<ConstantRef> graph_constants(const IRModule& module, const Function& function);

/// Finds the bytes of a constant for the reader.
using GraphConstants = std::function<std::shared_ptr<const Buffer>(const ContentKey&)>;
/// Reads a graph back: one function `symbol` (the module's entry) and its composites. Without
/// `constants` every constant becomes a parameter after the inputs: enough to judge by types.
/// Unknown keys are ignored. Linear; types are checked against inference. Errors: kBadGraph, slug
/// "bad-graph", also for an unknown name in "requires".
Result<IRModule> read_graph_json(std::string_view json, const OpRegistry& ops,
                                 const GraphConstants& constants);

}  // namespace byoc
