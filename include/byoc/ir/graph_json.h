#pragma once
// The graph JSON that crosses the plugin ABI (format "byoc.graph", version 1).
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

/// A function as plugins see it: its Constant nodes become entries of "constants" in node order, and
/// the composites it invokes stand in "functions", each once. Streams into `out`; linear.
/// `symbol` is the external name. Constants up to 64 elements carry their values.
void write_graph_json(const IRModule& module, const Function& function, Symbol symbol,
                      std::string& out);
/// The constants of `function` in that same order.
std::vector<ConstantRef> graph_constants(const Function& function);

/// Reads a graph back: one function `symbol`, its composites beside it; constants are looked up by
/// key. Unknown keys are ignored; unknown names in "requires" are refused (kBadGraph).
using GraphConstants = std::function<std::shared_ptr<const Buffer>(const ContentKey&)>;
Result<IRModule> read_graph_json(std::string_view json, const OpRegistry& ops,
                                 const GraphConstants& constants);

}  // namespace byoc
